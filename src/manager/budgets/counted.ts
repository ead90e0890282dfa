/**
 * Attributes requests to operators. All of them share one connection, so requests are counted where each operator makes
 * them: in its client and in its writer of the cache. Watches and lists that fill shared caches are attributed to no
 * operator. Retries of the client count once.
 */
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Writer } from '../../cache/writer.ts'
import type { Client } from '../../client/client.ts'

type Verb = Exclude<keyof Client, 'discovery' | 'transport' | 'stats' | 'close'>

const verbs = [
  'get',
  'listPage',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'apply',
  'delete',
  'deleteCollection',
  'getScale',
  'setScale',
  'evict',
  'createToken',
  'getMetadata',
  'listMetadata',
  'table',
  'logs',
  'exec',
  'request',
] as const satisfies readonly Verb[]

/** A verb missing above would not be counted: this fails to compile then. */
type Uncounted = Exclude<Verb, (typeof verbs)[number]>
const allAreCounted: Uncounted extends never ? true : false = true
void allAreCounted

export function countedClient(client: Client, onRequest: () => void): Client {
  return counted(client, verbs, onRequest)
}

/** The same cache, counting writes. */
export function countedCache(cache: SharedCache, onRequest: () => void): SharedCache {
  const verbsOfWriter = verbs.filter((verb): verb is keyof Writer & Verb => written.has(verb))
  return {
    ...cache,
    writer: (consumer, through) => counted(cache.writer(consumer, through), verbsOfWriter, onRequest),
  }
}

const written: ReadonlySet<string> = new Set<keyof Writer>([
  'create',
  'update',
  'patch',
  'apply',
  'delete',
  'setScale',
  'evict',
])

type Call = (...parameters: readonly unknown[]) => unknown

function counted<T extends object>(target: T, names: readonly (keyof T)[], onRequest: () => void): T {
  const wrapped = names.map((name) => {
    const call = (target[name] as Call).bind(target)
    const counting: Call = (...parameters) => {
      onRequest()
      return call(...parameters)
    }
    return [name, counting] as const
  })
  return { ...target, ...(Object.fromEntries(wrapped) as Partial<T>) }
}
