/** Random watch scopes and objects for the laws of the cache: few distinct values, so that they often coincide. */
import { type Arbitrary, constantFrom, option, record } from 'fast-check'
import { type WatchScope, scopeOf, type ObjectShape } from '../src/cache/need.ts'
import type { KubeObject } from '../src/kube/object.ts'
import { parseFields, parseLabels } from '../src/kube/selector/selector.ts'

export interface ScopeText {
  readonly namespace?: string | undefined
  readonly labels?: string
  readonly fields?: string
  readonly prefix?: string | undefined
}

export function scope({ namespace, labels = '', fields = '', prefix }: ScopeText = {}): WatchScope {
  return scopeOf({ namespace, labels: parseLabels(labels), fields: parseFields(fields), prefix })
}

const namespace = constantFrom('a', 'b', 'c')

export const aScope: Arbitrary<WatchScope> = record({
  namespace: option(namespace, { nil: undefined }),
  labels: constantFrom('', 'app=x', 'app=y', 'app in (x,y)', 'app', '!app', 'tier=z', 'app=x,tier=z', 'app!=x'),
  fields: constantFrom('', 'metadata.name=one', 'metadata.name=two', 'status.phase=Running', 'status.phase!=Failed'),
  prefix: option(constantFrom('o', 'on', 't'), { nil: undefined, freq: 3 }),
}).map(scope)

export const aShape: Arbitrary<ObjectShape> = record({
  detail: constantFrom<ObjectShape['detail']>('full', 'full', 'metadata', ['spec.nodeName'], ['spec', 'status.phase']),
  managedFields: constantFrom(false, false, true),
})

export const anObject: Arbitrary<KubeObject> = record({
  namespace,
  name: constantFrom('one', 'two', 'other'),
  app: constantFrom('x', 'y', ''),
  tier: constantFrom('z', ''),
  phase: constantFrom('Running', 'Failed'),
}).map(({ app, tier, phase, ...place }) => {
  const labels = { ...(app ? { app } : {}), ...(tier ? { tier } : {}) }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { ...place, labels }, status: { phase } } as KubeObject
})
