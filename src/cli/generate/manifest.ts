/**
 * A manifest as the initial data of a resource: what a person chose, without what a server added. Names go, since each CR
 * has its own; so do the values of Secrets, which have no place in code.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'

export interface InitialData {
  readonly data: JsonObject
  /** Values of a Secret were left out. */
  readonly hasSecrets: boolean
}

/** Annotations that tools and servers keep for themselves. */
const machineMade = [
  'kubectl.kubernetes.io/last-applied-configuration',
  'deployment.kubernetes.io/revision',
  'muster.dev/desired',
] as const

/** What servers choose where a person did not; to repeat it would tie every CR's object to one of them. */
const chosenByServers: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['Service', ['clusterIP', 'clusterIPs', 'ipFamilies', 'healthCheckNodePort']],
  ['PersistentVolumeClaim', ['volumeName']],
  ['Pod', ['nodeName', 'serviceAccount']],
])

export function initialData(manifest: JsonObject): InitialData {
  const { apiVersion: _, kind, metadata, status: __, ...rest } = manifest
  const isSecret = kind === 'Secret'
  const kept = isSecret ? without(rest, ['data', 'stringData']) : rest
  const { labels, annotations } = isJsonObject(metadata) ? metadata : {}
  const told = isJsonObject(annotations) ? without(annotations, machineMade) : {}
  const meta: JsonObject = {
    ...(isFilled(labels) && { labels }),
    ...(isFilled(told) && { annotations: told }),
  }
  const spec = isJsonObject(kept['spec']) ? withoutChosen(kept['spec'], kind) : undefined
  const data = { ...(isFilled(meta) && { metadata: meta }), ...kept, ...(spec && { spec }) }
  return {
    data: stripped(data) as JsonObject,
    hasSecrets: isSecret && Object.keys(kept).length < Object.keys(rest).length,
  }
}

function withoutChosen(spec: JsonObject, kind: Json | undefined): JsonObject {
  const chosen = chosenByServers.get(kind) ?? []
  // A headless Service is a choice.
  return spec['clusterIP'] === 'None' ? spec : without(spec, chosen)
}

/** Null is "nothing said", and a time of creation is never wanted: `kubectl create --dry-run` writes both. */
function stripped(value: Json): Json {
  if (Array.isArray(value)) return value.map(stripped)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value as Readonly<Record<string, Json>>).filter(
    ([name, member]) => member !== null && name !== 'creationTimestamp',
  )
  return Object.fromEntries(entries.map(([name, member]) => [name, stripped(member)]))
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}

function isFilled(value: Json | undefined): boolean {
  return isJsonObject(value) && Object.keys(value).length > 0
}
