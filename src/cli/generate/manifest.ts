/**
 * A manifest as the initial data of a dependent, without fields that the server set. Names are dropped, since each CR has
 * its own; so are the values of Secrets, which do not belong in code.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'

export interface InitialData {
  readonly data: JsonObject
  /** Values of a Secret were dropped. */
  readonly hasSecrets: boolean
}

/** Annotations of tools and servers. */
const machineMade = [
  'kubectl.kubernetes.io/last-applied-configuration',
  'deployment.kubernetes.io/revision',
  'muster.dev/desired',
] as const

/** Fields that the server allocates: repeating them would give the objects of all CRs the same value. */
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
  // A headless Service is a decision of the author.
  return spec['clusterIP'] === 'None' ? spec : without(spec, chosen)
}

/** Drops null values and creation times: `kubectl create --dry-run` writes both. */
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
