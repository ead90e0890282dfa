/** Tables: what `kubectl get` prints. So far each has two columns, whatever the kind. */
import type { ListMeta, UntypedObject } from '../kube/object.ts'
import type { Dressing } from './representation.ts'

const columnDefinitions = [
  { name: 'Name', type: 'string', format: 'name', description: 'The name of the object', priority: 0 },
  { name: 'Age', type: 'string', format: '', description: 'How long ago the object was created', priority: 0 },
] as const

export function tableOf(objects: readonly UntypedObject[], metadata: ListMeta, dressing: Dressing): unknown {
  const rows = objects.map((object) => {
    const { name = '', creationTimestamp } = object.metadata
    const created = creationTimestamp === undefined ? Number.NaN : Date.parse(creationTimestamp)
    const cells = [name, Number.isNaN(created) ? '<unknown>' : formatAge(dressing.now - created)]
    return dressing.includeObject === 'None' ? { cells } : { cells, object: rowObject(object, dressing) }
  })
  return { kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata, columnDefinitions, rows }
}

function rowObject(object: UntypedObject, { includeObject }: Dressing): unknown {
  if (includeObject === 'Object') return object
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata }
}

/** Two units at most, and one where the second would say nothing of interest: `90s`, `5m30s`, `12m`, `3h20m`, `4d`. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  const pair = (large: number, unit: string, small: number, smallUnit: string): string =>
    small === 0 ? `${large}${unit}` : `${large}${unit}${small}${smallUnit}`
  if (seconds < 120) return `${seconds}s`
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  if (days < 8) return pair(days, 'd', hours % 24, 'h')
  if (days < 730) return `${days}d`
  const years = Math.floor(days / 365)
  return years < 8 ? pair(years, 'y', days % 365, 'd') : `${years}y`
}
