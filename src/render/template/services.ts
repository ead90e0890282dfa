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
  /**
   * Position of the call: `chart/templates/secret.yaml:7:12`. In an included template it is followed by those of the includes:
   * `chart/templates/_helpers.tpl:3:5 < chart/templates/secret.yaml:7:12`.
   */
  readonly location: string
  /** How many generated values this location asked for before, in this render. */
  readonly count: number
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
