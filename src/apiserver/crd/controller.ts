/**
 * The CRD controllers: what the server does about a CustomResourceDefinition after it is stored, one step at a time.
 * Names are accepted or rejected, then the kind is established, and from then on it is served. Conditions also report
 * whether the API of a protected group is approved. A deleted definition is kept until its objects are gone.
 */
import {
  type Condition,
  type ConditionUpdate,
  findCondition,
  isConditionTrue,
  setCondition,
} from '../../kube/meta/condition.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { equalJson, type Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import { approvalCondition } from '../../kube/crd/approval.ts'
import { isCertificateBundle } from '../../kube/crd/certificate-bundle.ts'
import { areNamesAccepted, decideNames } from './names.ts'

/** Keeps a CRD until its objects are gone. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io'

type Status = NonNullable<CustomResourceDefinition['status']>

export function crdOf(object: UntypedObject): CustomResourceDefinition {
  return object as unknown as CustomResourceDefinition
}

function crdConditionsOf({ status }: CustomResourceDefinition): readonly Condition[] {
  return (status?.conditions ?? []) as readonly Condition[]
}

export function isEstablished(crd: CustomResourceDefinition): boolean {
  return isConditionTrue(crdConditionsOf(crd), 'Established')
}

/** The definition after the next step; undefined when no step is left. */
export function nextCrdStep(
  object: UntypedObject,
  group: readonly UntypedObject[],
  now: number,
): UntypedObject | undefined {
  const crd = crdOf(object)
  const steps = [nameStep, establishStep, approvalStep]
  for (const step of steps) {
    const status = step(crd, group.map(crdOf), now)
    if (status && !equalJson(status as unknown as Json, crd.status as unknown as Json)) return { ...object, status }
  }
  return undefined
}

type Step = (
  crd: CustomResourceDefinition,
  group: readonly CustomResourceDefinition[],
  now: number,
) => Status | undefined

const nameStep: Step = (crd, group, now) => {
  if (areNamesAccepted(crd)) return undefined
  const { acceptedNames, condition } = decideNames(crd, group)
  const before = crdConditionsOf(crd)
  const isSettled =
    equalJson(acceptedNames as unknown as Json, crd.status?.acceptedNames as unknown as Json) &&
    setCondition(before, condition, now) === before
  if (isSettled) return undefined
  // An established kind stays established: clients rely on it.
  const established = findCondition(before, 'Established')
  const next: ConditionUpdate =
    established?.status !== 'True' && condition.status === 'True'
      ? {
          type: 'Established',
          status: 'False',
          reason: 'Installing',
          message: 'the initial names have been accepted',
        }
      : (established ?? {
          type: 'Established',
          status: 'False',
          reason: 'NotAccepted',
          message: 'not all names are accepted',
        })
  return withConditions(crd, now, [condition, next], { acceptedNames })
}

const establishStep: Step = (crd, _group, now) => {
  const conditions = crdConditionsOf(crd)
  if (!isConditionTrue(conditions, 'NamesAccepted') || isConditionTrue(conditions, 'Established')) return undefined
  const bundle = crd.spec.conversion?.webhook?.clientConfig?.caBundle
  const established: ConditionUpdate =
    bundle && !isCertificateBundle(bundle)
      ? {
          type: 'Established',
          status: 'False',
          reason: 'InvalidCABundle',
          message: 'The conversion webhook CABundle is invalid',
        }
      : {
          type: 'Established',
          status: 'True',
          reason: 'InitialNamesAccepted',
          message: 'the initial names have been accepted',
        }
  return withConditions(crd, now, [established])
}

const approvalStep: Step = (crd, _group, now) => {
  const condition = approvalCondition(crd)
  return condition && withConditions(crd, now, [condition])
}

function withConditions(
  crd: CustomResourceDefinition,
  now: number,
  updates: readonly ConditionUpdate[],
  more: Partial<Status> = {},
): Status {
  let conditions = crdConditionsOf(crd)
  for (const update of updates) conditions = setCondition(conditions, update, now)
  return { ...crd.status, ...more, conditions }
}

function withTerminating(object: UntypedObject, now: number, update: Omit<ConditionUpdate, 'type'>): UntypedObject {
  return { ...object, status: withConditions(crdOf(object), now, [{ type: 'Terminating', ...update }]) }
}

/** A definition that a client has just deleted. */
export function markedForDeletion(object: UntypedObject, now: number): UntypedObject {
  const finalizers = [...new Set([...(object.metadata.finalizers ?? []), cleanupFinalizer])]
  const metadata = { ...object.metadata, deletionTimestamp: formatTime(now), finalizers }
  return withTerminating({ ...object, metadata }, now, {
    status: 'True',
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  })
}

/** The definition while its objects are being deleted; the same object if its condition says so already. */
export function withTerminatingCondition(object: UntypedObject, now: number): UntypedObject {
  const isReported =
    findCondition(crdConditionsOf(crdOf(object)), 'Terminating')?.reason === 'InstanceDeletionInProgress'
  if (isReported) return object
  return withTerminating(object, now, {
    status: 'True',
    reason: 'InstanceDeletionInProgress',
    message: 'CustomResource deletion is in progress',
  })
}

/** The definition without its finalizer, once all of its objects are gone. */
export function withoutCleanupFinalizer(object: UntypedObject, now: number): UntypedObject {
  const { finalizers = [], ...metadata } = object.metadata
  const left = finalizers.filter((one) => one !== cleanupFinalizer)
  const free = { ...object, metadata: left.length > 0 ? { ...metadata, finalizers: left } : metadata }
  return withTerminating(
    free,
    now,
    isEstablished(crdOf(object))
      ? { status: 'False', reason: 'InstanceDeletionCompleted', message: 'removed all instances' }
      : { status: 'False', reason: 'NeverEstablished', message: 'resource was never established' },
  )
}
