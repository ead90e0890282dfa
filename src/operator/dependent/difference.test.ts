import { describe, expect, it } from 'vitest'
import { storedForm, structForm } from '../../apiserver/codec/struct-form.ts'
import { builtinResources } from '../../kube/builtin.ts'
import { equalJson, type Json, type JsonObject } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { type ProtobufField, type Message, messageNamed, messageOfKind } from '../../kube/protobuf/table.ts'
import { fieldMessageOf } from '../../kube/protobuf/zero-value.ts'
import type { Schema } from '../../kube/schema.ts'
import { typingOf } from './desired.ts'
import { differences } from './difference.ts'
import { boolean, integer, map, optional, string } from '../kind/field.ts'
import { defineKind } from '../kind/kind.ts'
import { ConfigMap, Deployment, Service, ServiceAccount } from '../../kube/kinds.ts'

const pod = (container: Json): Json => ({ spec: { template: { spec: { containers: [container] } } } })
const at = 'spec.template.spec.containers[name="app"]'

describe('differences', () => {
  const none: readonly (readonly [string, Json, Json])[] = [
    [
      'quantities in another format',
      { resources: { limits: { cpu: '500m' } } },
      { resources: { limits: { cpu: 0.5 } } },
    ],
    [
      'quantities as numbers',
      { resources: { limits: { memory: '1Gi' } } },
      { resources: { limits: { memory: 1_073_741_824 } } },
    ],
    ['zero values of fields that are not pointers', {}, { env: [], args: null, stdin: false, workingDir: '' }],
    ['a struct of zero values', {}, { resources: { limits: {}, claims: [] } }],
    ['null where the field is a pointer', {}, { securityContext: null }],
    ['further fields', { image: 'a', command: ['x'] }, { image: 'a' }],
    ['the order of a keyed list', { env: [{ name: 'A' }, { name: 'B' }] }, { env: [{ name: 'B' }, { name: 'A' }] }],
    ['more items in a keyed list', { env: [{ name: 'A' }, { name: 'B' }] }, { env: [{ name: 'A' }] }],
    [
      'a key that the server defaulted',
      { ports: [{ containerPort: 80, protocol: 'TCP' }] },
      { ports: [{ containerPort: 80 }] },
    ],
  ]
  it.each(none)('are empty: %s', (_, live, wanted) => {
    const named = (value: Json): Json => pod({ name: 'app', ...(value as object) })
    expect(differences(named(live), named(wanted), typingOf(Deployment))).toEqual([])
  })

  const some: readonly (readonly [string, Json, Json, readonly string[]])[] = [
    [
      'another quantity',
      { resources: { limits: { cpu: '501m' } } },
      { resources: { limits: { cpu: '0.5' } } },
      [`${at}.resources.limits.cpu`],
    ],
    ['text that looks like a quantity', { image: '1000m' }, { image: '1' }, [`${at}.image`]],
    ['the order of an atomic list', { args: ['a', 'b'] }, { args: ['b', 'a'] }, [`${at}.args[0]`, `${at}.args[1]`]],
    ['further items of an atomic list', { args: ['a', 'b'] }, { args: ['a'] }, [`${at}.args`]],
    ['a missing item', { env: [{ name: 'A' }] }, { env: [{ name: 'B' }] }, [`${at}.env[name="B"]`]],
    ['a number instead of nothing', { terminationGracePeriodSeconds: 3 }, { stdin: true }, [`${at}.stdin`]],
    [
      'the same port of another protocol',
      { ports: [{ containerPort: 80, protocol: 'UDP' }] },
      { ports: [{ containerPort: 80 }] },
      [`${at}.ports[containerPort=80,protocol="TCP"]`],
    ],
    ['an empty struct behind a pointer', {}, { securityContext: {} }, [`${at}.securityContext`]],
    [
      'false and zero behind pointers',
      { securityContext: {} },
      { securityContext: { allowPrivilegeEscalation: false, runAsUser: 0 } },
      [`${at}.securityContext.allowPrivilegeEscalation`, `${at}.securityContext.runAsUser`],
    ],
    ['another type', { env: 'x' }, { env: [{ name: 'A' }] }, [`${at}.env`]],
  ]
  it.each(some)('are reported by path: %s', (_, live, wanted, paths) => {
    const named = (value: Json): Json => pod({ name: 'app', ...(value as object) })
    expect(differences(named(live), named(wanted), typingOf(Deployment))).toEqual(paths)
  })

  it('include further entries of an atomic map, but not of an atomic struct', () => {
    const wanted = { spec: { selector: { app: 'a' } } }
    expect(differences({ spec: { selector: { app: 'a', x: 'y' } } }, wanted, typingOf(Service))).toEqual([
      'spec.selector.x',
    ])
    const env = (ref: Json): Json => pod({ name: 'app', env: [{ name: 'A', valueFrom: { fieldRef: ref } }] })
    const filledIn = env({ apiVersion: 'v1', fieldPath: 'metadata.name' })
    expect(differences(filledIn, env({ fieldPath: 'metadata.name' }), typingOf(Deployment))).toEqual([])
  })

  it('include empty entries of maps, and top-level pointers', () => {
    expect(differences({ data: {} }, { data: { empty: '' } }, typingOf(ConfigMap))).toEqual(['data.empty'])
    const labelled = { metadata: { labels: { empty: '' } } }
    expect(differences({ metadata: {} }, labelled, typingOf(ConfigMap))).toEqual(['metadata.labels'])
    expect(differences({ metadata: { labels: { a: '' } } }, labelled, typingOf(ConfigMap))).toEqual([
      'metadata.labels.empty',
    ])
    const account = { automountServiceAccountToken: false }
    expect(differences({}, account, typingOf(ServiceAccount))).toEqual(['automountServiceAccountToken'])
  })

  it('of custom objects depend on presence, whatever the value; those of their metadata as of any object', () => {
    const Gadget = defineKind({
      group: 'test.example.com',
      version: 'v1',
      kind: 'Gadget',
      spec: {
        flag: optional(boolean()),
        count: optional(integer()),
        note: optional(string()),
        tags: optional(map(string())),
      },
    })
    const typing = typingOf(Gadget)
    const wanted = { spec: { flag: false, count: 0, note: '', tags: {} } }
    expect(differences({ spec: {} }, wanted, typing)).toEqual(['spec.flag', 'spec.count', 'spec.note', 'spec.tags'])
    expect(differences(wanted, wanted, typing)).toEqual([])
    // What is not nullable is dropped before it is stored.
    expect(differences({ spec: {} }, { spec: { flag: null } }, typing)).toEqual([])
    const mine = { uid: 'one', name: 'a' }
    const owned = { metadata: { labels: {}, ownerReferences: [mine], finalizers: ['x/y'] } }
    const shared = { metadata: { ownerReferences: [{ uid: 'two', name: 'b' }, mine], finalizers: ['a/b', 'x/y'] } }
    expect(differences(shared, owned, typing)).toEqual([])
  })

  it('include null where it is a value', () => {
    const schema: Schema = {
      type: 'object',
      properties: {
        kept: { type: 'string', nullable: true },
        dropped: { type: 'string' },
        open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    }
    const wanted = { kept: null, dropped: null, open: { a: { b: null } } }
    expect(differences({ open: { a: {} } }, wanted, { schema, definitions: {} })).toEqual(['kept', 'open.a.b'])
  })

  it('include members with names of Object.prototype', () => {
    const wanted = JSON.parse('{"data":{"__proto__":"x","constructor":"y"}}') as Json
    expect(differences({ data: {} }, wanted, { schema: undefined, definitions: {} })).toHaveLength(2)
    expect(differences(wanted, wanted, { schema: undefined, definitions: {} })).toEqual([])
  })
})

/** A zero value at every field below a message, each in an object of its own; each type is entered once. */
function* zerosBelow(message: Message, entered: Set<string>): Generator<readonly [path: string, value: JsonObject]> {
  for (const field of message.fields) {
    const inner = fieldMessageOf(field)
    if (field.name === '') {
      if (inner) yield* zerosBelow(inner, entered)
      continue
    }
    yield [field.name, { [field.name]: zeroOf(field) }]
    if (field.many === 'map') yield [`${field.name}.entry`, { [field.name]: { entry: emptyOf(field) } }]
    if (!inner || inner.unwrapped || entered.has(inner.name)) continue
    entered.add(inner.name)
    for (const [path, value] of zerosBelow(inner, entered)) {
      const held = field.many === 'list' ? [value] : field.many === 'map' ? { entry: value } : value
      yield [`${field.name}.${path}`, { [field.name]: held }]
    }
  }
}

function zeroOf(field: ProtobufField): Json {
  return field.many === 'list' ? [] : field.many === 'map' ? {} : emptyOf(field)
}

function emptyOf({ scalar, special, type }: ProtobufField): Json {
  if (scalar) return scalar === 'bool' ? false : scalar === 'string' || scalar === 'bytes' ? '' : 0
  if (special)
    return special === 'quantity' ? '0' : special === 'duration' ? '0s' : special === 'intorstring' ? 0 : null
  return messageNamed(type).unwrapped ? [] : {}
}

describe('a zero value anywhere in a built-in kind', () => {
  const kinds = builtinResources().filter(
    ({ group, version }) => group !== 'resource.k8s.io' && !/alpha|beta/.test(version),
  )

  it('is a difference where the API server distinguishes it from absent, and none at rest', () => {
    let counted = 0
    const entered = new Set<string>()
    for (const resource of kinds) {
      const apiVersion = formatApiVersion(resource)
      const message = messageOfKind(apiVersion, resource.kind)
      if (!message) continue
      const typing = typingOf(resource)
      const stored = (members: JsonObject): JsonObject =>
        storedForm(
          structForm({ apiVersion, kind: resource.kind, ...members } as unknown as UntypedObject),
        ) as unknown as JsonObject
      const empty = stored({})
      for (const [path, wanted] of zerosBelow(message, entered)) {
        const place = `${resource.kind} ${path}`
        const is = stored(wanted)
        const isSeen = differences(empty, wanted, typing).length > 0
        expect([place, differences(is, wanted, typing)]).toEqual([place, []])
        expect([place, isSeen]).toEqual([place, !equalJson(is, empty)])
        counted++
      }
    }
    expect(counted).toBeGreaterThan(1000)
  })
})
