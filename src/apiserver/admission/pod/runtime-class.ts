/** RuntimeClass: sets the overhead and the scheduling constraints of the runtime class that a pod names. */
import { equalJson } from '../../../kube/json.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { Pod, Toleration } from '../../../kube/types/core/v1.ts'
import type { RuntimeClass } from '../../../kube/types/node/v1.ts'
import { forbidden, type StatusError } from '../../errors/status-error.ts'
import type { ClusterState } from '../../cluster/state.ts'
import { type AdmissionPlugin, type AdmissionRequest, shownName } from '../../cluster/admission.ts'

const otherOverhead = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"

export const runtimeClass: AdmissionPlugin = {
  name: 'RuntimeClass',
  mutate(state, request) {
    const found = classOf(state, request)
    return found
      ? withRuntime(request.object, found, (why) => forbidden(request.served, shownName(request), why))
      : request.object
  },
  validate(state, request) {
    const { object, served, name } = request
    if (!object || !isNewPod(request)) return
    const { overhead } = (object as unknown as Pod).spec ?? {}
    const fixed = classOf(state, request)?.overhead?.podFixed
    if (fixed && !equalJson(fixed, overhead)) throw forbidden(served, name, otherOverhead)
    if (!fixed && overhead) {
      throw forbidden(
        served,
        name,
        'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
      )
    }
  },
}

function isNewPod({ served, subresource, operation }: AdmissionRequest): boolean {
  return served.table === 'pods' && subresource === '' && operation === 'CREATE'
}

function classOf({ storage }: ClusterState, request: AdmissionRequest): RuntimeClass | undefined {
  if (!isNewPod(request)) return undefined
  const className = (request.object as unknown as Pod).spec?.runtimeClassName
  if (className === undefined) return undefined
  const found = storage.table('runtimeclasses.node.k8s.io').get(undefined, className)
  if (found) return found as unknown as RuntimeClass
  throw forbidden(
    request.served,
    shownName(request),
    `pod rejected: RuntimeClass ${JSON.stringify(className)} not found`,
  )
}

function withRuntime(
  pod: UntypedObject,
  { overhead, scheduling }: RuntimeClass,
  refuse: (why: string) => StatusError,
): UntypedObject {
  const { spec = { containers: [] } } = pod as unknown as Pod
  const fixed = overhead?.podFixed
  if (fixed && spec.overhead && !equalJson(fixed, spec.overhead)) throw refuse(otherOverhead)
  const selector = Object.entries(scheduling?.nodeSelector ?? {})
  for (const [key, value] of selector) {
    const own = spec.nodeSelector?.[key]
    if (own === undefined || own === value) continue
    throw refuse(
      `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`,
    )
  }
  const tolerations = merged(spec.tolerations ?? [], scheduling?.tolerations ?? [])
  return {
    ...pod,
    spec: {
      ...spec,
      ...(fixed && { overhead: fixed }),
      ...(selector.length > 0 && { nodeSelector: { ...spec.nodeSelector, ...Object.fromEntries(selector) } }),
      ...(tolerations.length > 0 && { tolerations }),
    },
  }
}

/** Both lists, without duplicates. */
function merged(own: readonly Toleration[], more: readonly Toleration[]): readonly Toleration[] {
  const added = more.filter((one) => !own.some((known) => equalJson({ ...known }, { ...one })))
  return [...own, ...added]
}
