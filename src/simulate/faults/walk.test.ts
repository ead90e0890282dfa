/** The walk over a schema: which fields are set, changed, removed and put back, and what is said of those that are not. */
import { describe, expect, it } from 'vitest'
import { App, app, appOperator } from '../../../test/app-operator.ts'
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import { applyMergePatch } from '../../kube/patch/merge-patch.ts'
import type { UntypedObject } from '../../kube/object.ts'
import {
  anything,
  boolean,
  type Fields,
  integer,
  list,
  map,
  object,
  oneOf,
  optional,
  quantity,
  string,
} from '../../operator/kind/field.ts'
import { defineKind, type Kind } from '../../operator/kind/kind.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineController } from '../../operator/controller.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { parsePlan } from './fault.ts'
import { openSimulator, simulate } from './simulate.ts'
import { operatorSubject } from './subject.ts'
import { walkPatchOf, type Walk, walkOf } from './walk.ts'

function kindWith(spec: Fields): Kind {
  return defineKind({ group: 'walk.example.com', version: 'v1', kind: 'Thing', spec })
}

function walk(spec: Fields, given: JsonObject = {}): Walk {
  const kind = kindWith(spec)
  const metadata = { name: 'sample', namespace: 'default' }
  return walkOf(kind, { apiVersion: formatApiVersion(kind), kind: 'Thing', metadata, spec: given })
}

/** By the name of the turn: the spec then. */
const turnsIn = ({ turns }: Walk): JsonObject => Object.fromEntries(turns.map(({ name, after }) => [name, after]))

describe('a walk over a schema', () => {
  it('sets missing fields, and changes existing ones', () => {
    const fields = { size: integer({ default: 1, maximum: 2 }), on: optional(boolean()), mode: oneOf(['a', 'b']) }
    expect(turnsIn(walk(fields, { mode: 'a' }))).toEqual({
      'spec.size': { mode: 'a', size: 2 },
      'spec.on': { mode: 'a', on: true },
      'spec.mode': { mode: 'b' },
    })
  })

  it('removes no field that the server defaults to the same value', () => {
    expect(Object.keys(turnsIn(walk({ size: integer({ default: 3 }) }, { size: 3 })))).toEqual(['spec.size'])
  })

  it('removes optional fields, also whole objects', () => {
    const fields = {
      name: string(),
      size: integer({ default: 1 }),
      extra: optional(string()),
      part: optional(object({ port: integer() })),
    }
    const given = { name: 'a', size: 3, extra: 'b', part: { port: 1 } }
    const { size: _, ...withoutSize } = given
    const { extra: __, ...withoutExtra } = given
    const { part: ___, ...withoutPart } = given
    const turns = turnsIn(walk(fields, given))
    expect(Object.keys(turns)).toEqual([
      'spec.name',
      'spec.size',
      'spec.size (removed)',
      'spec.extra',
      'spec.extra (removed)',
      'spec.part.port',
      'spec.part (removed)',
    ])
    expect(turns['spec.size (removed)']).toEqual(withoutSize)
    expect(turns['spec.extra (removed)']).toEqual(withoutExtra)
    expect(turns['spec.part (removed)']).toEqual(withoutPart)
  })

  it('sets a member of a missing object together with its required members', () => {
    const part = object({
      name: string(),
      port: optional(integer({ minimum: 5 })),
      host: string({ pattern: '^h[0-9]$' }),
    })
    const turns = turnsIn(walk({ part: optional(part) }))
    expect(turns['spec.part.port']).toEqual({ part: { name: 'walked', host: 'h0', port: 5 } })
  })

  it.each([
    ['a pattern', string({ pattern: '^[a-z]{3}-[0-9]+$' }), 'abc-7'],
    ['a pattern without a value', string({ pattern: '^[a-z]{3}-[0-9]+$', default: 'abc-1' }), undefined],
    ['a pattern that is a list of words', string({ pattern: '^(always|never)$' }), 'always'],
    ['a pattern of an image', string({ pattern: '^[a-z]+:[0-9.]+$' }), 'nginx:1.29'],
    ['a duration', string({ format: 'duration' }), '5m'],
    ['a time', string({ format: 'date-time' }), '2026-01-01T00:00:00Z'],
    ['an address', string({ format: 'ipv4' }), '192.0.2.1'],
    ['a quantity', quantity(), '1Gi'],
    ['few characters', string({ maxLength: 2 }), 'w'],
    ['many characters', string({ minLength: 9 }), 'something'],
    ['steps of ten', integer({ multipleOf: 10, minimum: 10, maximum: 20 }), 20],
  ])('finds another value for %s', (_, field, now) => {
    const kind = kindWith({ field })
    const { turns, skipped } = walk({ field }, now === undefined ? {} : { field: now })
    expect(skipped).toEqual([])
    const [{ after }] = turns as readonly [(typeof turns)[number]]
    expect(after['field']).not.toBe(now)
    expect(kind.validate({ apiVersion: 'walk.example.com/v1', kind: 'Thing', metadata: {}, spec: after })).toEqual([])
  })

  it('adds an item with another key to lists of objects, removes one, and changes the first', () => {
    const port = object({ name: string(), port: integer({ maximum: 80 }) })
    const given = { ports: [{ name: 'http', port: 80 }] }
    expect(turnsIn(walk({ ports: list(port, { sharedBy: ['name'] }) }, given))).toEqual({
      'spec.ports': {
        ports: [
          { name: 'http', port: 80 },
          { name: 'walked', port: 80 },
        ],
      },
      'spec.ports (one less)': { ports: [] },
      'spec.ports[0].name': { ports: [{ name: 'walked', port: 80 }] },
      'spec.ports[0].port': { ports: [{ name: 'http', port: 79 }] },
    })
  })

  it('creates an item where there is none', () => {
    const port = object({ name: string({ pattern: '^[a-z]+$' }), port: optional(integer()) })
    expect(turnsIn(walk({ ports: optional(list(port)) }))).toEqual({
      'spec.ports': { ports: [{ name: 'a' }] },
      'spec.ports[0].name': { ports: [{ name: 'walked' }] },
      'spec.ports[0].port': { ports: [{ name: 'a', port: 1 }] },
    })
  })

  const part = object({ name: string(), colour: optional(string()), limit: optional(integer({ minimum: 5 })) })
  const below = ['name', 'colour', 'limit']

  it.each([
    ['a list', { parts: optional(list(part)) }, {}, 'spec.parts[0]'],
    ['an empty list', { parts: list(part) }, { parts: [] }, 'spec.parts[0]'],
    ['a map', { parts: optional(map(part)) }, {}, 'spec.parts.walked'],
    ['an empty map', { parts: map(part) }, { parts: {} }, 'spec.parts.walked'],
    ['a list of lists', { parts: optional(list(list(part))) }, {}, 'spec.parts[0][0]'],
    ['a list of maps', { parts: optional(list(map(part))) }, {}, 'spec.parts[0].walked'],
    ['a map of lists', { parts: optional(map(list(part))) }, {}, 'spec.parts.walked[0]'],
    ['a list in a missing object', { whole: optional(object({ parts: list(part) })) }, {}, 'spec.whole.parts[0]'],
    ['a list with a default', { parts: list(part, { default: [{ name: 'a' }] }) }, {}, 'spec.parts[0]'],
    ['a list of lists with an item', { parts: list(list(part)) }, { parts: [[{ name: 'a' }]] }, 'spec.parts[0][0]'],
  ])('covers every field below %s', (_, fields, given, item) => {
    const { turns, skipped } = walk(fields, given)
    expect(skipped).toEqual([])
    expect(turns.map(({ name }) => name)).toEqual(expect.arrayContaining(below.map((field) => `${item}.${field}`)))
    expect(new Set(turns.map(({ after }) => JSON.stringify(after))).size).toBe(turns.length)
  })

  it('continues from items that the server defaults', () => {
    const turns = turnsIn(walk({ parts: list(part, { default: [{ name: 'a', limit: 7 }] }) }))
    expect(turns['spec.parts[0].colour']).toEqual({ parts: [{ name: 'a', limit: 7, colour: 'walked' }] })
    expect(turns['spec.parts[0].limit (removed)']).toEqual({ parts: [{ name: 'a' }] })
  })

  it('creates required values of an item by their format', () => {
    const visit = object({ at: string({ format: 'date-time' }), by: quantity(), note: optional(string()) })
    const { turns, skipped } = walk({ visits: optional(list(visit)) })
    expect(skipped).toEqual([])
    expect(turns.map(({ name }) => name)).toContain('spec.visits[0].note')
  })

  it('reports why each field of an item that cannot be created is skipped', () => {
    const odd = object({
      odd: string({ rules: [{ rule: "self.startsWith('odd-')", message: 'it is odd' }] }),
      colour: optional(string()),
    })
    const { turns, skipped } = walk({ parts: optional(list(odd)) })
    expect(turns).toEqual([])
    expect(skipped).toEqual(
      ['spec.parts', 'spec.parts[0].odd', 'spec.parts[0].colour'].map((field) => ({
        field,
        why: expect.stringContaining('it is odd'),
      })),
    )
  })

  it('adds no duplicate item to a set', () => {
    const turns = turnsIn(walk({ words: list(oneOf(['a', 'b']), { sharedBy: 'value' }) }, { words: ['a'] }))
    expect(turns['spec.words']).toEqual({ words: ['a', 'b'] })
  })

  it('adds an entry to maps, removes one, and changes one', () => {
    expect(turnsIn(walk({ parts: map(string()) }, { parts: { a: 'x' } }))).toEqual({
      'spec.parts': { parts: { a: 'x', walked: 'walked' } },
      'spec.parts (one less)': { parts: {} },
      'spec.parts.a': { parts: { a: 'walked' } },
    })
  })

  it('reports why fields are skipped', () => {
    const fields = {
      only: oneOf(['a']),
      free: anything(),
      fixed: string({ rules: [{ rule: 'self == oldSelf', message: 'it stays as it is' }] }),
      odd: string({ pattern: String.raw`^\pL\pN$` }),
      few: list(string(), { minItems: 1, maxItems: 1 }),
    }
    const { turns, skipped } = walk(fields, { only: 'a', free: 1, fixed: 'a', odd: 'ä1', few: ['a'] })
    expect(turns.map(({ name }) => name)).toEqual(['spec.odd'])
    expect(skipped).toEqual([
      { field: 'spec.only', why: 'its schema allows no other value' },
      { field: 'spec.free', why: 'its schema does not say what it holds' },
      { field: 'spec.fixed', why: expect.stringContaining('it stays as it is') },
      { field: 'spec.few', why: expect.stringContaining('Too many') },
      { field: 'spec.few (one less)', why: expect.stringContaining('at least 1') },
    ])
  })

  it('restores everything', () => {
    const port = object({ name: string(), port: optional(integer()) })
    const fields = {
      text: optional(string()),
      parts: optional(map(string())),
      ports: optional(list(port)),
      part: optional(object({ name: string(), size: optional(integer()) })),
    }
    const specs: readonly JsonObject[] = [
      {},
      { text: 'a', parts: { a: 'x', b: 'y' }, ports: [{ name: 'http' }], part: { name: 'c', size: 1 } },
    ]
    for (const given of specs) {
      const { turns } = walk(fields, given)
      expect(turns.length).toBeGreaterThan(4)
      for (const turn of turns) {
        const there = applyMergePatch({ spec: given }, walkPatchOf(turn))
        expect(there).toEqual({ spec: turn.after })
        const back = applyMergePatch(there, walkPatchOf({ before: turn.after, after: turn.before }))
        expect(back).toEqual({ spec: given })
      }
    }
  })
})

describe('a simulation', () => {
  /** Keeps what `copied` says of the CR. */
  const operatorFor = (copied: (spec: JsonObject) => Readonly<Record<string, string>>) =>
    appOperator({
      dependents: [
        defineDependent({
          for: App,
          kind: ConfigMap,
          fromCR: ({ cr }) => ({ data: copied(cr.spec as unknown as JsonObject) }),
        }),
      ],
    })
  const walkThrough = async (load: () => ReturnType<typeof operatorFor>, sample: UntypedObject) =>
    await simulate({
      subject: await operatorSubject(load),
      sample: [sample],
      workloads: false,
      groups: ['walk'],
    })

  it('walks over entries of the sample: one is removed, and restored', async () => {
    const sample = app('sample', { parts: { a: 'x', b: 'y' }, items: ['c'] })
    const right = await walkThrough(
      () => operatorFor(({ parts }) => (isJsonObject(parts) ? (parts as Readonly<Record<string, string>>) : {})),
      sample,
    )
    expect(right).toMatchObject({ passed: true, skipped: [] })
    expect(right.fields).toEqual(['spec.text', 'spec.size', 'spec.parts', 'spec.parts.a', 'spec.items'])
    expect(right.scenarios.map(({ name }) => name)).toContain('set spec.parts (removed)')
    expect(right.scenarios.map(({ name }) => name)).toContain('back spec.items (one less)')
  }, 60_000)

  it('detects a process that remembers removed entries', async () => {
    const load = () => {
      const kept = new Set<string>()
      return operatorFor(({ parts }) => {
        for (const name of Object.keys(isJsonObject(parts) ? parts : {})) kept.add(name)
        return Object.fromEntries([...kept].toSorted().map((name) => [name, 'x']))
      })
    }
    const sample = [app('sample', { parts: { a: 'x', b: 'y' } })]
    const simulator = await openSimulator({ subject: await operatorSubject(load), sample, workloads: false })
    const { violations } = await simulator.runPlan(parsePlan('set spec.parts (one less)'))
    expect(violations).toMatchObject([{ law: 'walk', object: 'configmaps default/sample' }])
  })

  it('reports skipped fields, and values that the server rejected', async () => {
    const Fixed = defineKind({
      group: 'walk.example.com',
      version: 'v1',
      kind: 'Fixed',
      spec: {
        size: integer({ default: 1, rules: [{ rule: 'self >= oldSelf', message: 'it only grows' }] }),
        only: optional(oneOf(['a'])),
      },
    })
    const operator = defineOperator({
      name: 'fixed',
      controllers: [
        defineController({
          for: Fixed,
          dependents: [defineDependent({ for: Fixed, kind: ConfigMap, initial: { data: { a: 'b' } } })],
        }),
      ],
    })
    const metadata = { name: 'sample', namespace: 'default' }
    const sample = { apiVersion: 'walk.example.com/v1', kind: 'Fixed', metadata, spec: { only: 'a' } }
    const { passed, fields, skipped } = await simulate({
      subject: await operatorSubject(() => operator),
      sample: [sample],
      workloads: false,
      groups: ['walk'],
    })
    expect(passed).toBe(true)
    expect(fields).toEqual(['spec.size', 'spec.only'])
    expect(skipped).toEqual([
      { field: 'spec.only', why: 'its schema allows no other value' },
      { field: 'spec.size', why: expect.stringMatching(/^the server refuses it as a change back: .*it only grows/) },
    ])
  })
})
