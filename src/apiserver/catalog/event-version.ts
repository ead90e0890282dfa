/** Conversion of Events between the core group and events.k8s.io, which name some fields differently. */
import type { UntypedObject } from '../../kube/object.ts'
import { structForm } from '../codec/struct-form.ts'

/** Field names in the core group and in events.k8s.io. */
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

/** Converts to `v1` or `events.k8s.io/v1`. */
export function convertEvent(object: UntypedObject, apiVersion: string): UntypedObject {
  if (object.apiVersion === apiVersion) return object
  const namesThere = apiVersion === 'v1' ? toCore : toNewer
  const entries = Object.entries(object).map(([name, value]) => [namesThere.get(name) ?? name, value])
  return structForm({ ...(Object.fromEntries(entries) as UntypedObject), apiVersion })
}
