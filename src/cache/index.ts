/** Shared informers: one watch a resource for everyone, frozen objects, own writes readable at once. See README.md. */
export { createSharedCache } from './shared-cache.ts'
export type { ConsumerReport, FeedReport, SharedCache, SharedCacheOptions } from './shared-cache.ts'
export type { CacheEvent, ConsumerProblem, IndexFunction, SubscribeOptions, Subscription } from './subscription.ts'
export type { Detail } from './need.ts'
export type { Freshness, ReflectorOptions } from './reflector.ts'
export type { Writer } from './writer.ts'
