/**
 * Where a pod template sits in a wrapped object: `template.spec.workerGroupSpecs[0].template`. The path begins with the member
 * `template` of the component, then goes by members and indexes.
 */
import type { Json, JsonObject } from '../../../kube/json.ts'
import { isJsonObject } from '../../../kube/json.ts'
import { isJsonArray, ownMember } from '../../../kube/json-member.ts'

/** Members and indexes below `template`. */
export type PodPath = readonly (string | number)[]

const longestPath = 500
const partPattern = /\.([A-Za-z_][\w-]*)|\[(\d{1,6})\]/gy

/** Undefined if the text is not a path. */
export function parsePodPath(text: string): PodPath | undefined {
  const root = 'template'
  if (!text.startsWith(root) || text.length > longestPath) return undefined
  const parts: (string | number)[] = []
  let end = root.length
  partPattern.lastIndex = end
  for (let part = partPattern.exec(text); part; part = partPattern.exec(text)) {
    const [whole, member, index] = part
    parts.push(member ?? Number(index))
    end += whole.length
  }
  return end === text.length ? parts : undefined
}

/** The pod template at a path: an object with `spec`, such as a Pod itself. Undefined if there is none. */
export function podTemplateAt(template: JsonObject, path: PodPath): JsonObject | undefined {
  let value: Json | undefined = template
  for (const part of path) {
    if (typeof part === 'number') value = isJsonArray(value) ? value[part] : undefined
    else value = isJsonObject(value) ? ownMember(value, part) : undefined
  }
  return isJsonObject(value) ? value : undefined
}

/** A copy with another pod template at a path that leads to one. */
export function withPodTemplate(template: JsonObject, path: PodPath, pod: JsonObject): JsonObject {
  return replaced(template, path, pod) as JsonObject
}

function replaced(value: Json | undefined, [part, ...rest]: PodPath, pod: JsonObject): Json | undefined {
  if (part === undefined) return pod
  if (typeof part === 'number') {
    if (!isJsonArray(value) || part >= value.length) return value
    return value.map((item, index) => (index === part ? (replaced(item, rest, pod) ?? null) : item))
  }
  if (!isJsonObject(value) || !Object.hasOwn(value, part)) return value
  return { ...value, [part]: replaced(value[part], rest, pod) }
}
