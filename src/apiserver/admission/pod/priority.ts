/**
 * Priority: resolves the priority class of a pod. A pod names a class; its numeric priority is that of the class when
 * the pod is created, and does not change afterwards.
 */
import type { UntypedObject } from '../../../kube/object.ts'
import type { Pod } from '../../../kube/types/core/v1.ts'
import type { PriorityClass } from '../../../kube/types/scheduling/v1.ts'
import { forbidden } from '../../errors/status-error.ts'
import type { ClusterState } from '../../cluster/state.ts'
import { type AdmissionPlugin, type AdmissionRequest, shownName } from '../../cluster/admission.ts'

const classTable = 'priorityclasses.scheduling.k8s.io'

export const priority: AdmissionPlugin = {
  name: 'Priority',
  mutate(state, request) {
    const { operation, served, subresource, object, oldObject } = request
    if (served.table !== 'pods' || subresource !== '') return object
    if (operation === 'CREATE') return withPriority(state, request)
    return operation === 'UPDATE' && oldObject ? withOldPriority(object, oldObject) : object
  },
  validate(state, { served, subresource, operation, object, name }) {
    if (served.table !== classTable || subresource !== '' || object?.['globalDefault'] !== true) return
    const known = defaultClass(state)
    if (!known || (operation === 'UPDATE' && known.name === name)) return
    const why = `PriorityClass ${known.name} is already marked as default. Only one default can exist`
    throw forbidden(served, name, why)
  },
}

function withPriority(
  state: ClusterState,
  request: AdmissionRequest & { readonly object: UntypedObject },
): UntypedObject {
  const { served, object } = request
  const name = shownName(request)
  const { spec = { containers: [] } } = object as unknown as Pod
  const found = spec.priorityClassName ? classNamed(state, spec.priorityClassName) : (defaultClass(state) ?? plainClass)
  if (!found) throw forbidden(served, name, `no PriorityClass with name ${spec.priorityClassName} was found`)
  const { value, preemptionPolicy } = found
  if (spec.priority !== undefined && spec.priority !== value) {
    const why = `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`
    throw forbidden(served, name, why)
  }
  if (preemptionPolicy && spec.preemptionPolicy && spec.preemptionPolicy !== preemptionPolicy) {
    const why = `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`
    throw forbidden(served, name, why)
  }
  return {
    ...object,
    spec: {
      ...spec,
      ...(found.name !== '' && { priorityClassName: found.name }),
      priority: value,
      ...(preemptionPolicy && { preemptionPolicy }),
    },
  }
}

/** An update that omits the fields keeps them. */
function withOldPriority(object: UntypedObject, before: UntypedObject): UntypedObject {
  const { spec = { containers: [] } } = object as unknown as Pod
  const { priority: value, preemptionPolicy } = (before as unknown as Pod).spec ?? {}
  const kept = {
    ...(spec.priority === undefined && value !== undefined && { priority: value }),
    ...(spec.preemptionPolicy === undefined && preemptionPolicy !== undefined && { preemptionPolicy }),
  }
  return Object.keys(kept).length === 0 ? object : { ...object, spec: { ...spec, ...kept } }
}

interface Class {
  readonly name: string
  readonly value: number
  readonly preemptionPolicy: string | undefined
}

const plainClass: Class = { name: '', value: 0, preemptionPolicy: 'PreemptLowerPriority' }

function classNamed({ storage }: ClusterState, name: string): Class | undefined {
  const found = storage.table(classTable).get(undefined, name)
  return found && classOf(found)
}

/** The default class; of several, the one with the lowest value, as on the real server. */
function defaultClass({ storage }: ClusterState): Class | undefined {
  return storage
    .table(classTable)
    .objects()
    .filter((one) => one['globalDefault'] === true)
    .map(classOf)
    .toSorted((a, b) => a.value - b.value)[0]
}

function classOf(object: UntypedObject): Class {
  const { value = 0, preemptionPolicy } = object as unknown as PriorityClass
  return { name: object.metadata.name ?? '', value, preemptionPolicy }
}
