/** What all recorders share: a vector set is a name and a way to ask the server for its answers. */
import type { Json, JsonObject } from '../../../src/kube/json.ts'
import type { Vector } from '../../vectors/read.ts'
import type { Answer, Api } from '../api.ts'

export interface Recorder<V extends Vector = Vector> {
  /** The file under `test/vectors`. */
  readonly set: string
  record(api: Api): Promise<readonly V[]>
}

/** `work` on every item, a few at a time, results in the order of the items. */
export async function mapInTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>, width = 8): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++
      results[index] = await work(items[index] as T)
    }
  }
  await Promise.all(Array.from({ length: width }, worker))
  return results
}

export async function createNamespace(api: Api, name: string): Promise<void> {
  await api.must('POST', '/api/v1/namespaces', { body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } } })
}

export interface CrdOptions {
  readonly group: string
  readonly kind: string
  /** @default lower-case kind and `s` */
  readonly plural?: string
  readonly schema: Json
  readonly status?: boolean
}

/** A namespaced kind, version v1: made unless it is there, and served. Returns the path of its resource. */
export async function createKind(api: Api, options: CrdOptions): Promise<(namespace: string) => string> {
  const { group, kind, schema, plural = `${kind.toLowerCase()}s` } = options
  const { status, message } = await api.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    body: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: schema },
            ...(options.status ? { subresources: { status: {} } } : {}),
          },
        ],
      },
    },
  })
  if (status !== 201 && status !== 409) throw new Error(`${plural}.${group}: ${message}`)
  const path = (namespace: string): string => `/apis/${group}/v1/namespaces/${namespace}/${plural}`
  for (let tries = 0; (await api.call('GET', path('default'))).status !== 200; tries++) {
    if (tries > 600) throw new Error(`${plural}.${group} is not served`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return path
}

/** A refusal as it is recorded. Some messages quote whole objects: their beginning is enough. */
export interface Refusal {
  readonly status: number
  readonly reason?: string
  readonly message: string
}

export function refusalOf({ status, body, message }: Answer): Refusal {
  const { reason } = body as { readonly reason?: string }
  return {
    status,
    ...(reason ? { reason } : {}),
    message: message.length > 400 ? `${message.slice(0, 400)}…` : message,
  }
}

/** What differs from run to run, and what tells a reader nothing. */
const volatile = new Set(['uid', 'resourceVersion', 'creationTimestamp', 'generation', 'managedFields', 'selfLink'])

/** The object without what differs from one recording to the next. */
export function withoutVolatile(object: JsonObject): JsonObject {
  const metadata = Object.entries((object['metadata'] ?? {}) as JsonObject).filter(([key]) => !volatile.has(key))
  return { ...object, metadata: Object.fromEntries(metadata) }
}
