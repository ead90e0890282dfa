/** The metadata in PartialObjectMetadata and in table rows. */
import type { UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from './catalog.ts'

/** Annotations that are fields in kube-apiserver's internal version, and therefore missing in partial metadata. */
const fields: Readonly<Record<string, RegExp>> = {
  'daemonsets.apps': /^deprecated\.daemonset\.template\.generation$/,
  'horizontalpodautoscalers.autoscaling': /^autoscaling\.alpha\.kubernetes\.io\//,
}

export function shownMetadata({ metadata }: UntypedObject, { table }: ServedResource): UntypedObject['metadata'] {
  const hidden = fields[table]
  if (!hidden || !metadata.annotations) return metadata
  const shown = Object.entries(metadata.annotations).filter(([name]) => !hidden.test(name))
  const { annotations: _annotations, ...rest } = metadata
  return shown.length > 0 ? { ...rest, annotations: Object.fromEntries(shown) } : rest
}
