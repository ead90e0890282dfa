/** A cache event as a change of an input. */
import type { CacheEvent } from '../../cache/subscription.ts'
import type { Resource } from '../../kube/kind.ts'
import type { InputChange } from '../../operator/view/view.ts'

export function changeOf(resource: Resource, event: CacheEvent): InputChange {
  const { object, type, version } = event
  if (type === 'deleted') return { resource, before: object, after: undefined, version }
  if (type === 'added') return { resource, before: undefined, after: object, version }
  return { resource, before: event.previous, after: object, version, isHidden: event.isHidden }
}
