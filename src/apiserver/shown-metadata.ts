/** Metadata as it is shown without the rest of its object: alone, or in the row of a table. */
import type { UntypedObject } from '../kube/object.ts'
import type { Served } from './catalog.ts'

/** An annotation that is a field to the server is not among those that it shows without the rest. */
export function shownMetadata({ metadata }: UntypedObject, { table }: Served): UntypedObject['metadata'] {
  if (table !== 'daemonsets.apps' || !metadata.annotations) return metadata
  const { 'deprecated.daemonset.template.generation': _generation, ...annotations } = metadata.annotations
  const { annotations: _annotations, ...rest } = metadata
  return Object.keys(annotations).length > 0 ? { ...rest, annotations } : rest
}
