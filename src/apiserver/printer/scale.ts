/** The columns of `kubectl get --subresource=scale`. */
import type { UntypedObject } from '../../kube/object.ts'
import { age } from './cells.ts'
import { type ColumnDefinition, columnDefinitions } from './columns.ts'

export function scaleTable(scale: UntypedObject, now: number): unknown {
  const { spec, status } = scale as unknown as {
    readonly spec: { readonly replicas?: number }
    readonly status: { readonly replicas: number }
  }
  const { name = '', resourceVersion = '' } = scale.metadata
  const known = columnDefinitions('deployments.apps')
  const describedAs = (column: string): string => known.find((one) => one.name === column)?.description ?? ''
  const column = (called: string, type: string, description: string): ColumnDefinition => ({
    name: called,
    type,
    format: '',
    description,
    priority: 0,
  })
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion },
    columnDefinitions: [
      column('Name', 'string', describedAs('Name')),
      column('Desired', 'integer', 'replicas is the desired number of instances for the scaled object.'),
      column('Available', 'integer', 'replicas is the actual number of observed instances of the scaled object.'),
      column('Age', 'string', describedAs('Age')),
    ],
    rows: [
      {
        cells: [name, spec.replicas ?? 0, status.replicas, age(scale, { now, list: [] })],
        object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: scale.metadata },
      },
    ],
  }
}
