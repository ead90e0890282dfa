/** Metadata as it is shown without the rest of its object: alone, or in the row of a table. */
import type { UntypedObject } from '../../kube/object.ts'
import type { ServedResource } from './catalog.ts'

/** Annotations that are fields to the server are not among those that it shows without the rest. */
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
