import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { writeYaml } from '../../kube/yaml/yaml.ts'
import { type GatherContent, openGatherFolder } from './gather-folder.ts'
import { writeGoYaml } from '../text/go-yaml.ts'
import { redacted } from './redaction.ts'

const base64 = (value: string | Uint8Array): string => Buffer.from(value as string).toString('base64')

const named = (
  kind: string,
  name: string,
  more: object = {},
  annotations: Readonly<Record<string, string>> = {},
): UntypedObject => ({
  apiVersion: kind === 'Deployment' ? 'apps/v1' : 'v1',
  kind,
  metadata: { name, namespace: 'shop', uid: `${kind}-${name}`, resourceVersion: '7', annotations },
  ...more,
})

/** Each kind under its resource. */
function contentOf(...objects: readonly UntypedObject[]): GatherContent {
  const byKind = Map.groupBy(objects, ({ kind }) => kind)
  return {
    selected: new Map(
      [...byKind].map(([kind, of]) => {
        const resource = `${kind.toLowerCase()}s`
        return [`${resource}.`, { type: { group: '', version: 'v1', resource }, objects: of }]
      }),
    ),
  }
}

/** What becomes of text in a ConfigMap beside Secrets that hold these. */
function beside(
  secrets: readonly (string | Uint8Array)[],
  text: string,
): { readonly text: string; standIns: string[] } {
  const data = Object.fromEntries(secrets.map((value, at) => [`key-${at}`, base64(value)]))
  const content = contentOf(named('Secret', 's', { data }), named('ConfigMap', 'c', { data: { text } }))
  const { selected } = redacted(content, 'key')
  const dataOf = (resource: string): Readonly<Record<string, string>> =>
    (selected.get(resource)!.objects[0] as unknown as { readonly data: Readonly<Record<string, string>> }).data
  const standIns = Object.values(dataOf('secrets.')).map((value) => Buffer.from(value, 'base64').toString())
  return { text: dataOf('configmaps.')['text']!, standIns }
}

/** Every file, as it lies there, and every text in it as a reader of YAML has it. */
function writtenTexts(content: GatherContent): readonly string[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-redacted-'))
  try {
    openGatherFolder(folder).update(content)
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    const texts = files
      .map((name) => path.join(folder, name))
      .filter((file) => statSync(file).isFile())
      .map((file) => readFileSync(file, 'utf8'))
    return [...files, ...texts, ...texts.flatMap((text) => textsIn(readYaml(text)))]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function textsIn(value: Json | undefined): readonly string[] {
  if (typeof value !== 'object' || value === null) return [String(value)]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return [...Object.keys(value), ...Object.values(value as JsonObject).flatMap(textsIn)]
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)
/** As Go does by default, and as those do who keep to ASCII. */
const escapedMore = (text: string, characters: RegExp): string =>
  escaped(text).replaceAll(characters, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const broken = (text: string): string => text.replaceAll(/.{20}/g, '$&\n  ')

/** The forms in which a text may be put somewhere. */
const forms: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'in other text': (text) => `user: me, password: ${text}, and more`,
  'without white space around it': (text) => `<${text.trim()}>`,
  'in JSON': (text) => JSON.stringify({ a: [{ password: `${text}!` }] }),
  'in JSON in JSON': (text) => JSON.stringify({ inner: JSON.stringify({ password: text }) }),
  'in JSON of Go': (text) => `{"password":"${escapedMore(text, /[<>&\u2028\u2029]/g)}"}`,
  'in JSON of ASCII': (text) => `{"password":"${escapedMore(text, /[\u0080-\uFFFF]/g)}"}`,
  'in YAML': (text) => writeYaml({ a: { password: text } }),
  'in YAML of Go': (text) => writeGoYaml({ list: [{ password: text, long: `${'words '.repeat(20)}${text}` }] }),
  'in indented lines': (text) => `password: |\n${text.trim().replaceAll(/^/gm, '    ')}\nmore: x`,
  'in quotes of YAML': (text) => `password: '${text.replaceAll("'", "''")}'`,
  'in a URL': (text) => `https://me:${encodeURIComponent(text)}@host/`,
  'in base64': (text) => base64(text),
  'in base64 in text': (text) => `Authorization: Basic ${base64(text)}, or so`,
  'in base64 of URLs': (text) => `?token=${Buffer.from(text).toString('base64url')}&x`,
  'in base64 with more in it': (text) => base64(`me:${text}\nand more`),
  'in base64 of JSON': (text) => base64(JSON.stringify({ auth: { password: text } })),
  'in base64 in broken lines': (text) => broken(base64(`me:${text}, and more`)),
  'in base64 in broken lines, one further': (text) => broken(base64(`usr:${text}, and more`)),
  'in base64 in broken lines, two further': (text) => broken(base64(`user:${text}, and more`)),
  'in base64 of base64': (text) => base64(base64(`me:${text}`)),
  'in base64 behind a word': (text) => `/path/to/${base64(text)}`,
}

describe('a redacted value', () => {
  it.each(Object.entries(forms))('is replaced %s, by its placeholder in the Secret', (name, form) => {
    for (const secret of ['open "sesame"\\now', 'pässwörd 密碼 🔑', "it's\nin three\nlines <&>", 'hunter2-hunter2']) {
      const { text, standIns } = beside([`${secret}\n`, secret], form(secret))
      expect(standIns).toEqual([`${standIns[1]}\n`, expect.stringMatching(/^redacted-[0-9a-f]{16}$/)])
      // What is broken in its midst, or stands in the midst of something, cannot be put together again.
      const isBroken = /broken lines|behind a word/.test(name)
      expect(isBroken || [text, unpacked(text)].join(' ').includes(standIns[1]!)).toBe(true)
      const unbroken = text.replaceAll(/\s/g, '')
      for (const from of [0, 1, 2, 3]) {
        expect([text, unpacked(text), unpacked(unbroken.slice(from))].join(' ')).not.toContain(secret)
      }
    }
  })

  it('is the same with and without surrounding white space', () => {
    const { text, standIns } = beside(['hunter22\n', ' hunter22', 'hunter22'], 'hunter22')
    expect(standIns).toEqual([`${text}\n`, ` ${text}`, text])
  })

  it('of four or five characters is replaced as a whole word; a shorter one in Secrets only', () => {
    const { text, standIns } = beside(['root', 'abc', '7'], 'root:root@host/uproot?rooted=7 abc "root"\\nroot')
    const [root] = standIns
    expect(text).toBe(`${root}:${root}@host/uproot?rooted=7 abc "${root}"\\n${root}`)
    expect(standIns.every((value) => value.startsWith('redacted-'))).toBe(true)
    expect(beside(['root'], base64('root')).text).toBe(base64(root!))
    const unpadded = (value: string): string => base64(value).replace(/=+$/, '')
    expect(beside(['root'], `a_${unpadded('root')}`).text).toBe(`a_${unpadded(root!)}`)
  })

  it('that is a part of another, or overlaps it, is removed completely', () => {
    const { text, standIns } = beside(['open sesame', 'sesame seed', 'sesame'], 'open sesame seed; sesame; open sesame')
    expect(text).toBe(`${standIns[0]}; ${standIns[2]}; ${standIns[0]}`)
    const longer = beside(['sesame', 'sesame seed'], 'sesame seed, sesame')
    expect(longer.text).toBe(`${longer.standIns[1]}, ${longer.standIns[0]}`)
  })

  it('that is not text is found in encoded form', () => {
    const key = Uint8Array.from({ length: 32 }, (_, at) => at * 37 + 200)
    const { text, standIns } = beside([key], base64(Buffer.concat([Buffer.from([255, 0]), key, Buffer.from('end')])))
    expect(Buffer.from(text, 'base64').toString('latin1')).toBe(`\xFF\0${standIns[0]}end`)
  })

  it('that is a name is kept where it is a name', () => {
    const { selected } = redacted(
      contentOf(
        named('Secret', 'token', { data: { namespace: base64('shop'), namespaces: base64('config') } }),
        named('ConfigMap', 'config-map', {
          data: { of: 'config-map', in: 'shop', at: 'web.shop.svc', with: 'a config file' },
        }),
      ),
      'key',
    )
    const [secret] = selected.get('secrets.')!.objects as unknown as { readonly data: Record<string, string> }[]
    const standIn = Buffer.from(secret!.data['namespaces']!, 'base64').toString()
    expect(secret!.data['namespace']).not.toBe(base64('shop'))
    expect(selected.get('configmaps.')!.objects[0]).toMatchObject({
      metadata: { name: 'config-map', namespace: 'shop' },
      data: { of: 'config-map', in: 'shop', at: 'web.shop.svc', with: `a ${standIn} file` },
    })
  })

  it('may be a number elsewhere, and stays one', () => {
    const { selected } = redacted(
      contentOf(
        named('Secret', 's', { data: { account: base64('123456789012') } }),
        named('Deployment', 'd', { spec: { account: 123_456_789_012, replicas: 3 } }),
      ),
      'key',
    )
    const { spec } = selected.get('deployments.')!.objects[0] as unknown as { readonly spec: Record<string, unknown> }
    expect(spec).toEqual({ account: expect.any(Number) as number, replicas: 3 })
    expect(spec['account']).not.toBe(123_456_789_012)
  })

  it('differs with another key', () => {
    const content = contentOf(named('Secret', 's', { stringData: { a: 'hunter22' } }))
    const text = (key?: string): string => JSON.stringify([...redacted(content, key).selected])
    expect(text('a')).toBe(text('a'))
    expect(new Set([text('a'), text('b'), text(), text()]).size).toBe(4)
  })
})

describe('redacted output', () => {
  const certificate = `-----BEGIN CERTIFICATE-----\n${base64('public')}\n-----END CERTIFICATE-----\n`
  const privateKey = `-----BEGIN PRIVATE KEY-----\n${base64('hidden')}\n-----END PRIVATE KEY-----\n`

  it('keeps certificates, but no key between them', () => {
    const { selected } = redacted(
      contentOf(
        named('Secret', 's', {
          data: { 'tls.crt': base64(certificate.repeat(2)), all: base64(certificate + privateKey + certificate) },
        }),
      ),
    )
    const [{ data }] = selected.get('secrets.')!.objects as unknown as [{ readonly data: Record<string, string> }]
    expect(data['tls.crt']).toBe(base64(certificate.repeat(2)))
    expect(Buffer.from(data['all']!, 'base64').toString()).toMatch(/^redacted-\w+\n$/)
  })

  it('covers a Secret embedded in another object or in the last-applied annotation', () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' }, data: { pin: base64('7'), bad: '!?' } }
    const applied = `${JSON.stringify({ ...secret, stringData: { word: 'hunter22' } })}\n`
    const texts = writtenTexts(
      redacted(
        contentOf(
          named('Secret', 's', {}, { 'kubectl.kubernetes.io/last-applied-configuration': applied }),
          named('Template', 't', { objects: [secret], word: 'hunter22' }),
        ),
      ),
    ).join('\n')
    for (const word of ['hunter22', base64('hunter22'), `"${base64('7')}"`, '!?']) expect(texts).not.toContain(word)
    expect(texts).toContain('"pin":"')
  })

  it('covers namespaces, custom keys, and values of Secrets that are not written', () => {
    const managed = [{ fieldsV1: { 'f:data': { 'f:is-hunter22': {} }, 'v:"hunter22"': {} } }]
    const config = named('ConfigMap', 'c', { data: { 'is-hunter22': 'x', password: 'y' } })
    const content: GatherContent = {
      ...contentOf({
        ...config,
        metadata: { ...config.metadata, managedFields: managed },
      }),
      namespaces: [named('Namespace', 'shop', {}, { note: 'hunter22' })],
      secrets: [named('Secret', 'elsewhere', { data: { password: base64('hunter22'), other: base64('password') } })],
    }
    const texts = writtenTexts(redacted(content))
    expect(texts.filter((text) => text.includes('hunter22'))).toEqual([])
    // The key under which a Secret keeps something is what others look for.
    expect(texts).toContain('password')
    expect(texts.filter((text) => text.includes('elsewhere'))).toEqual([])
  })

  it('contains no secret, in any form', () => {
    const text = fc
      .oneof(
        fc.string({ unit: 'grapheme', minLength: 6, maxLength: 40 }),
        fc.string({ minLength: 6, maxLength: 40 }),
        fc
          .array(fc.string({ unit: 'grapheme', minLength: 3, maxLength: 12 }), { minLength: 2, maxLength: 5 })
          .map((lines) => lines.join('\n')),
        fc.stringMatching(/^[\\"'%\n\t &<>=:{}[\]-]{2,6}\w{6,12}[\\"'%\n\t &<>=:{}[\]-]{2,6}$/),
      )
      .filter((value) => value.replaceAll(/\s/g, '').length >= 6)
    const binary = fc.uint8Array({ minLength: 8, maxLength: 40 }).filter((bytes) => {
      return Buffer.from(bytes).toString('latin1').replaceAll(/[\s]/g, '').length >= 8
    })
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 3 }), binary, (secrets, bytes) => {
        const planted = Object.fromEntries(
          secrets.flatMap((secret, at) => Object.values(forms).map((form, n) => [`plant-${at}-${n}`, form(secret)])),
        )
        const plantedBytes = { bare: base64(bytes), inside: base64(Buffer.concat([Buffer.from('ab'), bytes])) }
        const applied = JSON.stringify({ kind: 'ConfigMap', data: planted })
        const data = Object.fromEntries(secrets.map((secret, at) => [`key-${at}`, base64(`${secret}\n`)]))
        const env = Object.entries(planted).map(([name, value]) => ({ name, value }))
        const content: GatherContent = {
          ...contentOf(
            named('Secret', 's', { data: { ...data, bytes: base64(bytes) } }, { applied, ...planted }),
            named('ConfigMap', 'c', { data: planted, binaryData: plantedBytes }, { applied }),
            named('Deployment', 'd', { spec: { template: { spec: { containers: [{ name: 'web', env }] } } } }),
          ),
          namespaces: [named('Namespace', 'shop', {}, planted)],
        }
        const texts = writtenTexts(redacted(content, 'key'))
        const there = texts.join('\n')
        const packed = unpacked(there)
        // What is there anyway, by its letters, tells nothing.
        const plain = writtenTexts(redacted(withoutPlants(content), 'key')).join('\n')
        for (const secret of secrets.map((value) => value.trim())) {
          const looks = [secret, base64(secret), escaped(secret), escaped(escaped(secret))]
          const left = looks.filter((look) => !plain.includes(look) && (there.includes(look) || packed.includes(look)))
          expect(left).toEqual([])
        }
        expect(there).not.toContain(base64(bytes))
      }),
      { numRuns: 15 },
    )
  })
})

/** What the base64 in a text holds. */
function unpacked(text: string, depth = 2): string {
  const inner = Array.from(text.matchAll(/[\w+/-]{8,}={0,2}/g), ([word]) => Buffer.from(word, 'base64').toString())
  return [...inner, ...(depth > 0 ? inner.map((each) => unpacked(each, depth - 1)) : [])].join('\n')
}

/** The same objects, with the Secret's values alone. */
function withoutPlants({ selected }: GatherContent): GatherContent {
  const empty = { annotations: {}, data: {}, binaryData: {}, spec: {} }
  return {
    selected: new Map(
      [...selected].map(([name, { type, objects }]) => [
        name,
        {
          type,
          objects: objects.map((object) => ({
            ...object,
            ...(object.kind !== 'Secret' && empty),
            metadata: { ...object.metadata, annotations: {} },
          })),
        },
      ]),
    ),
  }
}
