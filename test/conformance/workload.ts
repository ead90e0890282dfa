/** What the cases about pods and the kinds that make them share: short ways to write one, and to say what came back. */
import { isJsonObject, type Json, type JsonObject } from '../../src/kube/json.ts'
import type { Answer, Server } from './server.ts'

export const web: JsonObject = { name: 'web', image: 'nginx:1.27' }
export const labels: JsonObject = { app: 'web' }
export const selector: JsonObject = { matchLabels: labels }

export const pod = (spec: JsonObject): JsonObject => ({ spec: { containers: [web], ...spec } })
export const container = (members: JsonObject): JsonObject => pod({ containers: [{ ...web, ...members }] })
export const volume = (source: JsonObject): JsonObject => pod({ volumes: [{ name: 'v', ...source }] })
export const template = (spec: JsonObject = {}): JsonObject => ({
  metadata: { labels },
  spec: { containers: [web], ...spec },
})
/** The spec of most kinds. */
export const workload = (spec: JsonObject = {}): JsonObject => ({ spec: { selector, template: template(), ...spec } })
export const job = (spec: JsonObject = {}): JsonObject => ({
  spec: { template: template({ restartPolicy: 'Never' }), ...spec },
})
export const cronJob = (spec: JsonObject = {}): JsonObject => ({
  spec: { schedule: '*/5 * * * *', jobTemplate: job(), ...spec },
})

/** `deployments.apps` in a namespace. */
export function pathOf(plural: string, namespace: string): string {
  const [name, group] = plural.split('.')
  return `${group === undefined ? '/api/v1' : `/apis/${group}/v1`}/namespaces/${namespace}/${name}`
}

/** One namespace for all cases of a file: none of them leaves anything in it that another one sees. */
export function sharedNamespace(server: Server): () => Promise<string> {
  let name: Promise<string> | undefined
  return async () => await (name ??= server.namespace())
}

/** What the priority of a pod comes to has cases of its own, like who manages what. */
const beside = new Set(['priority', 'preemptionPolicy'])

/** The object without what is beside the point of defaults. */
export function objectOf(server: Server, answer: Answer): Json {
  const masked = server.masked(answer).body
  if (!isJsonObject(masked) || !isJsonObject(masked['metadata'])) return masked
  const {
    managedFields: _managed,
    creationTimestamp: _time,
    namespace: _namespace,
    uid: _uid,
    ...metadata
  } = masked['metadata']
  const { spec } = masked
  if (masked['kind'] !== 'Pod' || !isJsonObject(spec)) return { ...masked, metadata }
  const kept = Object.entries(spec).filter(([name]) => !beside.has(name))
  return { ...masked, metadata, spec: Object.fromEntries(kept) }
}

/** A refusal in a few lines: its code and message, then each cause; for what was accepted, that it was. */
export function refusalOf(server: Server, answer: Answer): string {
  const { status, body } = server.masked(answer)
  if (!isJsonObject(body) || body['kind'] !== 'Status') return `${status} accepted${warningsOf(answer)}`
  const causes = (body['details'] as { causes?: readonly JsonObject[] } | undefined)?.causes ?? []
  const lines = causes.map((cause) => `- ${cause['reason'] as string} ${cause['field'] as string}`)
  return [`${status} ${body['message'] as string}`, ...lines].join('\n')
}

function warningsOf({ headers }: Answer): string {
  const { warning } = headers
  return warning === undefined ? '' : `\n${warning}`
}
