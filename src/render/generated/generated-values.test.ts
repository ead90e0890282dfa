import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
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
): { readonly data: Readonly<Record<string, unknown>>; readonly generated: GeneratedValues } {
  const chart = {
    'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
    'templates/_helpers.tpl': helper,
    ...files,
  }
  const result = renderRequest(
    {
      files: new Map(Object.entries(chart).map(([name, text]) => [name, Buffer.from(text)])),
      values: new Map(),
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
})
