import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../kube/json.ts'
import { typingOf } from './desired.ts'
import { differences } from './difference.ts'
import { ConfigMap, Deployment } from '../../kube/kinds.ts'
import { checkScope, inHashScope, type HashScope, toSend } from './scope.ts'

const typing = typingOf(Deployment)

function deployment(image: string, replicas: number, labels: Readonly<Record<string, string>>): JsonObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'a', namespace: 'n', labels, annotations: { 'muster.dev/desired': image } },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'a' } },
      template: {
        spec: {
          containers: [
            { name: 'app', image },
            { name: 'side', image: 'side:1', securityContext: {} },
          ],
          volumes: [{ name: 'scratch', emptyDir: {} }],
        },
      },
    },
  }
}

const scopes: fc.Arbitrary<HashScope> = fc.record(
  {
    labels: fc.boolean(),
    spec: fc.boolean(),
    paths: fc.subarray(['spec.replicas', 'spec.template.spec.containers[name=app].image', 'spec.selector']),
    except: fc.subarray([
      'spec.replicas',
      'metadata.labels.tier',
      'spec.template.spec.containers[name=side]',
      'spec.template',
      'metadata',
    ]),
  },
  { requiredKeys: [] },
)

describe('the applied object', () => {
  it('equals the live object where that has the desired values, for any scope', () => {
    fc.assert(
      fc.property(scopes, (scope) => {
        const wanted = deployment('app:1', 3, { tier: 'web' })
        expect(toSend(wanted, wanted, scope, typing)).toEqual(wanted)
      }),
    )
  })

  it('contains desired values in scope, and never removes values outside of it', () => {
    fc.assert(
      fc.property(scopes, (scope) => {
        const wanted = deployment('app:2', 5, { tier: 'web' })
        const live = deployment('app:1', 3, { tier: 'db' })
        const sent = toSend(wanted, live, scope, typing)
        expect(differences(sent, inHashScope(wanted, scope), typing)).toEqual([])
        // As many values as before: each is either wanted or live.
        const leaves = (value: unknown): readonly unknown[] =>
          value !== null && typeof value === 'object' && Object.keys(value).length > 0
            ? Object.values(value).flatMap(leaves)
            : [value]
        expect(leaves(sent)).toHaveLength(leaves(wanted).length)
      }),
    )
  })

  it('leaves the additions of other managers to them', () => {
    const wanted = deployment('app:2', 5, { tier: 'web' })
    const live = {
      ...deployment('app:1', 3, { tier: 'db', theirs: 'x' }),
      status: { replicas: 3 },
    } as JsonObject
    const containers = (live['spec'] as { template: { spec: { containers: JsonObject[] } } }).template.spec.containers
    containers.push({ name: 'proxy', image: 'proxy:1' })
    const sent = JSON.stringify(toSend(wanted, live, { labels: true }, typing))
    expect(sent).not.toContain('proxy')
    expect(sent).not.toContain('theirs')
    expect(sent).not.toContain('status')
  })

  it('does not restore a removed value outside the scope', () => {
    const wanted = deployment('app:1', 3, { tier: 'web' })
    const { spec, ...rest } = deployment('app:1', 3, { tier: 'web' })
    const live = { ...rest, spec: { ...(spec as JsonObject), replicas: null } } as JsonObject
    const { replicas: _, ...without } = live['spec'] as JsonObject
    const sent = toSend(wanted, { ...live, spec: without }, { except: ['spec.replicas'] }, typing)
    expect(sent['spec']).not.toHaveProperty('replicas')
  })
})

describe('a scope', () => {
  it('always keeps the owner reference and the annotation of the desired hash', () => {
    const metadata = {
      name: 'a',
      labels: { 'muster.dev/owner': 'uid', other: 'x' },
      annotations: { 'muster.dev/desired': 'mark', other: 'x' },
      ownerReferences: [{ uid: 'u' }],
    }
    for (const scope of [
      { data: true },
      { except: ['metadata'] },
      { paths: ['data.x'], except: ['metadata.labels'] },
    ]) {
      expect(inHashScope({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { x: '1' } }, scope)).toEqual({
        metadata: {
          labels: { 'muster.dev/owner': 'uid' },
          annotations: { 'muster.dev/desired': 'mark' },
          ownerReferences: [{ uid: 'u' }],
        },
        data: { x: '1' },
      })
    }
  })

  it('that selects nothing is rejected, with its location', () => {
    expect(() => checkScope({ labels: false }, 'Dependent x')).toThrow(/Dependent x: its scope chooses nothing/)
    expect(() => checkScope({ paths: [] }, 'Dependent x')).toThrow(/chooses nothing/)
    expect(() => checkScope({}, 'x')).not.toThrow()
    expect(() => checkScope({ except: ['spec.replicas'] }, 'x')).not.toThrow()
  })

  it('of data covers all of a ConfigMap or Secret besides metadata', () => {
    const whole = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'a' },
      data: { a: 'b' },
      type: 'Opaque',
      immutable: true,
    }
    expect(inHashScope(whole, { data: true })).toEqual({ data: { a: 'b' }, type: 'Opaque', immutable: true })
    expect(typingOf(ConfigMap).schema).toBeDefined()
  })
})
