/** TaintNodesByCondition: a new node is tainted as not ready until its kubelet reports that it is. */
import type { UntypedObject } from '../../kube/object.ts'
import type { NodeSpec } from '../../kube/types/core/v1.ts'
import type { AdmissionPlugin } from '../cluster/admission.ts'

const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }

function withTaint(node: UntypedObject): UntypedObject {
  const { taints = [], ...spec } = (node['spec'] ?? {}) as NodeSpec
  if (taints.some(({ key, effect }) => key === notReady.key && effect === notReady.effect)) return node
  return { ...node, spec: { ...spec, taints: [...taints, notReady] } }
}

export const taintNodesByCondition: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  mutate: (_state, { operation, served, subresource, object }) =>
    operation === 'CREATE' && served.table === 'nodes' && subresource === '' ? withTaint(object) : object,
}
