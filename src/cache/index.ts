/** Shared informers: what is asked for, by few watches; frozen objects, own writes readable at once. See README.md. */
export { createSharedCache } from './shared-cache.ts'
export type { ConsumerReport, InformerReport as FeedReport, SharedCache, SharedCacheOptions } from './shared-cache.ts'
export type { CacheEvent, ConsumerProblem, IndexFunction, SubscribeOptions, Subscription } from './subscription.ts'
export type { Detail } from './need.ts'
export type { Freshness, ReflectorOptions } from './reflector.ts'
export type { Writer } from './writer.ts'
