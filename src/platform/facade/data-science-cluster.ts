/**
 * The kind DataScienceCluster of Open Data Hub, as a façade. Its two versions have one schema and no conversion: a component is an
 * entry of `spec.components` in both, so that what was written at one version reads the same at the other, and nothing that a
 * manifest has is lost. That a component has another name in v2 (`aipipelines`) is a matter of the catalogue.
 */
import type { Json } from '../../kube/json.ts'
import type { Named } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { boolean, list, map, object, optional, schemaField, string } from '../../operator/kind/field.ts'
import { defineKind, type Kind, type StandardStatus } from '../../operator/kind/kind.ts'
import { facadeAnnotation } from './facade-names.ts'

export interface DataScienceClusterObject extends Named {
  readonly spec: { readonly components?: Readonly<Record<string, ClusterComponent>> }
  readonly status?: DataScienceClusterStatus
}

/** Fields beside it are kept as they are, and have no effect. */
interface ClusterComponent {
  readonly managementState?: 'Managed' | 'Unmanaged' | 'Removed' | ''
  readonly [field: string]: Json | undefined
}

interface DataScienceClusterStatus extends StandardStatus {
  readonly phase?: string
  readonly components?: Readonly<Record<string, ComponentStatus>>
  readonly installedComponents?: Readonly<Record<string, boolean>>
}

export interface ComponentStatus {
  readonly managementState: string
  readonly releases?: readonly { readonly name: string; readonly version: string }[]
}

interface DataScienceClusterKind extends TypedResource<DataScienceClusterObject>, Pick<Kind, 'definition' | 'crd'> {}

const version = {
  spec: {
    components: optional(
      map(
        schemaField<ClusterComponent>({
          type: 'object',
          properties: { managementState: { type: 'string', enum: ['Managed', 'Unmanaged', 'Removed', ''] } },
          'x-kubernetes-preserve-unknown-fields': true,
        }),
        { maxProperties: 200 },
      ),
    ),
  },
  status: {
    phase: optional(string()),
    components: optional(
      map(
        object({
          managementState: string(),
          releases: optional(list(object({ name: string(), version: string() }))),
        }),
      ),
    ),
    installedComponents: optional(map(boolean())),
  },
  columns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
  ],
} as const

export const DataScienceCluster: DataScienceClusterKind = defineKind({
  group: 'datasciencecluster.opendatahub.io',
  version: 'v2',
  kind: 'DataScienceCluster',
  scope: 'Cluster',
  shortNames: ['dsc'],
  annotations: { [facadeAnnotation]: 'open-data-hub' },
  description: 'Components of Open Data Hub, mapped onto Platform default.',
  ...version,
  otherVersions: [{ version: 'v1', ...version }],
})
