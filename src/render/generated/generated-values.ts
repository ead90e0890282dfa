/**
 * Generated values: what a chart makes up while it renders (passwords, keys, certificates, ids, the time). They are stored once
 * per installation and used again by every later render: a resync or an upgrade must not change a password.
 *
 * A record is only ever added to. A value belongs to a site: the function, the lines of the templates that lead to the call, and
 * how often they did. Sites are found again when lines move in a file.
 */
import { createHash } from 'node:crypto'
import type { CallSite, GeneratedValue, Generators } from '../template/services.ts'

/** Stored values by site. */
export type GeneratedValues = Readonly<Record<string, GeneratedValue>>

export interface GeneratedRecord {
  readonly generators: Generators
  /** The stored values and those that this render added. */
  values(this: void): GeneratedValues
}

export interface RecordSources {
  /** Bytes of cryptographic quality. */
  randomBytes(this: void, length: number): Uint8Array
  /** The text of a template by name. */
  template(this: void, name: string): string | undefined
}

export function recordGenerated(stored: GeneratedValues, { randomBytes, template }: RecordSources): GeneratedRecord {
  const values = new Map(Object.entries(stored))
  const lines = new Map<string, readonly string[]>()
  /** `file:line:column` with the text of the line instead of its number; equal lines are counted. */
  const stableLocation = (location: string): string => {
    const [, file = '', line = '', column = ''] = /^(.*):(\d+):(\d+)$/.exec(location) ?? []
    const all = lines.get(file) ?? (template(file) ?? '').split('\n').map((each) => each.trim())
    lines.set(file, all)
    const text = all[Number(line) - 1]
    if (text === undefined) return location
    const before = all.slice(0, Number(line) - 1).filter((each) => each === text).length
    return `${file} ${digest(text)}${before > 0 ? `/${before}` : ''}+${column}`
  }
  const keyOf = (site: CallSite): string => {
    const path = site.location.split(' < ').map(stableLocation)
    return `${site.function} ${site.arguments.slice(0, 16)} ${path.join(' < ')} #${site.count}`
  }
  return {
    generators: {
      randomBytes,
      generate(site, create) {
        const key = keyOf(site)
        const known = values.get(key)
        if (known !== undefined) return known
        const made = create()
        values.set(key, made)
        return made
      },
    },
    values: () => Object.fromEntries([...values].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
