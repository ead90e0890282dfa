/** What the server has against objects that are embedded in custom ones: the same as against any other. */
import type { Cause } from '../../kube/cause.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { ObjectMeta } from '../../kube/object.ts'
import type { EmbeddedChecks } from '../../kube/structural/embedded.ts'
import { dns1035Label, pathSegment } from '../kinds/name-format.ts'
import { eachInvalid } from '../kinds/problem.ts'
import { metadataProblems } from '../object-meta.ts'

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
