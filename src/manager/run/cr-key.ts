/** The key of a CR, as the work queue knows it: `namespace/name`, and `/name` for a cluster-scoped one. */
import type { KubeObject, ObjectMeta } from '../../kube/object.ts'
import type { ObjectName } from '../../operator/view/view.ts'

export function crKey({ metadata: { namespace = '', name = '' } }: KubeObject): string {
  return `${namespace}/${name}`
}

export function crName(key: string): ObjectName {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash) || undefined, name: key.slice(slash + 1) }
}

/** Whether spec, labels or annotations have changed; a status update alone does not count. */
export function isSpecChange(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
  const [old, now] = [before?.metadata, after?.metadata]
  if (!old || !now || old.generation !== now.generation) return true
  const text = ({ labels, annotations }: ObjectMeta): string => JSON.stringify([labels, annotations])
  return text(old) !== text(now)
}
