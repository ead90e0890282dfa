/** What the compiler knows about `@muster-dev/muster/cache`. Compiled by the type check, never run. */
import type { SharedCache } from '@muster-dev/muster/cache'
import type { Resource } from '@muster-dev/muster/kube'
import { Deployment, Pod } from '@muster-dev/muster/operator'
import { expectTypeOf } from 'vitest'

declare const cache: SharedCache
declare const resource: Resource

// A subscription has the type of its resource, in every read, index and event.
const pods = cache.subscribe(Pod, {
  consumer: 'a',
  indexes: { node: (pod) => (pod.spec?.nodeName === undefined ? [] : [pod.spec.nodeName]) },
  onEvent(event) {
    expectTypeOf(event.object).toEqualTypeOf<Pod>()
    expectTypeOf(event.object.metadata.name).toEqualTypeOf<string>()
    if (event.type === 'updated') expectTypeOf(event.previous).toEqualTypeOf<Pod>()
  },
})
expectTypeOf(pods.get({ name: 'a' })).toEqualTypeOf<Pod | undefined>()
expectTypeOf(pods.list()).toEqualTypeOf<readonly Pod[]>()
expectTypeOf(pods.byIndex('node', 'a')).toEqualTypeOf<readonly Pod[]>()

cache.subscribe(Deployment, {
  consumer: 'a',
  // @ts-expect-error: a Deployment has no node
  indexes: { node: (object) => [object.spec.nodeName] },
})

const untyped = cache.subscribe(resource, { consumer: 'a' }).list()[0]!
expectTypeOf(untyped.metadata.name).toEqualTypeOf<string>()
expectTypeOf(untyped['spec']).toBeUnknown()

const scaled = await cache.writer('a').patch(Deployment, { name: 'a' }, {}, { type: 'merge' })
expectTypeOf(scaled).toEqualTypeOf<Deployment>()
