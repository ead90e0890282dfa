/**
 * A ConfigMap as a configuration source, watched through a cache. It is created if it does not exist, so that
 * administrators find the available settings. If two replicas start together, one of them creates it and both use the
 * result.
 */
import type { Client } from '../../client/client.ts'
import type { SharedCache } from '../../cache/shared-cache.ts'
import { isMusterError, MusterError } from '../../kube/errors.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import { guessAmong } from './problem.ts'
import type { ConfigurationSource } from './source.ts'

export interface ConfigMapSourceOptions {
  readonly client: Client
  /** Of the same cluster. */
  readonly cache: SharedCache
  readonly namespace: string
  readonly name: string
  /** @default "muster.yaml" */
  readonly key?: string
}

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

const configMaps: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }

export function configMapSource(options: ConfigMapSourceOptions): ConfigurationSource {
  const { client, cache, namespace, name, key = 'muster.yaml' } = options
  const ref = { namespace, name }
  const title = `ConfigMap ${namespace}/${name}`
  /** The latest watch event, once there is one. */
  let known: { readonly object: ConfigMap | undefined } | undefined

  const textOf = (object: ConfigMap | undefined): string | undefined => {
    if (!object) return undefined
    const { data = {} } = object
    if (Object.hasOwn(data, key)) return data[key]!
    throw new MusterError('InvalidConfiguration', `${title} has no key "${key}"${guessAmong(key, Object.keys(data))}.`)
  }

  const ask = async (): Promise<ConfigMap | undefined> => {
    try {
      return await client.get<ConfigMap>(configMaps, ref)
    } catch (error) {
      if (isMusterError(error, 'NotFound')) return undefined
      throw error
    }
  }

  return {
    name: title,
    isRemote: true,
    read: async () => textOf(known ? known.object : await ask()),
    async create(text) {
      const metadata = { ...ref, labels: { 'app.kubernetes.io/managed-by': 'muster' } }
      const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { [key]: text } }
      try {
        return textOf(await client.create<ConfigMap>(configMaps, object, { fieldManager: 'muster' }))
      } catch (error) {
        if (isMusterError(error, 'AlreadyExists')) return textOf(await ask())
        throw error
      }
    },
    watch(onChange, onProblem) {
      const over = new AbortController()
      let reported: string | undefined
      const see = (object: ConfigMap | undefined): void => {
        known = { object }
        if (!over.signal.aborted) onChange()
      }
      const subscription = cache.subscribe<ConfigMap>(configMaps, {
        consumer: 'muster-configuration',
        namespaces: [namespace],
        fields: `metadata.name=${name}`,
        onEvent: ({ type, object }) => see(type === 'deleted' ? undefined : object),
        onFreshness({ reason }) {
          if (reason !== undefined && reason !== reported) {
            const message = `${title} cannot be watched, so that changes are not seen: ${reason}`
            onProblem(new MusterError('InvalidConfiguration', message))
          }
          reported = reason
        },
      })
      // A missing ConfigMap causes no event.
      subscription.synced({ signal: over.signal }).then(
        () => see(subscription.get(ref)),
        () => undefined,
      )
      return () => {
        over.abort()
        known = undefined
        subscription.close()
      }
    },
  }
}
