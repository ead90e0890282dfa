import { describe, expect, it } from 'vitest'
import { isMusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import { StackExhausted } from '../template/go-error.ts'
import { goFunction } from '../template/function-type.ts'
import { type RenderOptions, renderTemplates, type TemplateData, type TemplateSource } from './render-templates.ts'
import type { CallSite, CallStep, GeneratedValue } from '../template/services.ts'
import { GoObject, withType } from '../template/values.ts'

const options: RenderOptions = {
  clock: { now: () => Date.UTC(2026, 0, 2, 3, 4, 5) },
  generators: { randomBytes: (length) => new Uint8Array(length).fill(7), generate: (_site, create) => create() },
}

function source(text: string, data: TemplateData = {}, name = 'c/templates/a.yaml'): TemplateSource {
  return { name, text, basePath: 'c/templates', data }
}

function render(text: string, data: TemplateData = {}, more: Partial<RenderOptions> = {}): string {
  return renderTemplates([source(text, data)], { ...options, ...more }).get('c/templates/a.yaml')!
}

describe('a set of templates', () => {
  it('does not output partials, and sees their definitions', () => {
    const helpers = source('{{ define "n" }}named{{ end }}', {}, 'c/templates/_helpers.tpl')
    const rendered = renderTemplates([helpers, source('{{ include "n" . }}')], options)
    expect([...rendered]).toEqual([['c/templates/a.yaml', 'named']])
  })

  it('takes the definition of the parent chart over that of a subchart', () => {
    const parent = source('{{ define "n" }}parent{{ end }}', {}, 'c/templates/_h.tpl')
    const child = source('{{ define "n" }}child{{ end }}', {}, 'c/charts/s/templates/_h.tpl')
    for (const partials of [
      [parent, child],
      [child, parent],
    ]) {
      expect(renderTemplates([...partials, source('{{ include "n" . }}')], options).get('c/templates/a.yaml')).toBe(
        'parent',
      )
    }
  })

  it('shares changes of values between the templates of a chart', () => {
    const data = { Values: { n: 'old' } }
    const first = source('{{ $_ := set .Values "n" "new" }}', data, 'c/templates/z.yaml')
    const rendered = renderTemplates([source('{{ .Values.n }}', data), first], options)
    expect(rendered.get('c/templates/a.yaml')).toBe('new')
  })

  it('treats names of object members as keys', () => {
    expect(render('{{ .Values.constructor }}{{ hasKey .Values "toString" }}', { Values: {} })).toBe('false')
    expect(render('{{ $d := dict }}{{ $_ := set $d "__proto__" "x" }}{{ get $d "__proto__" }}{{ len $d }}')).toBe('x1')
  })
})

describe('values with fields and methods', () => {
  const names = ['v1', 'apps/v1']
  const versions = withType(names, 'common.VersionSet', {
    Has: goFunction('string', ([version]: [string]) => names.includes(version)),
  })
  const capabilities = new GoObject('*common.Capabilities', {
    fields: { APIVersions: versions, KubeVersion: new GoObject('common.KubeVersion', { text: () => 'v1.37.0' }) },
  })
  const data = { Capabilities: capabilities }

  it('are reached by chains', () => {
    expect(render('{{ .Capabilities.APIVersions.Has "apps/v1" }} {{ .Capabilities.KubeVersion }}', data)).toBe(
      'true v1.37.0',
    )
  })

  it('fail for a field that they do not have', () => {
    expect(() => render('{{ .Capabilities.KubeVersion.Foo }}', data)).toThrow(
      "can't evaluate field Foo in type common.KubeVersion",
    )
  })
})

describe('a template without end', () => {
  const small = { steps: 200_000, text: 2_000_000 }
  const unbounded = (text: string, budget = small): boolean => {
    try {
      render(text, {}, { budget })
      return false
    } catch (error) {
      return isMusterError(error, renderErrors.TemplateUnbounded) && error.message.includes('c/templates/a.yaml:1:')
    }
  }

  it.each([
    '{{ range until 1000 }}{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}{{ end }}',
    '{{ until 1000000000 }}',
    '{{ repeat 1000000000 "abc" }}',
    '{{ "x" | indent 1000000000 }}',
    '{{ randAlphaNum 1000000000 }}',
    '{{ seq 1 1000000000 }}',
    '{{ $x := "ab" }}{{ range until 60 }}{{ $x = print $x $x }}{{ end }}',
    '{{ range until 100 }}{{ bcrypt (toString .) }}{{ end }}',
    '{{ range until 100 }}{{ derivePassword 1 "long" "password" "user" "example.com" }}{{ end }}',
    '{{ range until 100 }}{{ genPrivateKey "rsa" }}{{ end }}',
  ])('is stopped, and the message names the line: %s', (text) => {
    expect(unbounded(text)).toBe(true)
  })

  const shared = '{{ $a := list 1 }}{{ range until 40 }}{{ $a = list $a $a }}{{ end }}'
  const sharedMaps = '{{ $a := dict "k" 1 }}{{ range until 40 }}{{ $a = dict "x" $a "y" $a }}{{ end }}'
  const other = '{{ $b := list 1 }}{{ range until 40 }}{{ $b = list $b $b }}{{ end }}'
  const writers = 'toYaml toYamlPretty mustToJson toPrettyJson toRawJson toString toStrings quote print html cat'
  const others = 'sortAlpha deepCopy dict toDecimal'
  it.each([...`${writers} ${others}`.split(' '), 'printf "%v"', 'printf "%d"', 'join ","'])(
    'is stopped when it writes or copies a value that shares its parts: %s',
    (name) => {
      expect(unbounded(`${shared}{{ ${name} $a }}`)).toBe(true)
      expect(unbounded(`${sharedMaps}{{ ${name} $a }}`)).toBe(true)
    },
  )

  it.each([
    `${shared}{{ $a }}`,
    `${sharedMaps}{{ $a | toToml }}`,
    `${shared}{{ dict "a" $a | toToml }}`,
    `${shared}{{ range $a }}{{ randAlphaNum 3 }}{{ end }}`,
    `${shared}${other}{{ deepEqual $a $b }}`,
    `${shared}${other}{{ has $a (list $b) }}`,
    `${shared}${other}{{ without (list $b) $a }}`,
    `${shared}${other}{{ uniq (list $a $b) }}`,
    `${shared}{{ eq $a 1 }}`,
    `${sharedMaps}{{ merge (deepCopy $a) $a }}`,
    '{{ $a := list (repeat 1000 "x") }}{{ range until 12 }}{{ $a = list $a $a }}{{ end }}{{ toYaml $a }}',
  ])('is stopped when it writes, compares or merges a value that shares its parts: %s', (text) => {
    expect(unbounded(text)).toBe(true)
  })

  it('is stopped by the clock of the render', () => {
    let now = 0
    const text = '{{ range until 1000 }}{{ range until 1000 }}{{ end }}{{ end }}'
    const clock = { now: () => now++ }
    expect(() => render(text, {}, { clock, budget: { milliseconds: 10 } })).toThrow('more than 10 ms')
    expect(render(text, {}, { clock, budget: { milliseconds: 1000 } })).toBe('')
  })

  it('is stopped by the output that it writes', () => {
    expect(unbounded('{{ range until 1000 }}0123456789{{ end }}', { ...small, text: 5000 })).toBe(true)
  })

  it('that includes itself fails', () => {
    expect(() => render('{{ define "t" }}{{ include "t" . }}{{ end }}{{ include "t" . }}')).toThrow(
      'rendering template has a nested reference name: t',
    )
  })

  it('that executes itself fails with the words of Go, and names the template', () => {
    const text = '{{ define "t" }}{{ template "t" . }}{{ end }}{{ template "t" . }}'
    const message = 'executing "t" at <{{template "t" .}}>:\n    exceeded maximum template depth (100000)'
    expect(() => render(text)).toThrow(message)
    expect(() => render(text, {}, { hasLargerStack: true })).toThrow(StackExhausted)
  })

  it('whose values are nested too deeply for the stack fails, and names the file', () => {
    const endless = (): string => endless() + endless()
    const deep = { Deep: new GoObject('T', { methods: { Text: goFunction('', endless) } }) }
    const message = 'template c/templates/a.yaml: its blocks or values are nested too deeply'
    expect(() => render('{{ .Deep.Text }}', deep)).toThrow(message)
    expect(() => render('{{ .Deep.Text }}', deep, { hasLargerStack: true })).toThrow(StackExhausted)
  })

  it('that prints a value containing itself ends', () => {
    expect(render('{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ printf "%v" $d | len | lt 1000 }}{{ toJson $d }}')).toBe(
      'true',
    )
  })
})

describe('generated values', () => {
  it('are asked for by call site, and can be given again', () => {
    const kept = new Map<string, GeneratedValue>()
    const sites: CallSite[] = []
    const generators: RenderOptions['generators'] = {
      randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
      generate(site, create) {
        sites.push(site)
        const key = JSON.stringify(site)
        const value = kept.get(key) ?? create()
        kept.set(key, value)
        return value
      },
    }
    const text = '{{ randAlphaNum 20 }}\n{{ range until 2 }}{{ uuidv4 }}{{ end }}{{ bcrypt "x" }}'
    const [first, second] = [render(text, {}, { generators }), render(text, {}, { generators })]
    expect(second).toBe(first)
    const place = (step: CallStep): string =>
      step.via === 'range' ? `element ${step.element}` : `${step.via} ${step.file}:${step.line}:${step.column}`
    expect(sites.slice(0, 3).map(({ function: name, path, count }) => [name, path.map(place), count])).toEqual([
      ['randAlphaNum', ['call c/templates/a.yaml:1:3'], 0],
      ['uuidv4', ['call c/templates/a.yaml:2:22', expect.stringMatching(/^element /)], 0],
      ['uuidv4', ['call c/templates/a.yaml:2:22', expect.stringMatching(/^element /)], 0],
    ])
    expect(sites[1]?.path).not.toEqual(sites[2]?.path)
  })

  it('have the way to the call in their site: include, template and tpl', () => {
    const paths: string[] = []
    const generators: RenderOptions['generators'] = {
      randomBytes: (length) => new Uint8Array(length),
      generate(site, create) {
        paths.push(site.path.map((step) => (step.via === 'range' ? 'range' : `${step.via}:${step.column}`)).join(' < '))
        return create()
      },
    }
    const text = [
      '{{ define "id" }}{{ uuidv4 }}{{ end -}}',
      '{{ template "id" }}',
      '{{ include "id" . }}',
      '{{ range until 1 }}{{ tpl $.text . }}{{ end }}',
    ]
    render(text.join('\n'), { text: '{{ template "id" }}' }, { generators })
    expect(paths).toEqual(['call:20 < template:12', 'call:20 < include:3', 'call:20 < template:12 < tpl:22 < range'])
  })

  it('take the time from the clock', () => {
    expect(render('{{ now | date "2006-01-02 15:04:05 MST" }} {{ now.Year }}')).toBe('2026-01-02 03:04:05 UTC 2026')
  })

  it('are as random as their bytes', () => {
    expect(render('{{ randNumeric 3 | len }} {{ randAlpha 5 | len }} {{ uuidv4 }}')).toBe(
      '3 5 07070707-0707-4707-8707-070707070707',
    )
  })
})

describe('lookup', () => {
  it('reads live objects, and is empty without a cluster', () => {
    const lookup = (apiVersion: string, kind: string, namespace: string, name: string): unknown => ({
      metadata: { name: [apiVersion, kind, namespace, name].join('/') },
    })
    const text = '{{ (lookup "v1" "Secret" "ns" "s").metadata.name }}'
    expect(render(text, {}, { lookup })).toBe('v1/Secret/ns/s')
    expect(render('{{ if not (lookup "v1" "Secret" "ns" "s") }}none{{ end }}')).toBe('none')
  })
})
