/** Shared informers: few watches, frozen objects, read-your-own-writes. See README.md. */
export { createSharedCache } from './shared-cache.ts'
export type { ConsumerReport, InformerReport, SharedCache, SharedCacheOptions } from './shared-cache.ts'
export type { CacheEvent, ConsumerProblem, IndexFunction, SubscribeOptions, Subscription } from './subscription.ts'
export type { Detail } from './need.ts'
export type { Freshness, ReflectorOptions } from './reflector.ts'
export type { Writer } from './writer.ts'
