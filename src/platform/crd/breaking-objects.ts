/**
 * Which stored objects would break under a new CRD? The check of the schemas says what may go wrong; this one says what does:
 * every object is pruned, defaulted and validated as the API server would do it, with the new schema.
 *
 * An API server ignores errors that an object already had while an update does not touch the field (ratcheting). Refused
 * means here: an update that writes the field again, or a new object of the same content, is refused.
 */
import { asJson } from '../../kube/json-object.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { KubeObject } from '../../kube/object.ts'
import { embeddedChecks } from '../../kube/structural/embedded-checks.ts'
import { structuralSchema } from '../../kube/structural/structural.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import { platformErrors } from '../errors.ts'
import { normalizeSchema } from './schema-form.ts'

interface BreakingObject {
  readonly name: string
  /** Undefined for objects of the cluster. */
  readonly namespace: string | undefined
  /** Fields that the new schema refuses, with the API server's words. Texts may repeat values of the object. */
  readonly refused: readonly { readonly field: string; readonly message: string }[]
  /** Fields that are pruned: `spec.ports[0].name`. */
  readonly lost: readonly string[]
}

/**
 * Those of the objects that break, in their order.
 *
 * @param version the version of `after` in which the objects will be stored; they are read in it without conversion
 * @throws UnknownVersion
 */
export function breakingObjects(
  after: CustomResourceDefinition,
  version: string,
  objects: readonly KubeObject[],
): readonly BreakingObject[] {
  const found = after.spec.versions.find(({ name }) => name === version)
  if (!found) {
    const known = after.spec.versions.map(({ name }) => name).join(', ')
    throw new MusterError(
      platformErrors.UnknownVersion,
      `The CRD ${after.metadata.name} has no version "${version}". It has: ${known}.`,
    )
  }
  const schema = structuralSchema(normalizeSchema(found.schema?.openAPIV3Schema ?? {}), {
    scale: found.subresources?.scale,
    embedded: embeddedChecks,
  })
  return objects.flatMap((object) => {
    const { object: pruned, unknown, problem } = schema.prune(asJson(object))
    const refused =
      problem === undefined
        ? schema.validate(schema.applyDefaults(pruned)).map(({ field = '', message = '' }) => ({ field, message }))
        : [{ field: 'metadata', message: problem }]
    if (refused.length === 0 && unknown.length === 0) return []
    const { name = '', namespace } = object.metadata
    return [{ name, namespace, refused, lost: unknown }]
  })
}
