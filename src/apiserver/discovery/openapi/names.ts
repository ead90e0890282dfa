/** The names of schemas: `io.k8s.api.apps.v1.Deployment`, `com.example.v1.Widget`. */
import { builtinResource, type BuiltinSubresource } from '../../../kube/builtin.ts'
import type { GroupVersionKind } from '../../../kube/kind.ts'
import type { ServedResource } from '../../catalog/catalog.ts'

export const metaSchemas = 'io.k8s.apimachinery.pkg.apis.meta.v1'

/** The schema name of a resource's objects. */
export function schemaName(served: ServedResource): string {
  return served.custom ? customName(served) : (builtinResource(served)?.definition ?? customName(served))
}

export function listSchemaName(served: ServedResource): string {
  return served.custom ? customName({ ...served, kind: served.listKind }) : `${schemaName(served)}List`
}

/** The schema name of a subresource; undefined for byte streams. */
export function subresourceSchemaName(served: ServedResource, sub: BuiltinSubresource): string | undefined {
  if (!served.custom) return sub.definition
  return sub.name === 'scale' ? 'io.k8s.api.autoscaling.v1.Scale' : schemaName(served)
}

/** The group is reversed: `com.example`. */
function customName({ group, version, kind }: GroupVersionKind): string {
  return [...group.split('.').toReversed(), version, kind].join('.')
}
