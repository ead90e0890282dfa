/**
 * Reads the fields of an object that is to be imported, and remembers which ones: those that nothing read are noted at the end.
 * So a field is carried over, or the user is told; it is never lost in silence.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'

/** Something that could not be carried over. */
export interface ImportNote {
  /** `HelmRelease default/web`. */
  readonly object: string
  /** `spec.postRenderers`; empty for the whole object. */
  readonly field: string
  readonly why: string
}

/** Why fields that an import knows are not carried over, by path. */
export type KnownFields = Readonly<Record<string, string>>

export class FieldReader {
  readonly #root: JsonObject
  readonly #about: string
  readonly #notes: ImportNote[]
  readonly #read = new Set<string>()

  constructor(root: JsonObject, about: string, notes: ImportNote[]) {
    this.#root = root
    this.#about = about
    this.#notes = notes
  }

  note(field: string, why: string): void {
    this.#notes.push({ object: this.#about, field, why })
  }

  /** The field and all below it count as read. Paths are dotted: names of fields have no dots. */
  value(path: string): Json | undefined {
    this.#read.add(path)
    let value: Json | undefined = this.#root
    for (const name of path.split('.')) value = isJsonObject(value) ? ownMember(value, name) : undefined
    return value ?? undefined
  }

  /** Whether it is set. It does not count as read. */
  has(path: string): boolean {
    const wasRead = this.#read.has(path)
    const value = this.value(path)
    if (!wasRead) this.#read.delete(path)
    return value !== undefined
  }

  text(path: string): string | undefined {
    return this.#typed(path, 'text', (value) => typeof value === 'string' && value !== '') as string | undefined
  }

  flag(path: string): boolean | undefined {
    return this.#typed(path, 'true or false', (value) => typeof value === 'boolean') as boolean | undefined
  }

  integer(path: string): number | undefined {
    return this.#typed(path, 'an integer', Number.isSafeInteger) as number | undefined
  }

  object(path: string): JsonObject | undefined {
    return this.#typed(path, 'an object', isJsonObject) as JsonObject | undefined
  }

  /** Texts of a list; others are noted. */
  texts(path: string): readonly string[] {
    return this.#list(path).filter((item, index): item is string => {
      if (typeof item === 'string') return true
      this.note(`${path}[${index}]`, 'it is not text')
      return false
    })
  }

  /** A reader for each object of a list. What they do not read is noted when they are closed. */
  each<T>(path: string, known: KnownFields, read: (item: FieldReader, index: number) => T | undefined): readonly T[] {
    return this.#list(path).flatMap((item, index) => {
      const place = `${path}[${index}]`
      if (!isJsonObject(item)) {
        this.note(place, 'it is not an object')
        return []
      }
      const own: ImportNote[] = []
      const reader = new FieldReader(item, this.#about, own)
      const found = read(reader, index)
      reader.close(known)
      for (const { field, why } of own) this.note(field === '' ? place : `${place}.${field}`, why)
      return found === undefined ? [] : [found]
    })
  }

  /** Notes every field that was not read: with the reason that is known, or as unknown. */
  close(known: KnownFields): void {
    this.#closeBelow(this.#root, '', known)
  }

  #closeBelow(object: JsonObject, above: string, known: KnownFields): void {
    for (const [name, value] of Object.entries(object)) {
      const path = above === '' ? name : `${above}.${name}`
      if (value === undefined || value === null || this.#read.has(path)) continue
      const isPartlyRead = isJsonObject(value) && this.#hasReadBelow(path, known)
      if (isPartlyRead) this.#closeBelow(value, path, known)
      else this.note(path, reasonFor(path, known) ?? 'the import does not know this field')
    }
  }

  #hasReadBelow(path: string, known: KnownFields): boolean {
    const prefix = `${path}.`
    return [...this.#read, ...Object.keys(known)].some((one) => one.startsWith(prefix))
  }

  #list(path: string): readonly Json[] {
    return (this.#typed(path, 'a list', isJsonArray) as readonly Json[] | undefined) ?? []
  }

  #typed(path: string, what: string, isRight: (value: Json) => boolean): Json | undefined {
    const value = this.value(path)
    if (value === undefined || value === '') return undefined
    if (isRight(value)) return value
    this.note(path, `it is not ${what}`)
    return undefined
  }
}

/** The reason for the field, or for the nearest one above it. */
function reasonFor(path: string, known: KnownFields): string | undefined {
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const above = path.slice(0, end)
    if (Object.hasOwn(known, above)) return known[above]
  }
  return undefined
}
