/** One change of a CRD that can harm stored objects, or programs that use them: the finding of an upgrade check. */
import { formatPointer } from '../../kube/patch/json-pointer.ts'

export interface UnsafeChange {
  /** The version whose schema changes; undefined for a change of the whole CRD. */
  readonly version: string | undefined
  /** A field of objects if there is a version (`spec.ports[].name`, empty for the object itself), else one of the CRD. */
  readonly field: string
  /** The place in the CRD, as a JSON pointer. */
  readonly path: string
  /** The CRD that has this place: the old one, if something is changed or removed; the new one, if something is added. */
  readonly in: 'before' | 'after'
  /** What changes: "maximum is lowered from 10 to 5". */
  readonly change: string
  /** Why that is unsafe. */
  readonly why: string
  /** `unjudged`: a difference that this check does not understand, or cannot decide. It may be harmless. */
  readonly verdict: 'unsafe' | 'unjudged'
}

/** One line: `v1 spec.size: maximum is lowered from 10 to 5: stored objects with larger values are refused`. */
export function describeUnsafeChange({ version, field, change, why }: UnsafeChange): string {
  const place = [version, field].filter(Boolean).join(' ')
  return `${place === '' ? '' : `${place}: `}${change}: ${why}`
}

/** A place in both CRDs. The paths differ where versions have another order, or a property takes the place of a map. */
export interface ChangePlace {
  readonly version: string | undefined
  readonly field: string
  /** Undefined if the old CRD says nothing here, and everything was allowed. */
  readonly before: readonly string[] | undefined
  readonly after: readonly string[]
}

export interface ChangeText {
  readonly change: string
  readonly why: string
  readonly verdict?: UnsafeChange['verdict']
}

/** Collects the changes that a comparison reports. */
export interface ChangeReport {
  readonly changes: UnsafeChange[]
}

/**
 * Reports a change of `key` at a place; it points at the old CRD if that has the key, else at the new one if that has it, else
 * at the place itself.
 */
export function reportChange(
  { changes }: ChangeReport,
  place: ChangePlace,
  { key, before, after }: { readonly key: string; readonly before: object; readonly after: object },
  { change, why, verdict = 'unsafe' }: ChangeText,
): void {
  const { version, field } = place
  const wasThere = place.before !== undefined && Object.hasOwn(before, key)
  const isThere = Object.hasOwn(after, key)
  const at = wasThere ? [...place.before, key] : isThere ? [...place.after, key] : place.after
  changes.push({ version, field, path: formatPointer(at), in: wasThere ? 'before' : 'after', change, why, verdict })
}
