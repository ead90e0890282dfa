/**
 * The final state of a cluster, without values that differ from run to run (uids, versions, times, generated names):
 * two runs with the same end have equal snapshots. Other differences between two runs without faults are random: an
 * address that the server allocates, a password that the operator generates once.
 */
import { isJsonObject, type Json } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { isLeftAlone, examinationReportOf } from './examination.ts'
import type { ScorecardCluster } from './scorecard-cluster.ts'
import { requestKey } from './request.ts'

const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }

/** By object: the value at each path. */
export type ClusterSnapshot = ReadonlyMap<string, ReadonlyMap<string, string>>

/** Random objects, and random fields as `object path`. */
export type ChanceValue = ReadonlySet<string>

export async function snapshotOf(cluster: ScorecardCluster): Promise<ClusterSnapshot> {
  const generated = (await cluster.client.list(pods)).items.map(({ metadata }) => metadata.name)
  const snapshot = new Map<string, ReadonlyMap<string, string>>()
  for (const child of await cluster.children()) {
    const { metadata, status: _, ...rest } = child.object
    // Objects that are created once may hold random values: a password, a key, and the mark derived from them.
    const content = isLeftAlone(cluster, child) ? {} : { ...rest, metadata: lasting(metadata) }
    snapshot.set(requestKey(child), fieldsOf(content, generated))
  }
  for (const cr of cluster.crs) {
    const found = await cluster.find(cr)
    const { metadata, status: _, ...rest } = found ?? ({ metadata: {} } as UntypedObject)
    snapshot.set(
      requestKey(cr),
      fieldsOf({ ...rest, status: reportedBy(found), metadata: lasting(metadata) }, generated),
    )
  }
  return snapshot
}

function lasting({ name, namespace, labels, finalizers, annotations }: UntypedObject['metadata']): object {
  const { 'deployment.kubernetes.io/revision': _, ...kept } = annotations ?? {}
  return { name, namespace, labels, finalizers, annotations: kept }
}

function fieldsOf(object: object, generated: readonly string[]): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  collect(JSON.parse(JSON.stringify(object)) as Json, '', fields, (text) => {
    let shown = text.replaceAll(timePattern, '(time)')
    for (const name of generated) shown = shown.replaceAll(name, '(pod)')
    return shown
  })
  return fields
}

/** Empty values count. */
function collect(value: Json, path: string, fields: Map<string, string>, show: (text: string) => string): void {
  const members = isJsonObject(value) || isJsonArray(value) ? Object.entries(value) : []
  if (members.length === 0) fields.set(path, show(JSON.stringify(value)))
  for (const [name, member] of members) collect(member as Json, `${path}.${name}`, fields, show)
}

/** The conditions of a CR. The rest of its status may depend on its history. */
function reportedBy(cr: UntypedObject | undefined): object {
  const { observedGeneration, conditions } = examinationReportOf(cr ?? { apiVersion: '', kind: '', metadata: {} })
  return { observedGeneration, conditions: conditions.map(({ type, status, reason }) => ({ type, status, reason })) }
}

const timePattern = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g

/** Missing, additional and different objects, with the first difference. */
export function differencesBetween(
  expected: ClusterSnapshot,
  found: ClusterSnapshot,
  chance: ChanceValue = new Set(),
): readonly string[] {
  return differing(expected, found)
    .filter(([key, path]) => !chance.has(path === undefined ? key : `${key} ${path}`))
    .filter(([key], index, all) => all.findIndex(([other]) => other === key) === index)
    .map(([key, path]) => {
      if (path === undefined) return expected.has(key) ? `${key} is missing` : `${key} is there, too`
      const [should, is] = [expected.get(key)?.get(path), found.get(key)?.get(path)]
      return `${key} differs at ${path}: ${is ?? 'nothing'} instead of ${should ?? 'nothing'}`
    })
}

/** Random values: differences between two runs that should be equal. */
export function chanceBetween(one: ClusterSnapshot, other: ClusterSnapshot): ChanceValue {
  return new Set(differing(one, other).map(([key, path]) => (path === undefined ? key : `${key} ${path}`)))
}

function differing(one: ClusterSnapshot, other: ClusterSnapshot): readonly (readonly [key: string, path?: string])[] {
  const keys = [...new Set([...one.keys(), ...other.keys()])]
  return keys.flatMap((key): readonly (readonly [key: string, path?: string])[] => {
    const [left, right] = [one.get(key), other.get(key)]
    if (!left || !right) return [[key]]
    const paths = [...new Set([...left.keys(), ...right.keys()])]
    return paths.filter((path) => left.get(path) !== right.get(path)).map((path) => [key, path] as const)
  })
}
