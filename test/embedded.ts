/** An embedded cluster in virtual time with a client, for tests. */
import { seededRandom } from '../src/clock/random.ts'
import { type VirtualClock, virtualClock } from '../src/clock/virtual-clock.ts'
import { type ApiServer, type ApiServerOptions, createApiServer } from '../src/apiserver/server/api-server.ts'
import type { Client, WatchEvent, WatchOptions } from '../src/client/client.ts'
import { createClient } from '../src/client/create-client.ts'
import { inProcessTransport } from '../src/client/in-process.ts'
import type { Method } from '../src/transport/transport.ts'
import type { Json } from '../src/kube/json.ts'
import type { Resource } from '../src/kube/kind.ts'
import type { UntypedObject } from '../src/kube/object.ts'

export const configMaps: Resource = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
}
export const namespaces: Resource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}
export const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}
export const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}
export const widgets: Resource = {
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
}

export interface Embedded {
  readonly clock: VirtualClock
  readonly server: ApiServer
  readonly client: Client
  /** A request on the wire, and its response. */
  readonly raw: (method: Method, path: string, options?: RawOptions) => Promise<RawAnswer>
}

export interface RawOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | object
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly json: Json
}

export function embedded(options: Partial<Omit<ApiServerOptions, 'clock' | 'random'>> = {}): Embedded {
  const clock = virtualClock()
  const server = createApiServer({ clock, random: seededRandom(7), ...options })
  const client = createClient({ transport: inProcessTransport(server), clock, random: seededRandom(8) })
  return {
    clock,
    server,
    client,
    async raw(method, path, { headers = {}, body } = {}) {
      const sent = typeof body === 'object' && !(body instanceof Uint8Array) ? JSON.stringify(body) : body
      const response = await server.handle({ method, path, headers, body: sent })
      const chunks: Uint8Array[] = []
      for await (const chunk of response.body) chunks.push(chunk)
      const text = Buffer.concat(chunks).toString()
      const isJson = response.headers['content-type']?.startsWith('application/json')
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: isJson ? (JSON.parse(text) as Json) : null,
      }
    },
  }
}

export function configMap(
  name: string,
  data: Readonly<Record<string, string>> = {},
  metadata: object = {},
): UntypedObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', ...metadata }, data }
}

export function widget(name: string, spec: object = {}, metadata: object = {}): UntypedObject {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name, namespace: 'default', ...metadata }, spec }
}

/** A CRD with a status and a scale, a default, and a field that preserves unknown fields. */
export function widgetCrd(): UntypedObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget', shortNames: ['wd'] },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
          },
          selectableFields: [{ jsonPath: '.spec.color' }],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  properties: {
                    replicas: { type: 'integer', default: 1 },
                    color: { type: 'string' },
                    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  },
                },
                status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              },
            },
          },
        },
      ],
    },
  }
}

export interface Watcher {
  /** `ADDED a`, `BOOKMARK`, … */
  readonly events: string[]
  readonly raw: WatchEvent[]
  /** Set when the server ended the stream. */
  readonly ended: () => boolean
  stop(): void
}

export function watching(client: Client, resource: Resource, options: WatchOptions = {}): Watcher {
  const events: string[] = []
  const raw: WatchEvent[] = []
  const stop = new AbortController()
  let ended = false
  const run = async (): Promise<void> => {
    for await (const event of client.watch(resource, { ...options, signal: stop.signal })) {
      raw.push(event)
      events.push(
        'metadata' in event.object && event.type !== 'BOOKMARK' && event.type !== 'ERROR'
          ? `${event.type} ${event.object.metadata.name}`
          : event.type,
      )
    }
    ended = true
  }
  run().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error
  })
  return { events, raw, ended: () => ended, stop: () => stop.abort(new Error('enough')) }
}
