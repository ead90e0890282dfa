import { describe, expect, it } from 'vitest'
import type { Json } from '../kube/json.ts'
import { typingOf } from './desired.ts'
import { differences } from './difference.ts'
import { Deployment, Service } from './kinds.ts'

const pod = (container: Json): Json => ({ spec: { template: { spec: { containers: [container] } } } })
const at = 'spec.template.spec.containers[name="app"]'

describe('differences', () => {
  const none: readonly (readonly [string, Json, Json])[] = [
    ['amounts in other words', { resources: { limits: { cpu: '500m' } } }, { resources: { limits: { cpu: 0.5 } } }],
    [
      'amounts as numbers',
      { resources: { limits: { memory: '1Gi' } } },
      { resources: { limits: { memory: 1_073_741_824 } } },
    ],
    ['nothing in many forms', {}, { env: [], args: null, stdin: false, workingDir: '', securityContext: {} }],
    ['what is beside', { image: 'a', command: ['x'] }, { image: 'a' }],
    ['the order of a keyed list', { env: [{ name: 'A' }, { name: 'B' }] }, { env: [{ name: 'B' }, { name: 'A' }] }],
    ['more items in a keyed list', { env: [{ name: 'A' }, { name: 'B' }] }, { env: [{ name: 'A' }] }],
    [
      'a key that the server filled in',
      { ports: [{ containerPort: 80, protocol: 'TCP' }] },
      { ports: [{ containerPort: 80 }] },
    ],
  ]
  it.each(none)('are none: %s', (_, live, wanted) => {
    const named = (value: Json): Json => pod({ name: 'app', ...(value as object) })
    expect(differences(named(live), named(wanted), typingOf(Deployment))).toEqual([])
  })

  const some: readonly (readonly [string, Json, Json, readonly string[]])[] = [
    [
      'another amount',
      { resources: { limits: { cpu: '501m' } } },
      { resources: { limits: { cpu: '0.5' } } },
      [`${at}.resources.limits.cpu`],
    ],
    ['text that looks like an amount', { image: '1000m' }, { image: '1' }, [`${at}.image`]],
    [
      'the order of a list that is one value',
      { args: ['a', 'b'] },
      { args: ['b', 'a'] },
      [`${at}.args[0]`, `${at}.args[1]`],
    ],
    ['more in a list that is one value', { args: ['a', 'b'] }, { args: ['a'] }, [`${at}.args`]],
    ['a missing item', { env: [{ name: 'A' }] }, { env: [{ name: 'B' }] }, [`${at}.env[name="B"]`]],
    ['a number where nothing is wanted', { terminationGracePeriodSeconds: 3 }, { stdin: true }, [`${at}.stdin`]],
    [
      'the same port of another protocol',
      { ports: [{ containerPort: 80, protocol: 'UDP' }] },
      { ports: [{ containerPort: 80 }] },
      [`${at}.ports[containerPort=80,protocol="TCP"]`],
    ],
    ['another type', { env: 'x' }, { env: [{ name: 'A' }] }, [`${at}.env`]],
  ]
  it.each(some)('are told by path: %s', (_, live, wanted, paths) => {
    const named = (value: Json): Json => pod({ name: 'app', ...(value as object) })
    expect(differences(named(live), named(wanted), typingOf(Deployment))).toEqual(paths)
  })

  it('in a map that is one value, more than is wanted is one; in a struct that is one value it is not', () => {
    const wanted = { spec: { selector: { app: 'a' } } }
    expect(differences({ spec: { selector: { app: 'a', x: 'y' } } }, wanted, typingOf(Service))).toEqual([
      'spec.selector.x',
    ])
    const env = (ref: Json): Json => pod({ name: 'app', env: [{ name: 'A', valueFrom: { fieldRef: ref } }] })
    const filledIn = env({ apiVersion: 'v1', fieldPath: 'metadata.name' })
    expect(differences(filledIn, env({ fieldPath: 'metadata.name' }), typingOf(Deployment))).toEqual([])
  })

  it('in members that are called like those of every object', () => {
    const wanted = JSON.parse('{"data":{"__proto__":"x","constructor":"y"}}') as Json
    expect(differences({ data: {} }, wanted, { schema: undefined, definitions: {} })).toHaveLength(2)
    expect(differences(wanted, wanted, { schema: undefined, definitions: {} })).toEqual([])
  })
})
