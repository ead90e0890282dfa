/**
 * A cluster as the operator left it, without what differs from run to run (uids, versions, times, names that were
 * generated): two runs that came to the same end have the same portrait.
 */
import { canonicalJson } from '../../kube/apply/canonical.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { isLeftAlone, reportOf } from './examination.ts'
import type { Ground } from './ground.ts'
import { keyOf } from './request.ts'

const pods: Resource = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }

/** By object: its text. */
export async function portraitOf(ground: Ground): Promise<ReadonlyMap<string, string>> {
  const generated = (await ground.client.list(pods)).items.map(({ metadata }) => metadata.name ?? '')
  const portrait = new Map<string, string>()
  for (const child of await ground.children()) {
    const { metadata, status: _, ...rest } = child.object
    // What is written only once may be another thing each time: a password, a key.
    const content = isLeftAlone(ground, child) ? {} : rest
    portrait.set(keyOf(child), textOf({ ...content, metadata: lasting(metadata) }, generated))
  }
  for (const cr of ground.crs) {
    const found = await ground.find(cr)
    const { metadata, status: _, ...rest } = found ?? ({ metadata: {} } as UntypedObject)
    portrait.set(keyOf(cr), textOf({ ...rest, status: reportedBy(found), metadata: lasting(metadata) }, generated))
  }
  return portrait
}

function lasting({ name, namespace, labels, finalizers, annotations }: UntypedObject['metadata']): object {
  const { 'deployment.kubernetes.io/revision': _, ...kept } = annotations ?? {}
  return { name, namespace, labels, finalizers, annotations: kept }
}

function textOf(object: object, generated: readonly string[]): string {
  let text = canonicalJson(JSON.parse(JSON.stringify(object)) as Json).replaceAll(timePattern, '(time)')
  for (const name of generated) text = text.replaceAll(name, '(pod)')
  return text
}

/** What a CR says of itself now. The rest of a status may tell how it came to that, and may then be another story. */
function reportedBy(cr: UntypedObject | undefined): object {
  const { observedGeneration, conditions } = reportOf(cr ?? { apiVersion: '', kind: '', metadata: {} })
  return { observedGeneration, conditions: conditions.map(({ type, status, reason }) => ({ type, status, reason })) }
}

const timePattern = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g

/** Objects that differ: missing, additional or other ones. */
export function differencesBetween(
  expected: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): readonly string[] {
  const missing = [...expected.keys()].filter((key) => !found.has(key)).map((key) => `${key} is missing`)
  const extra = [...found.keys()].filter((key) => !expected.has(key)).map((key) => `${key} is there, too`)
  const others = [...expected].flatMap(([key, text]) => {
    const other = found.get(key)
    if (other === undefined || other === text) return []
    return [`${key} differs at ${placeOf(JSON.parse(text) as Json, JSON.parse(other) as Json) ?? 'some place'}`]
  })
  return [...missing, ...extra, ...others]
}

/** The first place at which two values differ, and what is there. */
function placeOf(expected: Json | undefined, found: Json | undefined, path = ''): string | undefined {
  if (equalJson(expected ?? null, found ?? null)) return undefined
  const isBoth = isJsonObject(expected) && isJsonObject(found)
  if (!isBoth && !(isJsonArray(expected) && isJsonArray(found) && expected.length === found.length)) {
    return `${path}: ${JSON.stringify(found) ?? 'nothing'} instead of ${JSON.stringify(expected) ?? 'nothing'}`
  }
  const [one, other] = [expected, found] as unknown as readonly [JsonObject, JsonObject]
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const place = placeOf(ownMember(one, name), ownMember(other, name), `${path}.${name}`)
    if (place !== undefined) return place
  }
  return undefined
}
