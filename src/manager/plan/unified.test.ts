import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../kube/json.ts'
import { fieldChanges } from './field-change.ts'
import { mask, maskedValue, otherMasked } from './mask.ts'
import { unified } from './unified.ts'

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 20 })
  .map((lines) => lines.map((line) => `${line}\n`).join(''))

/** What `patch` does: follows the hunks, trusting their line numbers. */
function patched(before: string, lines: readonly string[]): string {
  const old = before === '' ? [] : before.replace(/\n$/, '').split('\n')
  const out: string[] = []
  let at = 0
  for (const line of lines.slice(2)) {
    const [, start = '', size = ''] = /^@@ -(\d+),(\d+) /.exec(line) ?? []
    if (start !== '') {
      const from = size === '0' ? Number(start) : Number(start) - 1
      out.push(...old.slice(at, from))
      at = from
    } else if (line.startsWith('+')) out.push(line.slice(1))
    else {
      if (old[at] !== line.slice(1)) throw new Error(`line ${at} is not ${line}`)
      if (line.startsWith(' ')) out.push(line.slice(1))
      at++
    }
  }
  return [...out, ...old.slice(at)].map((line) => `${line}\n`).join('')
}

describe('a unified diff', () => {
  it('transforms one text into the other', () => {
    fc.assert(
      fc.property(text, text, fc.integer({ min: 0, max: 3 }), (before, after, context) => {
        const lines = unified(before, after, 'x', context).map((line) => line.text)
        expect(patched(before, lines)).toBe(after)
      }),
    )
  })

  it('is empty where nothing changed, and names missing objects', () => {
    expect(unified('a\n', 'a\n', 'x')).toEqual([])
    expect(unified(undefined, 'a\n', 'x').map((line) => line.text)).toEqual([
      '--- /dev/null',
      '+++ x',
      '@@ -0,0 +1,1 @@',
      '+a',
    ])
    expect(unified('a\nb\n', undefined, 'x').map((line) => line.text)).toEqual([
      '--- x',
      '+++ /dev/null',
      '@@ -1,2 +0,0 @@',
      '-a',
      '-b',
    ])
  })
})

describe('field changes', () => {
  it('name fields by their paths, and items by their names', () => {
    const before = {
      spec: {
        containers: [
          { name: 'a', image: '1' },
          { name: 'b', image: '1' },
        ],
        gone: 1,
      },
    }
    const after = {
      spec: {
        containers: [
          { name: 'b', image: '2' },
          { name: 'a', image: '1' },
        ],
        'a.b/c': 1,
      },
    }
    expect(fieldChanges(before, after)).toEqual([
      { path: 'spec.containers[name=b].image', before: '1', after: '2' },
      { path: 'spec.gone', before: 1 },
      { path: 'spec["a.b/c"]', after: 1 },
    ])
  })

  it('are empty exactly when nothing differs but the order of named items', () => {
    const json = fc.jsonValue().map((value) => value as Json)
    fc.assert(
      fc.property(json, json, (a, b) => {
        expect(fieldChanges(a, a)).toEqual([])
        const isSame = JSON.stringify(a) === JSON.stringify(b)
        expect(isSame && fieldChanges(a, b).length > 0).toBe(false)
      }),
    )
    expect(fieldChanges(undefined, null)).toEqual([{ path: '', after: null }])
  })
})

describe('a mask', () => {
  const object = (kind: string, data: JsonObject, metadata: JsonObject = {}): JsonObject => ({
    apiVersion: 'v1',
    kind,
    metadata,
    data,
  })

  it('hides all values of a Secret, and still shows whether they changed', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), fc.uuid()), fc.uuid(), (held, other) => {
        const before = object('Secret', { ...held, a: other })
        const after = object('Secret', held, { annotations: { last: JSON.stringify(held) } })
        const shown = JSON.stringify(mask({ before, after }, new Set()))
        for (const value of [other, ...Object.values(held)]) expect(shown).not.toContain(value)
      }),
    )
    const pair = { before: object('Secret', { a: 'x', b: 'y' }), after: object('Secret', { a: 'x', b: 'z' }) }
    expect(mask(pair, new Set())).toMatchObject({
      before: { data: { a: maskedValue, b: maskedValue } },
      after: { data: { a: maskedValue, b: otherMasked } },
    })
  })

  it('covers texts that contain a value of a Secret, but never the name of an object', () => {
    const after = object('ConfigMap', { url: 'http://me:hunter22@db', plain: 'me' }, { name: 'hunter22' })
    expect(mask({ before: undefined, after }, new Set(['hunter22'])).after).toEqual(
      object('ConfigMap', { url: maskedValue, plain: 'me' }, { name: 'hunter22' }),
    )
  })
})
