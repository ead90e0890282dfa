/**
 * Name patterns: `openshift-authentication/oauth-*`. A pattern has one part for cluster-scoped kinds and two for
 * namespaced ones; `*` may stand once in each part, for one character or more.
 */
import type { ObjectName } from '../../operator/view/view.ts'

export interface NamePattern {
  /** Absent: for cluster-scoped kinds. */
  readonly namespace: PartPattern | undefined
  readonly name: PartPattern
}

interface PartPattern {
  readonly prefix: string
  /** The text after the star; undefined without a star. */
  readonly suffix: string | undefined
}

/** The texts that the stars matched. */
interface Captured {
  readonly namespace: string
  readonly name: string
}

/** @returns undefined for an invalid pattern */
export function parsePattern(text: string): NamePattern | undefined {
  const parts = text.split('/').map(parsePart)
  const [first, second] = parts
  if (parts.length > 2 || parts.includes(undefined) || !first) return undefined
  return second ? { namespace: first, name: second } : { namespace: undefined, name: first }
}

function parsePart(text: string): PartPattern | undefined {
  const [prefix = '', suffix, ...rest] = text.split('*')
  return text === '' || rest.length > 0 ? undefined : { prefix, suffix }
}

export function capture(pattern: NamePattern, { namespace, name }: ObjectName): Captured | undefined {
  if ((pattern.namespace === undefined) !== (namespace === undefined)) return undefined
  const [inNamespace, inName] = [
    pattern.namespace ? capturePart(pattern.namespace, namespace!) : '',
    capturePart(pattern.name, name),
  ]
  return inNamespace === undefined || inName === undefined ? undefined : { namespace: inNamespace, name: inName }
}

export function fill(pattern: NamePattern, { namespace, name }: Captured): ObjectName {
  const filled = fillPart(pattern.name, name)
  return pattern.namespace ? { namespace: fillPart(pattern.namespace, namespace), name: filled } : { name: filled }
}

/** A part without a star captures the empty string, not undefined. */
export function capturePart({ prefix, suffix }: PartPattern, text: string): string | undefined {
  if (suffix === undefined) return text === prefix ? '' : undefined
  const isLongEnough = text.length > prefix.length + suffix.length
  if (!isLongEnough || !text.startsWith(prefix) || !text.endsWith(suffix)) return undefined
  return text.slice(prefix.length, text.length - suffix.length)
}

export function fillPart({ prefix, suffix }: PartPattern, captured: string): string {
  return suffix === undefined ? prefix : prefix + captured + suffix
}

/** A name that both patterns match; undefined if there is none. */
export function common(a: NamePattern, b: NamePattern): ObjectName | undefined {
  const name = commonPart(a.name, b.name)
  if (name === undefined) return undefined
  if (!a.namespace || !b.namespace) return a.namespace || b.namespace ? undefined : { name }
  const namespace = commonPart(a.namespace, b.namespace)
  return namespace === undefined ? undefined : { namespace, name }
}

function commonPart(a: PartPattern, b: PartPattern): string | undefined {
  if (a.suffix === undefined) return capturePart(b, a.prefix) === undefined ? undefined : a.prefix
  if (b.suffix === undefined) return capturePart(a, b.prefix) === undefined ? undefined : b.prefix
  // The longer prefix and suffix must contain the shorter ones; the text in between is free.
  const witness = `${longer(a.prefix, b.prefix)}x${longer(a.suffix, b.suffix)}`
  return capturePart(a, witness) === undefined || capturePart(b, witness) === undefined ? undefined : witness
}

function longer(a: string, b: string): string {
  return a.length >= b.length ? a : b
}

export function formatName({ namespace, name }: ObjectName): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}
