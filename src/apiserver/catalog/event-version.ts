/** The two groups that serve Events: each has names of its own for the same fields. */
import type { UntypedObject } from '../../kube/object.ts'
import { structForm } from '../codec/struct-form.ts'

/** Names in the core group, and in the newer one. */
const renamed: readonly (readonly [core: string, newer: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
]
const toNewer: ReadonlyMap<string, string> = new Map(renamed)
const toCore: ReadonlyMap<string, string> = new Map(renamed.map(([core, other]) => [other, core]))

/** `object` at `v1` or `events.k8s.io/v1`. */
export function convertEvent(object: UntypedObject, apiVersion: string): UntypedObject {
  if (object.apiVersion === apiVersion) return object
  const namesThere = apiVersion === 'v1' ? toCore : toNewer
  const entries = Object.entries(object).map(([name, value]) => [namesThere.get(name) ?? name, value])
  return structForm({ ...(Object.fromEntries(entries) as UntypedObject), apiVersion })
}
