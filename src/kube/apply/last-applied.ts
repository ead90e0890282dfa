/**
 * Coming from client-side apply. `kubectl apply` used to keep the configuration it applied in an annotation. When
 * kubectl then applies server-side, it would conflict with its own former self (an update by another manager name);
 * conflicts over fields that the annotation proves to be kubectl's, and that nobody changed since, are therefore
 * forced. While the annotation is there, it is kept up to date, so that one can also go back.
 */
import { isMusterError } from '../errors.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../json.ts'
import type { KubeObject } from '../object.ts'
import { canonicalJson } from './canonical.ts'
import { compareValues } from './comparison.ts'
import { checkConforms } from './conformance.ts'
import { difference, type FieldSet } from './field-set.ts'
import { fieldSetOf } from './value-fields.ts'
import type { Versioned } from './version.ts'

/** The only manager for whom the annotation counts. */
export const kubectl = 'kubectl'

export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'

/** Fields that the annotation says were applied, and that still are what it says; `undefined` when it says nothing. */
export function fieldsOfLastApplied(live: Versioned, annotation: string | undefined): FieldSet | undefined {
  if (!annotation) return undefined
  const applied = parseObject(annotation)
  if (!applied || applied['apiVersion'] !== live.apiVersion) return undefined
  try {
    checkConforms(live.value, live.shape)
    checkConforms(applied, live.shape)
  } catch (error) {
    if (isMusterError(error, 'SchemaMismatch')) return undefined
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

/** The most that all annotations of an object may hold. */
const mostAnnotationBytes = 256 * 1024

/** `object` with the annotation telling what was applied just now, if it has the annotation at all. */
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
