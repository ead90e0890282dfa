/**
 * DefaultTolerationSeconds: a pod tolerates a node that is not ready or unreachable for five minutes (the node may only
 * be restarting), unless it sets these tolerations itself.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type { Pod, Toleration } from '../../../kube/types/core/v1.ts'
import type { AdmissionPlugin } from '../../cluster/admission.ts'

export const defaultTolerations: AdmissionPlugin = {
  name: 'DefaultTolerationSeconds',
  mutate: (_state, { served, subresource, object }) =>
    served.table === 'pods' && subresource === '' ? withDefaultTolerations(object) : object,
}

const nodeTaints = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
const tolerationSeconds = 300

/** The pod with the default tolerations; the same object when there is nothing to add. */
export function withDefaultTolerations(pod: UntypedObject): UntypedObject {
  const { spec = { containers: [] } } = pod as unknown as Pod
  const known = spec.tolerations ?? []
  const missing = nodeTaints.filter((key) => !known.some((toleration) => covers(toleration, key)))
  if (missing.length === 0) return pod
  const added = missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds }))
  return { ...pod, spec: { ...spec, tolerations: [...known, ...added] } }
}

function covers({ key, effect }: Toleration, taint: string): boolean {
  return (!key || key === taint) && (!effect || effect === 'NoExecute')
}
