/**
 * The scale subresource: an `autoscaling/v1` Scale for every kind that has replicas, so that an autoscaler need not
 * know the kind.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { ownMember } from '../../kube/json-member.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { formatLabels, labelsOf } from '../../kube/selector/selector.ts'
import { jsonName } from '../codec/go-decoding.ts'
import { invalidField as invalidValue } from '../../kube/validation/field-error.ts'
import { badRequest, internal, invalid } from '../errors/status-error.ts'
import type { ScalePaths } from './scale-paths.ts'
import type { StoredObject } from '../storage/storage.ts'

/** Stands for missing replicas of a custom object while its Scale is being written. */
const unset = -(2 ** 31)

export function scaleOf(object: StoredObject, paths: ScalePaths, isToBeWritten = false): UntypedObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const isUnset = paths.needed !== undefined && readAt(object as unknown as JsonObject, paths.replicas) === undefined
  if (isUnset && !isToBeWritten) throw internal(`the spec replicas field "${paths.needed}" does not exist`)
  const replicas = isUnset ? unset : numberAt(object, paths.replicas)
  const selector = selectorText(paths.selector && readAt(object as unknown as JsonObject, paths.selector))
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      uid,
      resourceVersion,
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    },
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: numberAt(object, paths.statusReplicas), ...(selector !== '' && { selector }) },
  }
}

/** The desired replicas of a Scale; `isWhole` if the client sent it, and it is not the result of a patch. */
export function checkReplicas(scale: JsonObject, { needed }: ScalePaths, isWhole = false): number {
  const spec = ownMember(scale, 'spec')
  const replicas = isJsonObject(spec) ? (spec['replicas'] ?? 0) : 0
  if (typeof replicas === 'number' && Number.isInteger(replicas)) return replicas
  // kube-apiserver's decoder for custom resources does not know the kind Scale.
  if (needed !== undefined && isWhole) {
    throw badRequest('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"')
  }
  const why = `json: cannot unmarshal ${jsonName(replicas)} into Go struct field ScaleSpec.spec.replicas of type int32`
  throw badRequest(`Scale in version "v1" cannot be handled as a Scale: ${why}`)
}

/** The object with the desired replicas of a Scale. */
export function withScale(object: StoredObject, scale: JsonObject, paths: ScalePaths): UntypedObject {
  const replicas = checkReplicas(scale, paths)
  if (replicas === unset && paths.needed !== undefined) {
    throw badRequest(`the spec replicas field "${paths.needed}" cannot be empty`)
  }
  // Custom resources are validated by their schema.
  if (replicas < 0 && paths.needed === undefined) {
    const problem = invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0')
    throw invalid({ group: 'autoscaling', kind: 'Scale' }, object.metadata.name, [problem])
  }
  return writeAt(object as unknown as JsonObject, paths.replicas, replicas) as unknown as UntypedObject
}

function numberAt(object: StoredObject, path: readonly string[]): number {
  const value = readAt(object as unknown as JsonObject, path)
  return typeof value === 'number' ? value : 0
}

export function readAt(object: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = object
  for (const member of path) value = isJsonObject(value) ? ownMember(value, member) : undefined
  return value
}

function writeAt(object: JsonObject, [member, ...rest]: readonly string[], value: Json): JsonObject {
  const inner = ownMember(object, member!)
  return { ...object, [member!]: rest.length === 0 ? value : writeAt(isJsonObject(inner) ? inner : {}, rest, value) }
}

/** The selector is a string in custom kinds, labels in ReplicationController, a label selector in the others. */
function selectorText(value: Json | undefined): string {
  if (typeof value === 'string') return value
  if (!isJsonObject(value)) return ''
  const isSpec = 'matchLabels' in value || 'matchExpressions' in value
  return formatLabels(labelsOf(isSpec ? value : { matchLabels: value as Readonly<Record<string, string>> }))
}
