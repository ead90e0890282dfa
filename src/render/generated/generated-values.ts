/**
 * Generated values: what a chart makes up while it renders (passwords, keys, certificates, ids, the time). They are stored once
 * per installation and used again by every later render: a resync or an upgrade must not change a password.
 *
 * A record is only ever added to. A value belongs to a site: the function, the lines of the templates that lead to the call, and
 * the elements of the loops around them. Sites are found again when lines move in a file and elements in a list. A site that is
 * not known takes over the value of one that is gone if it stands in its place: an edited line keeps its password.
 */
import type { CallSite, GeneratedValue, Generators } from '../template/services.ts'
import { earlierFamily, earlierPosition, hasLabel, isGone, labelOf, siteKey, stepText } from './site-key.ts'

/** Stored values by site. `moved SITE` is the site that took over the value of this one. */
export type GeneratedValues = Readonly<Record<string, GeneratedValue>>

interface GeneratedRecord {
  readonly generators: Generators
  /** The stored values and those that this render added. */
  values(this: void): GeneratedValues
}

export interface RecordSources {
  /** Bytes of cryptographic quality. */
  randomBytes(this: void, length: number): Uint8Array
}

/** A stored value. */
interface StoredSite {
  /** Under which it is stored. */
  readonly key: string
  readonly prefix: string
  readonly path: readonly string[]
  readonly count: string
  /** How many sites like it were before it in its render; values of earlier versions do not have it. */
  readonly ordinal: number | undefined
  readonly label: string | undefined
}

const movedPrefix = 'moved '

export function recordGenerated(stored: GeneratedValues, { randomBytes }: RecordSources): GeneratedRecord {
  const values = new Map(Object.entries(stored))
  const sites = new Map<string, StoredSite>()
  /** Families of earlier names that an earlier render replaced already: what is left of them belongs to nothing. */
  const replaced = new Set<string>()
  for (const key of values.keys()) {
    if (key.startsWith(movedPrefix)) replaced.add(key.slice(movedPrefix.length).replace(/ #\d+$/, ''))
    else sites.set(withoutOrder(key), storedSite(key))
  }
  const ordinals = createCounter()
  const earlierCounts = createCounter()

  const isFree = (key: string): boolean => values.has(key) && !values.has(movedPrefix + key)
  const earlier = (site: CallSite, count: number): string | undefined => {
    const family = earlierFamily(site)
    return isFree(`${family} #${count}`) && !replaced.has(family) ? `${family} #${count}` : undefined
  }
  const edited = (site: CallSite, ordinal: number): string | undefined => {
    const candidates = Array.from(sites.values()).filter((other) => isFree(other.key) && isReplacedBy(other, site))
    const label = labelOf(site)
    const labelled = candidates.filter((other) => other.label === label)
    if (labelled.length === 1) return labelled[0]!.key
    // Another line of the file may still have the label of a candidate.
    const others = candidates.filter((other) => other.label === undefined || !hasLabel(other.label, site))
    return inOrder(labelled.length > 0 ? labelled : others, ordinal)?.key
  }

  return {
    generators: {
      randomBytes,
      generate(site, create) {
        const key = siteKey(site)
        const ordinal = ordinals(likeness(site))
        const earlierCount = earlierCounts(earlierPosition(site))
        const known = sites.get(key)
        if (known) return values.get(known.key)!
        const full = `${key} @${ordinal}:${labelOf(site)}`
        const moved = earlier(site, earlierCount) ?? edited(site, ordinal)
        const value = moved === undefined ? create() : values.get(moved)!
        values.set(full, value)
        if (moved !== undefined) values.set(movedPrefix + moved, key)
        sites.set(key, storedSite(full))
        return value
      },
    },
    values: () => Object.fromEntries([...values].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  }
}

function createCounter(): (what: string) => number {
  const counts = new Map<string, number>()
  return (what) => {
    const count = counts.get(what) ?? 0
    counts.set(what, count + 1)
    return count
  }
}

const order = / @(\d+):(\d+:[0-9a-f]{8})$/

function withoutOrder(key: string): string {
  return key.replace(order, '')
}

function storedSite(key: string): StoredSite {
  const [, ordinal, label] = order.exec(key) ?? []
  const [, prefix = '', path = '', count = ''] = /^(\S+ \S+) (.*) #(\d+)$/s.exec(withoutOrder(key)) ?? []
  return {
    key,
    prefix,
    path: path.split(' < '),
    count,
    ordinal: ordinal === undefined ? undefined : Number(ordinal),
    label,
  }
}

/** Sites of which one may replace another: the same call in the same files, for the same elements. */
function likeness({ function: name, arguments: args, path }: CallSite): string {
  return [name, args, ...path.map((step) => (step.via === 'range' ? step.element : step.file))].join(' ')
}

/** Whether the stored site differs in lines that are gone, and in nothing else. */
function isReplacedBy({ prefix, path, count }: StoredSite, site: CallSite): boolean {
  if (prefix !== `${site.function} ${site.arguments.slice(0, 16)}`) return false
  if (count !== String(site.count) || path.length !== site.path.length) return false
  return site.path.every((step, index) => {
    const other = path[index]!
    return other === stepText(step) || (step.via !== 'range' && isGone(other, step))
  })
}

/** The one that was at the same place in the order. Where the order is not known, only a single one is certain. */
function inOrder(candidates: readonly StoredSite[], ordinal: number): StoredSite | undefined {
  const [first, ...others] = candidates.filter((other) => other.ordinal === undefined || other.ordinal === ordinal)
  return others.length === 0 ? first : undefined
}
