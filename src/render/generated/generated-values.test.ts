import { createHash, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ValueMap } from '../chart/values.ts'
import { renderRequest } from '../worker/chart-request.ts'
import type { GeneratedValues } from './generated-values.ts'

const helper = '{{- define "password" -}}{{ randAlphaNum 12 }}{{- end -}}\n'
const secret = `kind: Secret
data:
  one: {{ include "password" . }}
  two: {{ include "password" . }}
  three: {{ randAlphaNum 12 }}
  id: {{ uuidv4 }}
  time: {{ now | unixEpoch }}
`

function rendered(
  files: Readonly<Record<string, string>>,
  generated: GeneratedValues = {},
  values: ValueMap = new Map(),
): { readonly data: Readonly<Record<string, unknown>>; readonly generated: GeneratedValues } {
  const chart = {
    'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
    'templates/_helpers.tpl': helper,
    ...files,
  }
  const result = renderRequest(
    {
      files: new Map(Object.entries(chart).map(([name, text]) => [name, Buffer.from(text)])),
      values,
      release: { name: 'web', namespace: 'default' },
      generated,
    },
    { randomBytes, clock: { now: () => 1_000_000 + randomBytes(2).readUInt16BE() * 1000 } },
  )
  const [object] = result.manifests.map((manifest) => manifest.object as { readonly data: Record<string, unknown> })
  return { data: object?.data ?? {}, generated: result.generated }
}

describe('generated values', () => {
  it('are new for each installation', () => {
    const [first, second] = [rendered({ 'templates/a.yaml': secret }), rendered({ 'templates/a.yaml': secret })]
    expect(first.data['one']).not.toBe(second.data['one'])
    expect(new Set([first.data['one'], first.data['two'], first.data['three']]).size).toBe(3)
  })

  it('are the same in every later render of an installation', () => {
    const first = rendered({ 'templates/a.yaml': secret })
    const again = rendered({ 'templates/a.yaml': secret }, first.generated)
    expect(again).toEqual(first)
  })

  it('stay where they are when lines move and other calls of the same helper come before them', () => {
    const first = rendered({ 'templates/a.yaml': secret })
    const moved = secret.replace('data:', 'metadata:\n  name: moved\ndata:\n  zero: {{ include "password" . }}')
    const changed = rendered(
      { 'templates/a.yaml': moved, 'templates/_helpers.tpl': `{{/* new */}}\n${helper}` },
      first.generated,
    )
    expect(changed.data).toEqual({ zero: expect.any(String), ...first.data })
    // A record is only ever added to.
    expect(changed.generated).toEqual(expect.objectContaining(first.generated))
    expect(Object.keys(changed.generated)).toHaveLength(Object.keys(first.generated).length + 1)
  })

  it('stay with the line that asks for them when it is edited, also next to new lines', () => {
    const first = rendered({ 'templates/a.yaml': secret })
    const edited = secret
      .replace('one: {{ include "password" . }}', 'one: {{ include "password" . }} # the first')
      .replace(
        'two: {{ include "password" . }}',
        'new: {{ include "password" . }}\n  two: {{ include "password" . | quote }}',
      )
      .replace('three: {{ randAlphaNum 12 }}', 'renamed: {{ randAlphaNum 12 }}')
    const { three, ...others } = first.data
    const changed = rendered(
      {
        'templates/a.yaml': edited,
        'templates/_helpers.tpl': helper.replace('{{ randAlphaNum 12 }}', '{{ randAlphaNum 12 }}{{/* x */}}'),
      },
      first.generated,
    )
    expect(changed.data).toEqual({ ...others, renamed: three, new: expect.any(String) })
    expect(Object.values(first.data)).not.toContain(changed.data['new'])
    const again = rendered({ 'templates/a.yaml': edited.replace('# the first', '# first') }, changed.generated)
    expect(again.data['one']).toBe(first.data['one'])
  })

  it('belong to the file that asks for them, also by template and tpl', () => {
    const own = (name: string): string =>
      `kind: Secret\ndata:\n  ${name}1: {{ template "password" . }}\n  ${name}2: {{ tpl "{{ randAlphaNum 12 }}" . }}\n`
    const first = rendered({ 'templates/b.yaml': own('b') })
    const both = rendered({ 'templates/b.yaml': own('b'), 'templates/c.yaml': own('c') }, first.generated)
    const last = rendered({ 'templates/b.yaml': own('b') }, both.generated)
    expect(last.data).toEqual(first.data)
    const values = Object.values(both.generated)
    expect(new Set(values).size).toBe(values.length)
    expect(values).toHaveLength(4)
  })

  const users = `kind: Secret
data:
{{- range .Values.users }}
  {{ .name }}: {{ randAlphaNum 12 }}-{{ include "password" . }}
{{- end }}
{{- range .Values.hosts }}
  {{ . }}: {{ tpl "{{ randAlphaNum 12 }}" $ }}
{{- end }}
{{- range $key, $value := .Values.keys }}
  {{ $key }}: {{ template "password" . }}
{{- end }}
{{- range until (int .Values.replicas) }}
  replica-{{ . }}: {{ randAlphaNum 12 }}
{{- end }}
`

  it('belong to the element of a loop, wherever it stands, and however its list and its fields change', () => {
    const names = (prefix: string): fc.Arbitrary<string[]> =>
      fc
        .uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), { maxLength: 6 })
        .map((all) => all.map((name) => prefix + name))
    const input = fc
      .record({
        users: names('u').chain((all) =>
          fc.tuple(
            ...all.map((name) =>
              fc.nat(3).map(
                (role): ValueMap =>
                  new Map<string, string | bigint>([
                    ['name', name],
                    ['role', BigInt(role)],
                  ]),
              ),
            ),
          ),
        ),
        hosts: names('h'),
        keys: names('k').map((all): ValueMap => new Map(all.map((name) => [name, name]))),
        replicas: fc.nat(4).map(BigInt),
      })
      .map((all): ValueMap => new Map(Object.entries(all)))
    fc.assert(
      fc.property(fc.array(input, { minLength: 2, maxLength: 5 }), (edits) => {
        const seen = new Map<string, unknown>()
        let generated: GeneratedValues = {}
        for (const values of edits) {
          const result = rendered({ 'templates/a.yaml': users }, generated, values)
          generated = result.generated
          for (const [name, value] of Object.entries(result.data ?? {})) {
            expect(value).toBe(seen.get(name) ?? value)
            seen.set(name, value)
          }
        }
        expect(new Set(seen.values()).size).toBe(seen.size)
      }),
      { numRuns: 25 },
    )
  })

  it('of earlier versions are used, each by the element that had it', () => {
    const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)
    const line = '{{ . }}: {{ randAlphaNum 12 }}'
    const template = `kind: Secret\ndata:\n{{- range .Values.users }}\n  ${line}\n{{- end }}\n`
    const values = (...all: readonly string[]): ValueMap => new Map([['users', [...all]]])
    // As they were counted: the first call of the line, the second …
    const site = `randAlphaNum ${digest('["12"]')} web/templates/a.yaml ${digest(line)}+${line.indexOf('rand') + 2}`
    const stored = { [`${site} #0`]: 'of-bob', [`${site} #1`]: 'of-carl', [`${site} #2`]: 'of-dave' }
    const first = rendered({ 'templates/a.yaml': template }, stored, values('bob', 'carl'))
    expect(first.data).toEqual({ bob: 'of-bob', carl: 'of-carl' })
    const next = rendered({ 'templates/a.yaml': template }, first.generated, values('alice', 'carl', 'eve', 'bob'))
    expect(next.data).toEqual({ ...first.data, alice: expect.any(String), eve: expect.any(String) })
    expect(Object.values(stored)).not.toContain(next.data['alice'])
    expect(Object.values(stored)).not.toContain(next.data['eve'])
  })
})
