/**
 * Masks secrets in plans: all data of Secrets, and every text elsewhere that contains a value of a Secret that was
 * read. The two sides of a diff are masked together, so that it still shows whether they differ.
 */
import { type Hide, hidingValues } from '../../kube/text/hidden-text.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { hashAnnotation } from '../../operator/dependent/desired.ts'
import type { ViewSource } from '../../operator/view/view.ts'
import { isSecret, secretValues } from '../../operator/view/secret-redaction.ts'

export const maskedValue = '(secret)'
export const otherMasked = '(another secret)'

/** Values of Secrets that were read or would be written. */
interface MetSecrets {
  readonly values: ReadonlySet<string>
  note(object: KubeObject | undefined): void
}

export function meetSecrets(): MetSecrets {
  const values = new Set<string>()
  return {
    values,
    note(object) {
      if (!object || !isSecret(object)) return
      for (const value of secretValues(object as UntypedObject)) values.add(value)
    },
  }
}

/** A view source that records the Secrets that are read through it. */
export function noting(source: ViewSource, secrets: MetSecrets): ViewSource {
  const noted = (objects: readonly KubeObject[]): readonly KubeObject[] => {
    for (const object of objects) secrets.note(object)
    return objects
  }
  return {
    get(resource, name) {
      const found = source.get(resource, name)
      secrets.note(found)
      return found
    },
    list: (resource, namespace) => noted(source.list(resource, namespace)),
    byOwner: (resource, uid) => noted(source.byOwner(resource, uid)),
    serves: (resource) => source.serves(resource),
  }
}

export interface Pair {
  readonly before: JsonObject | undefined
  readonly after: JsonObject | undefined
}

export function mask(pair: Pair, values: ReadonlySet<string>): Pair {
  const identity = (pair.after ?? pair.before) as unknown as UntypedObject
  if (isSecret(identity)) return maskBoth(pair, isHeldBySecret)
  const shown = maskBoth(pair, (path, text) => !isIdentity(path) && holds(text, values))
  const isTouched = !equalJson(shown.before, pair.before) || !equalJson(shown.after, pair.after)
  // A hash of a secret would allow it to be guessed.
  return isTouched ? maskBoth(shown, isMark) : shown
}

function maskBoth({ before, after }: Pair, hides: Hides): Pair {
  return {
    before: maskSide(before, undefined, hides, []) as JsonObject | undefined,
    after: maskSide(after, before, hides, []) as JsonObject | undefined,
  }
}

/** Annotations as well: `kubectl apply` stores a copy of the object there. */
function isHeldBySecret([first, second]: readonly string[]): boolean {
  return first === 'data' || first === 'stringData' || (first === 'metadata' && second === 'annotations')
}

function isMark([first, second, third]: readonly string[]): boolean {
  return first === 'metadata' && second === 'annotations' && third === hashAnnotation
}

type Hides = (path: readonly string[], text: string) => boolean

/** `other` is the value on the other side: masks of different values differ. */
function maskSide(
  value: Json | undefined,
  other: Json | undefined,
  hides: Hides,
  path: readonly string[],
): Json | undefined {
  if (isJsonArray(value)) {
    const others = isJsonArray(other) ? other : []
    return value.map((item, index) => maskSide(item, others[index], hides, [...path, String(index)]) ?? null)
  }
  if (isJsonObject(value)) {
    const others = isJsonObject(other) ? other : undefined
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        maskSide(member, ownMember(others, name), hides, [...path, name]) ?? null,
      ]),
    )
  }
  if (value === undefined || value === null || !hides(path, String(value))) return value
  return other === undefined || equalJson(value, other) ? maskedValue : otherMasked
}

const identities: ReadonlySet<string> = new Set(['apiVersion', 'kind'])

/** The name of an object is not secret, even if a Secret contains it. */
function isIdentity([first = '', second = '']: readonly string[]): boolean {
  return identities.has(first) || (first === 'metadata' && (second === 'name' || second === 'namespace'))
}

function holds(text: string, values: ReadonlySet<string>): boolean {
  return hidingFor(values)(text) !== text
}

/** The same for messages. Mask before truncating, not after. */
export function maskText(text: string, values: ReadonlySet<string>): string {
  return hidingFor(values)(text)
}

const made = new WeakMap<ReadonlySet<string>, { readonly size: number; readonly hide: Hide }>()

/** Cached by size: values are only ever added to a set. */
function hidingFor(values: ReadonlySet<string>): Hide {
  const known = made.get(values)
  if (known?.size === values.size) return known.hide
  const hide = hidingValues(values, maskedValue)
  made.set(values, { size: values.size, hide })
  return hide
}
