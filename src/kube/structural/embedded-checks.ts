/** Metadata validation of objects that are embedded in custom resources: the same as for any object. */
import type { Cause } from '../validation/cause.ts'
import type { JsonObject } from '../json.ts'
import type { ObjectMeta } from '../object.ts'
import type { EmbeddedChecks } from './embedded.ts'
import { dns1035Label, pathSegment } from '../validation/name-validation.ts'
import { eachInvalid } from '../validation/field-error.ts'
import { metadataProblems } from '../validation/object-meta.ts'

export const embeddedChecks: EmbeddedChecks = {
  kind: dns1035Label,
  metadata: (metadata: JsonObject, field: string): readonly Cause[] => {
    const { name, generateName } = metadata as ObjectMeta
    const causes = [
      ...(generateName ? eachInvalid('metadata.generateName', generateName, pathSegment(generateName)) : []),
      ...(name ? eachInvalid('metadata.name', name, pathSegment(name)) : []),
      ...metadataProblems(metadata, true),
    ]
    const below = 'metadata'.length
    return causes.map(({ field: own = '', reason = '', message = '' }) => ({
      reason,
      message,
      field: field + own.slice(below),
    }))
  },
}
