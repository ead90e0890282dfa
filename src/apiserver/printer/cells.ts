/**
 * The columns of a kind: a record from column name to a function that returns an object's cell. The type, description
 * and priority (`-o wide`) of a column are data, in `columns.json`.
 */
import type { ObjectMeta, UntypedObject } from '../../kube/object.ts'
import { parseTime } from '../../kube/units/duration.ts'
import { formatLabels, labelsOf, type LabelSelectorSpec } from '../../kube/selector/selector.ts'
import { formatAge } from './age.ts'

export type Cell = string | number | boolean | null

export interface PrintContext {
  readonly now: number
  /** All objects of the table; empty for a single object. */
  readonly list: readonly UntypedObject[]
}

/** The columns of a kind, in order. */
export type Columns<T> = Readonly<Record<string, (object: T, context: PrintContext) => Cell>>

interface Named {
  readonly metadata?: ObjectMeta
}

export function nameCell({ metadata }: Named): string {
  return metadata?.name ?? ''
}

export function age({ metadata }: Named, { now }: PrintContext): string {
  return since(metadata?.creationTimestamp, now)
}

/** The age of a timestamp. */
export function since(time: string | undefined, now: number): string {
  const at = time === undefined ? undefined : parseTime(time)
  return at === undefined ? '<unknown>' : formatAge(now - at)
}

export function orNone(text: string | undefined): string {
  return text === undefined || text === '' ? '<none>' : text
}

export function joined(texts: readonly string[] | undefined): string {
  return (texts ?? []).join(',')
}

/** The first `most` texts, and the number of the others. */
export function fewOf(texts: readonly string[], most: number, separator = ','): string {
  const shown = texts.slice(0, most).join(separator)
  return texts.length > most ? `${shown} + ${texts.length - most} more...` : shown
}

export function labelText(labels: Readonly<Record<string, string>> | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`)
  return orNone(pairs.toSorted().join(','))
}

export function selectorText(selector: LabelSelectorSpec | undefined): string {
  return orNone(selectorCell(selector) ?? '<error>')
}

/** The text of a selector; undefined if it is invalid. */
export function selectorCell(selector: LabelSelectorSpec | undefined): string | undefined {
  if (selector === undefined) return ''
  try {
    return formatLabels(labelsOf(selector))
  } catch {
    return undefined
  }
}

interface Container {
  readonly name: string
  readonly image?: string
}

interface Template {
  readonly spec?: { readonly containers?: readonly Container[] }
}

export function containerNames(template: Template | undefined): string {
  return (template?.spec?.containers ?? []).map((container) => container.name).join(',')
}

export function containerImages(template: Template | undefined): string {
  return (template?.spec?.containers ?? []).map(({ image = '' }) => image).join(',')
}
