/**
 * Migration from client-side apply. `kubectl apply` stored the applied configuration in an annotation. When kubectl then
 * applies server-side, it would conflict with its own earlier updates (under another manager name); conflicts over fields
 * that the annotation proves to be kubectl's, and that were not changed since, are therefore forced. While the annotation
 * exists it is kept up to date, so that going back is possible.
 */
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../json.ts'
import type { KubeObject } from '../object.ts'
import { canonicalJson } from './canonical.ts'
import { compareValues } from './comparison.ts'
import { checkConforms } from './conformance.ts'
import { difference, type FieldSet } from './field-set.ts'
import { fieldSetOf } from './value-fields.ts'
import type { Versioned } from './version.ts'

/** The only field manager to which the annotation applies. */
export const kubectl = 'kubectl'

export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'

/** Fields that the annotation lists and that still have its values; `undefined` if there is none. */
export function fieldsOfLastApplied(live: Versioned, annotation: string | undefined): FieldSet | undefined {
  if (!annotation) return undefined
  const applied = parseObject(annotation)
  if (!applied || applied['apiVersion'] !== live.apiVersion) return undefined
  try {
    checkConforms(live.value, live.shape)
    checkConforms(applied, live.shape)
  } catch (error) {
    if (isMusterError(error, kubeErrors.SchemaMismatch)) return undefined
    throw error
  }
  const { added, modified, removed } = compareValues(applied, live.value, live.shape)
  return [modified, added, removed].reduce(difference, fieldSetOf(applied, live.shape))
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text)
    return isJsonObject(value) && typeof value['kind'] === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** Size limit of all annotations of an object. */
const mostAnnotationBytes = 256 * 1024

/** `object` with an updated annotation, if it has one. */
export function withLastApplied<T extends KubeObject>(object: T, applied: KubeObject): T {
  const annotations = object.metadata.annotations
  if (!annotations?.[lastAppliedAnnotation]) return object
  const { [lastAppliedAnnotation]: _old, ...others } = annotations
  const { [lastAppliedAnnotation]: _own, ...appliedOthers } = applied.metadata.annotations ?? {}
  const config = applied.metadata.annotations
    ? { ...applied, metadata: { ...applied.metadata, annotations: appliedOthers } }
    : applied
  const text = `${canonicalJson(config as unknown as Json)}\n`
  const updated = { ...others, [lastAppliedAnnotation]: text }
  const fits = bytesOf(updated) <= mostAnnotationBytes
  return { ...object, metadata: { ...object.metadata, annotations: fits ? updated : others } }
}

function bytesOf(annotations: Readonly<Record<string, string>>): number {
  const encoder = new TextEncoder()
  let bytes = 0
  for (const [name, value] of Object.entries(annotations)) {
    bytes += encoder.encode(name).length + encoder.encode(value).length
  }
  return bytes
}
