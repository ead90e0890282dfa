import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from './builtin.ts'
import { type Json, type JsonObject, equalJson } from './json.ts'
import { createStrategicMerge, createThreeWayStrategicMerge } from './strategic-diff.ts'
import { applyStrategicMerge } from './strategic-merge.ts'

const definitions = builtinDefinitions()
const deployment = builtinSchema({ group: 'apps', version: 'v1', kind: 'Deployment' })
const service = builtinSchema({ group: '', version: 'v1', kind: 'Service' })
const pod = builtinSchema({ group: '', version: 'v1', kind: 'Pod' })

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

const words = fc.constantFrom('a', 'b', 'c', 'd')
const numbers = fc.constantFrom(1, 2, 3)
const maps = fc.dictionary(words, words, { maxKeys: 3 })
const some = (members: Record<string, fc.Arbitrary<Json>>): fc.Arbitrary<JsonObject> =>
  fc.record(members, { requiredKeys: [] })
const keyed = (
  key: string,
  keys: fc.Arbitrary<Json>,
  members: Record<string, fc.Arbitrary<Json>>,
): fc.Arbitrary<Json> =>
  fc.uniqueArray(fc.record({ [key]: keys, ...members }, { requiredKeys: [key] }) as fc.Arbitrary<JsonObject>, {
    selector: (element) => element[key],
    maxLength: 4,
  })

const metadata = some({
  labels: maps,
  finalizers: fc.uniqueArray(words),
  ownerReferences: keyed('uid', words, { name: words }),
})
const podSpec = some({
  containers: keyed('name', words, {
    image: words,
    args: fc.array(words, { maxLength: 3 }),
    env: keyed('name', words, { value: words }),
    ports: keyed('containerPort', numbers, { hostPort: numbers }),
    resources: some({ limits: maps }),
  }),
  volumes: keyed('name', words, { emptyDir: some({ medium: words }), configMap: some({ name: words }) }),
  tolerations: fc.array(some({ key: words }), { maxLength: 2 }),
  nodeSelector: maps,
  terminationGracePeriodSeconds: numbers,
})
/** Deployments hold all there is: merged lists of both kinds, unions, atomic lists, maps and scalars. */
const objects = some({
  metadata,
  spec: some({
    replicas: numbers,
    strategy: some({ type: words, rollingUpdate: some({ maxSurge: numbers }) }),
    template: some({ metadata, spec: podSpec }),
  }),
})

const apply = (original: JsonObject, patch: JsonObject): JsonObject =>
  applyStrategicMerge(original, patch, deployment, definitions)
const diff = (original: JsonObject, modified: JsonObject): JsonObject =>
  createStrategicMerge(original, modified, deployment, definitions)
const diff3 = (original: JsonObject | undefined, modified: JsonObject, current: JsonObject): JsonObject =>
  createThreeWayStrategicMerge(original, modified, current, deployment, definitions)

describe('the strategic merge patch between two objects', () => {
  it('leads from one to the other', () => {
    fc.assert(
      fc.property(objects, objects, (from, to) => {
        expect(equalJson(apply(frozen(from), frozen(diff(from, frozen(to)))), to)).toBe(true)
      }),
    )
  })

  it('leads there without a schema, too', () => {
    fc.assert(
      fc.property(objects, objects, (from, to) => {
        const patch = createStrategicMerge(from, to, undefined, {})
        expect(equalJson(applyStrategicMerge(from, patch, undefined, {}), to)).toBe(true)
      }),
    )
  })

  it('gives the same again when it is applied again', () => {
    fc.assert(
      fc.property(objects, objects, (from, to) => {
        const patch = diff(from, to)
        const once = apply(from, patch)
        expect(equalJson(apply(once, patch), once)).toBe(true)
      }),
    )
  })

  it('is empty exactly if they are equal', () => {
    fc.assert(
      fc.property(objects, objects, (from, to) => {
        expect(diff(from, from)).toEqual({})
        expect(Object.keys(diff(from, to)).length === 0).toBe(equalJson(from, to))
      }),
    )
  })

  it('names what changed, by key', () => {
    const podOf = (image: string): JsonObject => ({
      spec: {
        containers: [
          { name: 'a', image: 'a:1', args: ['x'] },
          { name: 'b', image },
        ],
        nodeName: 'n',
      },
    })
    expect(createStrategicMerge(podOf('b:1'), podOf('b:2'), pod, definitions)).toEqual({
      spec: {
        containers: [{ name: 'b', image: 'b:2' }],
        '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }],
      },
    })
  })

  it('deletes elements by directive and scalars by list', () => {
    const from = { metadata: { finalizers: ['a', 'b'] }, spec: { containers: [{ name: 'a' }, { name: 'b' }] } }
    const to = { metadata: { finalizers: ['b'] }, spec: { containers: [{ name: 'b' }] } }
    expect(createStrategicMerge(from, to, pod, definitions)).toEqual({
      metadata: { '$deleteFromPrimitiveList/finalizers': ['a'], '$setElementOrder/finalizers': ['b'] },
      spec: {
        containers: [{ name: 'a', $patch: 'delete' }],
        '$setElementOrder/containers': [{ name: 'b' }],
      },
    })
  })

  it('says an order alone where nothing else differs', () => {
    const from = { metadata: { finalizers: ['a', 'b'] } }
    expect(createStrategicMerge(from, { metadata: { finalizers: ['b', 'a'] } }, pod, definitions)).toEqual({
      metadata: { '$setElementOrder/finalizers': ['b', 'a'] },
    })
  })

  it('keeps a union to one member', () => {
    const from = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } }
    expect(diff(from, { spec: { strategy: { type: 'Recreate' } } })).toEqual({
      spec: { strategy: { rollingUpdate: null, type: 'Recreate', $retainKeys: ['type'] } },
    })
  })

  it('writes a whole list where elements share their key', () => {
    const ports = fc.uniqueArray(
      fc.record({ port: fc.constantFrom(53, 80), protocol: fc.constantFrom('TCP', 'UDP'), name: words }),
      { selector: ({ port, protocol }) => `${port}/${protocol}`, maxLength: 4 },
    )
    fc.assert(
      fc.property(ports, ports, (before, after) => {
        const from = { spec: { ports: before } }
        const patch = createStrategicMerge(from, { spec: { ports: after } }, service, definitions)
        const patched = applyStrategicMerge(from, patch, service, definitions)
        // The server puts elements that share their key side by side.
        const grouped = [...Map.groupBy(after, ({ port }) => port).values()].flat()
        expect([{ spec: { ports: after } }, { spec: { ports: grouped } }]).toContainEqual(patched)
      }),
    )
  })

  it('takes null for absent', () => {
    expect(diff({ spec: { replicas: 1 } }, { spec: { replicas: null, paused: null } })).toEqual({
      spec: { replicas: null },
    })
  })

  it('cannot be had for a field that the schema does not have', () => {
    const strange = { spec: { strange: { a: 1 } } }
    expect(diff(strange, strange)).toEqual({})
    expect(() => diff(strange, { spec: { strange: { a: 2 } } })).toThrow(/spec\.strange/)
  })
})

/** A rough reading of "the live object follows": every member that is wanted is there, elements by their key. */
function follows(live: Json | undefined, wanted: Json): boolean {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(live)) return false
    return wanted.every((element: Json) => live.some((other: Json) => follows(other, element)))
  }
  if (typeof wanted !== 'object' || wanted === null) return equalJson(live, wanted)
  const members = live as JsonObject | undefined
  return members !== undefined && Object.entries(wanted).every(([name, value]) => follows(members[name], value!))
}

describe('the three-way patch of an apply', () => {
  it('makes the live object follow the configuration', () => {
    fc.assert(
      fc.property(objects, objects, objects, (original, modified, current) => {
        const patch = diff3(frozen(original), frozen(modified), frozen(current))
        expect(follows(apply(current, patch), modified)).toBe(true)
      }),
    )
  })

  it('has nothing left to do once it was applied', () => {
    fc.assert(
      fc.property(objects, objects, objects, (original, modified, current) => {
        const applied = apply(current, diff3(original, modified, current))
        expect(diff3(original, modified, applied)).toEqual({})
        expect(diff3(modified, modified, applied)).toEqual({})
      }),
    )
  })

  it('leads to the configuration itself if nobody else touched the object', () => {
    fc.assert(
      fc.property(objects, objects, (original, modified) => {
        expect(equalJson(apply(original, diff3(original, modified, original)), modified)).toBe(true)
      }),
    )
  })

  it('leaves alone what others set, and deletes what was applied before', () => {
    const original = { metadata: { labels: { mine: '1', old: '1' } }, spec: { replicas: 2, paused: true } }
    const modified = { metadata: { labels: { mine: '2' } }, spec: { replicas: 2 } }
    const current = {
      metadata: { labels: { mine: '1', old: '1', theirs: '1' } },
      spec: { replicas: 2, paused: true, progressDeadlineSeconds: 600 },
    }
    expect(diff3(original, modified, current)).toEqual({
      metadata: { labels: { old: null, mine: '2' } },
      spec: { paused: null },
    })
  })

  it('keeps injected containers and takes changes back', () => {
    const podOf = (...containers: JsonObject[]): JsonObject => ({ spec: { template: { spec: { containers } } } })
    const mine = { name: 'app', image: 'app:1' }
    const injected = { name: 'proxy', image: 'proxy:9' }
    expect(diff3(podOf(mine), podOf(mine), podOf(injected, { ...mine, imagePullPolicy: 'Always' }))).toEqual({})
    const patch = diff3(podOf(mine), podOf(mine), podOf({ ...mine, image: 'other' }, injected))
    expect(apply(podOf({ ...mine, image: 'other' }, injected), patch)).toEqual(podOf(mine, injected))
  })

  it('clears other members of a union, even such as nobody applied', () => {
    const modified = { spec: { strategy: { type: 'Recreate' } } }
    const current = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } } } }
    expect(apply(current, diff3(undefined, modified, current))).toEqual(modified)
  })

  it('deletes nothing where nothing was applied before', () => {
    fc.assert(
      fc.property(objects, (current) => {
        expect(diff3(undefined, {}, current)).toEqual({})
      }),
    )
  })

  it('keeps what the server gave to ports that share their number', () => {
    const ports = [
      { port: 53, protocol: 'UDP', name: 'dns' },
      { port: 53, protocol: 'TCP', name: 'dns-tcp' },
    ]
    const live = ports.map((port, index) => Object.assign({ nodePort: 30000 + index }, port))
    const three = (wanted: JsonObject[]): JsonObject =>
      createThreeWayStrategicMerge(
        { spec: { ports } },
        { spec: { ports: wanted } },
        { spec: { ports: live } },
        service,
        definitions,
      )
    expect(three(ports)).toEqual({})
    const renamed = ports.map((port) => Object.assign({}, port, { name: `${port.name}-2` }))
    expect(applyStrategicMerge({ spec: { ports: live } }, three(renamed), service, definitions)).toEqual({
      spec: { ports: live.map((port) => Object.assign({}, port, { name: `${port.name}-2` })) },
    })
  })
})
