/** What a render takes from outside: random values, keys, the time and live objects. */

/** A value that differs from call to call, as it can be stored. */
export type GeneratedValue = string | number | readonly string[]

/**
 * The source of values that differ from call to call: passwords, keys, certificates, the time. They are asked for by call site,
 * so that a caller can store the answers of one render and give the same ones in the next.
 */
export interface Generators {
  /** Bytes of cryptographic quality. */
  randomBytes(length: number): Uint8Array
  /** The value of a call: a new one from `create`, or the one that was created for this site before. */
  generate(site: CallSite, create: () => GeneratedValue): GeneratedValue
}

/** Where a template asks for a generated value. */
export interface CallSite {
  /** The function: `randAlphaNum`. */
  readonly function: string
  /** A digest of its arguments: with other arguments another value is asked for. */
  readonly arguments: string
  /** The call, then what led to it: the innermost first. */
  readonly path: readonly CallStep[]
  /** How many generated values this path asked for before, in this render. */
  readonly count: number
}

/** One step of the path to a call: a place in a template, or the element that a `range` is at. */
export type CallStep = CallPlace | RangeElement

export interface CallPlace {
  /** What is at this place: the call itself, or what executes the template of the step before. */
  readonly via: 'call' | 'include' | 'template' | 'tpl'
  /** `chart/templates/secret.yaml`. */
  readonly file: string
  /** The whole text of the file, or of the argument of `tpl`. */
  readonly text: string
  /** From 1. */
  readonly line: number
  /** In bytes. */
  readonly column: number
}

export interface RangeElement {
  readonly via: 'range'
  /** Identifies the element, wherever it stands in its list. */
  readonly element: string
}

/** Reads live objects: one by name, or all of a kind (as a list object) if the name is empty. */
export type Lookup = (apiVersion: string, kind: string, namespace: string, name: string) => unknown

export interface RenderServices {
  /** Milliseconds since the epoch. */
  now(): number
  /** The time zone of dates without one. */
  readonly zone: string
  /** Without it `lookup` finds nothing. */
  readonly lookup: Lookup | undefined
  randomBytes(length: number): Uint8Array
  /** A value for the call that is being executed. @param args by which the value is identified */
  generate<Value extends GeneratedValue>(name: string, args: readonly unknown[], create: () => Value): Value
}
