/** Values of a YAML document with what JSON values do not say: the text of a scalar, the style of a collection. */

/**
 * A scalar with the text that stands in the document, if it is not how its value is written: `1.10`, `0777`, nothing for a null,
 * `2020-01-01` for a timestamp. A text in quotes, or in a block, is one whose value is its text.
 */
export class YamlScalar {
  readonly text: string
  readonly value: null | boolean | number | bigint | string

  constructor(text: string, value: null | boolean | number | bigint | string) {
    this.text = text
    this.value = value
  }
}

/** A JSON value in which a scalar may be a {@link YamlScalar}. Aliases share one value. */
export type YamlValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | YamlScalar
  | readonly YamlValue[]
  | { readonly [key: string]: YamlValue }

/** Mappings and lists that stand in the document as `{ }` and `[ ]`. */
const flowCollections = new WeakSet<object>()

export function markAsFlow(collection: object): void {
  flowCollections.add(collection)
}

/** Whether a mapping or a list of a document stands there as `{ }` or `[ ]`. */
export function isFlowCollection(collection: object): boolean {
  return flowCollections.has(collection)
}
