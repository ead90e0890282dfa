/**
 * Images rewritten to others: a registry of one's own, a mirror, a localized copy. A pure function of rendered objects.
 *
 * A rule names an image as it is written in the objects, and the one to use. Images of containers of all kinds are rewritten
 * wherever they occur in an object, so that pod templates of custom kinds count, too; and environment variables whose value is
 * exactly the image, since operators are told the images of their workloads that way.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'

export interface ImageRule {
  /** A name with any tag (`registry.example.com/web`), or with one (`…/web:1.2`). A first part `*` stands for any registry. */
  readonly from: string
  /** A name keeps tag and digest of the image; a name with a tag or a digest replaces both. */
  readonly to: string
}

interface ImageName {
  readonly name: string
  readonly tag: string | undefined
  readonly digest: string | undefined
}

interface ParsedRule {
  readonly from: ImageName
  readonly to: ImageName
}

/** The first rule that fits decides; what it gives is not rewritten again. */
export function withImages<T extends JsonObject>(object: T, rules: readonly ImageRule[]): T {
  if (rules.length === 0) return object
  return rewritten(
    object,
    rules.map(({ from, to }) => ({ from: parseImage(from), to: parseImage(to) })),
  ) as T
}

const containerLists = new Set(['containers', 'initContainers', 'ephemeralContainers'])

/** The same value, if nothing in it changes. */
function rewritten(value: Json, rules: readonly ParsedRule[]): Json {
  if (Array.isArray(value)) return mapped(value as readonly Json[], (item) => rewritten(item, rules))
  if (!isJsonObject(value)) return value
  return changedMembers(value, (name, member) => {
    const below = rewritten(member, rules)
    if (!Array.isArray(below)) return below
    const items = below as readonly Json[]
    if (containerLists.has(name)) return mapped(items, (item) => rewrittenContainer(item, rules))
    return name === 'volumes' ? mapped(items, (item) => rewrittenVolume(item, rules)) : below
  })
}

function rewrittenContainer(container: Json, rules: readonly ParsedRule[]): Json {
  if (!isJsonObject(container)) return container
  return changedMembers(container, (name, member) => {
    if (name === 'image' && typeof member === 'string') return imageBy(member, rules)
    if (name !== 'env' || !Array.isArray(member)) return member
    const safe = rules.filter(({ from }) => isDistinct(from))
    return mapped(member as readonly Json[], (variable) =>
      isJsonObject(variable)
        ? changedMembers(variable, (field, text) =>
            field === 'value' && typeof text === 'string' && isWhole(parseImage(text)) ? imageBy(text, safe) : text,
          )
        : variable,
    )
  })
}

/** An image as a volume: `image.reference`. */
function rewrittenVolume(volume: Json, rules: readonly ParsedRule[]): Json {
  if (!isJsonObject(volume) || !isJsonObject(volume['image'])) return volume
  return changedMembers(volume, (name, member) =>
    name === 'image' && isJsonObject(member)
      ? changedMembers(member, (field, text) =>
          field === 'reference' && typeof text === 'string' ? imageBy(text, rules) : text,
        )
      : member,
  )
}

/** In an environment variable `redis:6379` is an address: a rule must say more than a single word. */
function isDistinct({ name, tag, digest }: ImageName): boolean {
  return tag !== undefined || digest !== undefined || (name.includes('/') && !name.startsWith(anyRegistry))
}

function isWhole({ tag, digest }: ImageName): boolean {
  return tag !== undefined || digest !== undefined
}

function imageBy(text: string, rules: readonly ParsedRule[]): string {
  const image = parseImage(text)
  const rule = rules.find(({ from }) => fits(image, from))
  if (!rule) return text
  const { to } = rule
  return formatImage(isWhole(to) ? to : { ...image, name: to.name })
}

const anyRegistry = '*/'

function fits(image: ImageName, { name, tag, digest }: ImageName): boolean {
  const last = name.slice(anyRegistry.length)
  const isNamed = name.startsWith(anyRegistry)
    ? image.name === last || image.name.endsWith(`/${last}`)
    : image.name === name
  return isNamed && (tag === undefined || tag === image.tag) && (digest === undefined || digest === image.digest)
}

/** A colon before the last slash belongs to the port of the registry. */
export function parseImage(text: string): ImageName {
  const at = text.indexOf('@')
  const [named, digest] = at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
  const colon = named.lastIndexOf(':')
  if (colon <= named.lastIndexOf('/')) return { name: named, tag: undefined, digest }
  return { name: named.slice(0, colon), tag: named.slice(colon + 1), digest }
}

function formatImage({ name, tag, digest }: ImageName): string {
  return `${name}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`
}

function mapped(items: readonly Json[], change: (item: Json) => Json): readonly Json[] {
  const changed = items.map(change)
  return changed.some((item, index) => item !== items[index]) ? changed : items
}

function changedMembers(object: JsonObject, change: (name: string, member: Json) => Json): JsonObject {
  const members = Object.entries(object).map(([name, member]) => [name, change(name, member!)] as const)
  if (members.every(([name, member]) => member === object[name])) return object
  return Object.fromEntries(members)
}
