/**
 * A ConfigMap as a configuration source, watched through a cache. It is created if it does not exist, so that
 * administrators find the available settings. If two replicas start together, one of them creates it and both use the
 * result.
 */
import type { Client } from '../../client/client.ts'
import type { SharedCache } from '../../cache/shared-cache.ts'
import { managerErrors } from '../errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { ConfigMapFormat } from './config-map-format.ts'
import { asSentence, guessAmong } from './problem.ts'
import { pausedAnnotation, readPausedOperators } from './paused-operators.ts'
import type { ConfigurationSource } from './source.ts'

export interface ConfigMapSourceOptions {
  readonly client: Client
  /** Of the same cluster. */
  readonly cache: SharedCache
  readonly namespace: string
  readonly name: string
  /** That of another program. @default the key `muster.yaml` */
  readonly format?: ConfigMapFormat | undefined
}

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

const configMaps: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true }

const key = 'muster.yaml'

export function configMapSource(options: ConfigMapSourceOptions): ConfigurationSource {
  const { client, cache, namespace, name, format } = options
  const ref = { namespace, name }
  const title = `ConfigMap ${namespace}/${name}`
  /** The latest watch event, once there is one. */
  let known: { readonly object: ConfigMap | undefined } | undefined
  /** As read before the watch began. */
  let asked: ConfigMap | undefined

  const textOf = (object: ConfigMap | undefined): string | undefined => {
    if (!object) return undefined
    const { data = {} } = object
    if (format) return onlyValue(title, data, format.key)
    if (Object.hasOwn(data, key)) return data[key]!
    throw new MusterError(
      managerErrors.InvalidConfiguration,
      asSentence(`${title} has no key "${key}"${guessAmong(key, Object.keys(data))}`),
    )
  }

  const ask = async (): Promise<ConfigMap | undefined> => {
    try {
      asked = await client.get<ConfigMap>(configMaps, ref)
      return asked
    } catch (error) {
      if (isMusterError(error, clientErrors.NotFound)) return undefined
      throw error
    }
  }

  return {
    name: title,
    isRemote: format === undefined,
    ...(format && { layer: (text: string) => format.layer(title, text) }),
    read: async () => textOf(known ? known.object : await ask()),
    object: () => known?.object,
    pausedOperators: () => readPausedOperators((known?.object ?? asked)?.metadata.annotations?.[pausedAnnotation]),
    async create(text) {
      const metadata = { ...ref, labels: { 'app.kubernetes.io/managed-by': 'muster' } }
      const data = format ? { [format.key]: format.defaults() } : { [key]: text }
      const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
      try {
        return textOf(await client.create<ConfigMap>(configMaps, object, { fieldManager: 'muster' }))
      } catch (error) {
        if (isMusterError(error, clientErrors.AlreadyExists)) return textOf(await ask())
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
            onProblem(new MusterError(managerErrors.InvalidConfiguration, message))
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

function onlyValue(title: string, data: Readonly<Record<string, string>>, usual: string): string {
  const [first, ...more] = Object.entries(data)
  if (first && more.length === 0) return first[1]
  const found = first ? `the keys ${Object.keys(data).join(', ')}` : 'no key'
  throw new MusterError(
    managerErrors.InvalidConfiguration,
    `${title} has ${found}: it must have one, such as "${usual}".`,
  )
}
