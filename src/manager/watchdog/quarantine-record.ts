/**
 * The quarantine record: a ConfigMap with an entry for each version of an operator that hung a manager. All replicas
 * and restarts read it; an administrator can inspect it and remove an entry.
 *
 *     data:
 *       part-3.6f1c9d20b4e7a815: '{"operator":"part-3","key":"default/a","step":"CRChecker","heldSeconds":10,…}'
 */
import type { Client, RequestOptions } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { isJsonObject, parseJson } from '../../kube/json.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { ObjectName } from '../../operator/view/view.ts'

/** Why, when and where. Names and numbers, and no content of objects. */
export interface QuarantineEntry {
  readonly operator: string
  readonly controller: string
  /** `namespace/name` of the CR. */
  readonly key: string
  readonly step: string
  readonly heldSeconds: number
  /** RFC 3339. */
  readonly at: string
  readonly replica: string
  /** The line of code, where known: `file.ts:12`. */
  readonly line: string
  /** Other operators that may have caused it. */
  readonly or: readonly string[]
}

export interface QuarantineRecord {
  /** Undefined: the ConfigMap does not exist. */
  readonly object: ConfigMap | undefined
  /** By `entryKey`. */
  readonly entries: ReadonlyMap<string, QuarantineEntry>
}

export function entryKey(operator: string, version: string): string {
  return `${operator}.${version}`
}

export async function readRecord(client: Client, at: ObjectName, options?: RequestOptions): Promise<QuarantineRecord> {
  let object: ConfigMap
  try {
    object = await client.get(ConfigMap, at, options)
  } catch (error) {
    if (isMusterError(error, clientErrors.NotFound)) return { object: undefined, entries: new Map() }
    throw error
  }
  const entries = Object.entries(object.data ?? {}).map(([key, text]) => [key, readEntry(key, text)] as const)
  return { object, entries: new Map(entries) }
}

/** An entry by another version or by hand counts as well: its key names the operator. */
function readEntry(key: string, text: string): QuarantineEntry {
  const value = parsed(text)
  const word = (name: string): string => (typeof value[name] === 'string' ? value[name] : '')
  const { heldSeconds, or } = value
  return {
    operator: key.slice(0, key.lastIndexOf('.')),
    controller: word('controller'),
    key: word('key'),
    step: word('step'),
    heldSeconds: typeof heldSeconds === 'number' ? heldSeconds : 0,
    at: word('at'),
    replica: word('replica'),
    line: word('line'),
    or: Array.isArray(or) ? or.filter((one) => typeof one === 'string') : [],
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(text)
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** In addition to the existing ones. */
export async function addEntries(
  client: Client,
  at: ObjectName,
  entries: ReadonlyMap<string, QuarantineEntry>,
  options: RequestOptions,
): Promise<void> {
  const data = Object.fromEntries([...entries].map(([key, entry]) => [key, JSON.stringify(entry)]))
  const patch = async (): Promise<void> => {
    await client.patch(ConfigMap, at, { data }, { ...options, type: 'merge', fieldManager })
  }
  try {
    await patch()
  } catch (error) {
    if (!isMusterError(error, clientErrors.NotFound)) throw error
    const metadata = { name: at.name, namespace: at.namespace ?? '', labels }
    const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
    try {
      await client.create(ConfigMap, object, { ...options, fieldManager })
    } catch (race) {
      if (!isMusterError(race, clientErrors.AlreadyExists)) throw race
      await patch()
    }
  }
}

const fieldManager = 'muster-watchdog'
const labels = { 'app.kubernetes.io/managed-by': 'muster' }
