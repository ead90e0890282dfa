/** What exists of an AppWrapper: its wrapped objects and its pods, as the phase machine asks for them. */
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { type GroupVersionKind, kindOf } from '../../kube/kind.ts'
import { Node, Pod } from '../../kube/kinds.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { needsOf } from '../../kube/scheduling/pod-needs.ts'
import type { HeldObjects } from '../../operator/embedded/held-objects.ts'
import { neededFields } from '../../operator/embedded/needed-fields.ts'
import type { View } from '../../operator/view/view.ts'
import type { PodCounts, WrappedState } from '../core/phases/phases.ts'
import type { AppWrapperComponent, AppWrapperObject } from './appwrapper.ts'
import type { AutopilotSettings } from '../configuration/appwrapper-section.ts'
import { malformation } from './wrapped-pods.ts'

/** Of each pod: how it is doing, where it runs, and what it uses there. */
const podFields = ['spec.nodeName', 'spec.containers', 'status'] as const

export async function podsIn(cr: AppWrapperObject, held: HeldObjects): Promise<readonly UntypedObject[]> {
  return await held.list(Pod, cr.metadata.uid ?? '', podFields)
}

/** The kinds of its wrapped objects, each once. */
export function wrappedKinds({ spec }: AppWrapperObject): readonly GroupVersionKind[] {
  const kinds = (spec.components ?? [])
    .filter((component) => malformation(component) === undefined)
    .map(({ template }) => kindOf(template as object as UntypedObject))
  return [...new Map(kinds.map((kind) => [`${kind.group}/${kind.kind}`, kind])).values()]
}

/** Its live objects, pods of other objects aside. */
export async function liveObjects(cr: AppWrapperObject, held: HeldObjects): Promise<readonly UntypedObject[]> {
  const found: UntypedObject[] = []
  for (const kind of wrappedKinds(cr)) {
    const resource = await held.resourceOf(kind)
    if (resource) found.push(...(await held.list(resource, cr.metadata.uid ?? '', neededFields(kind))))
  }
  return found
}

export interface CreationProblem {
  readonly message: string
  readonly isFatal: boolean
}

/** By component: the state of its object. */
export function wrappedStates(
  { spec }: AppWrapperObject,
  live: readonly UntypedObject[],
  problemOf: (index: number) => CreationProblem | undefined,
): readonly WrappedState[] {
  const byName = new Map(live.map((object) => [nameIn(object), object]))
  return (spec.components ?? []).map((component, index): WrappedState => {
    const malformed = malformation(component)
    if (malformed !== undefined) {
      const problem = { message: `${malformed}.`, isFatal: true }
      return { subject: `component ${index}`, exists: false, isLeaving: false, problem }
    }
    const template = component.template as object as UntypedObject
    const object = byName.get(nameIn(template))
    const state = {
      subject: `${template.kind} ${template.metadata.name}`,
      exists: object !== undefined,
      isLeaving: object?.metadata.deletionTimestamp !== undefined,
      problem: problemOf(index),
    }
    return Object.assign(state, stateOf(component, spec.lifeCycle === 'Requeue', object))
  })
}

function nameIn(object: UntypedObject): string {
  const { group, kind } = kindOf(object)
  return `${group}/${kind} ${object.metadata.name ?? ''}`
}

function stateOf(
  { completionStatus, template }: AppWrapperComponent,
  isRequeued: boolean,
  object: UntypedObject | undefined,
): Pick<WrappedState, 'failure' | 'isComplete'> {
  const conditions = conditionsOf(object)
  const isTrue = (type: string): JsonObject | undefined =>
    conditions.find((condition) => condition['type'] === type && condition['status'] === 'True')
  if (completionStatus !== undefined && completionStatus !== '') {
    const words = completionStatus.split(',').map((word) => word.trim().toLowerCase())
    const isComplete = conditions.some(
      ({ type, status }) =>
        status === 'True' &&
        typeof type === 'string' &&
        words.some((word) => word !== '' && type.toLowerCase().includes(word)),
    )
    return { isComplete }
  }
  // What does not say when it is complete is not waited for.
  if (isRequeued) return {}
  const { group, kind } = kindOf(template as object as UntypedObject)
  const ends = endings.get(`${group}/${kind}`)
  if (!ends) return {}
  const failure = ends.failed === undefined ? undefined : isTrue(ends.failed)
  const { message, reason } = failure ?? {}
  const text = [reason, message].flatMap((part) => (typeof part === 'string' && part !== '' ? [part] : [])).join(': ')
  return {
    isComplete: isTrue(ends.complete) !== undefined,
    ...(failure && { failure: text === '' ? 'it has failed.' : text }),
  }
}

/** Conditions with which objects of a kind end. A RayJob or RayCluster may report a failure that passes. */
const endings: ReadonlyMap<string, { readonly complete: string; readonly failed?: string }> = new Map([
  ['batch/Job', { complete: 'Complete', failed: 'Failed' }],
  ['jobset.x-k8s.io/JobSet', { complete: 'Completed', failed: 'Failed' }],
  ['kubeflow.org/PyTorchJob', { complete: 'Succeeded', failed: 'Failed' }],
])

function conditionsOf(object: UntypedObject | undefined): readonly JsonObject[] {
  const status = object && asJson(object)['status']
  const conditions = isJsonObject(status) ? status['conditions'] : undefined
  return isJsonArray(conditions) ? conditions.filter(isJsonObject) : []
}

/** Counts pods; those that are being deleted count until they are gone only as what is left. */
export function countPods(pods: readonly UntypedObject[], sick: (pod: UntypedObject) => string | undefined): PodCounts {
  const counts = { pending: 0, running: 0, succeeded: 0, failed: 0 }
  const exitCodes: number[] = []
  let unschedulable: string | undefined
  let onSickNode: string | undefined
  for (const each of pods) {
    if (each.metadata.deletionTimestamp !== undefined) continue
    const pod = each as object as Pod
    const { phase = 'Pending', containerStatuses = [] } = pod.status ?? {}
    if (phase === 'Succeeded') counts.succeeded++
    else if (phase === 'Failed') {
      counts.failed++
      for (const { state } of containerStatuses) if (state?.terminated) exitCodes.push(state.terminated.exitCode)
    } else {
      if (phase === 'Running') counts.running++
      else counts.pending++
      unschedulable ??= unschedulableMessage(pod)
      onSickNode ??= sick(each)
    }
  }
  return {
    ...counts,
    exitCodes,
    ...(unschedulable !== undefined && { unschedulable }),
    ...(onSickNode !== undefined && { onSickNode }),
  }
}

function unschedulableMessage({ metadata, status }: Pod): string | undefined {
  const condition = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (condition?.status !== 'False' || condition.reason !== 'Unschedulable') return undefined
  return `Pod ${metadata.name}: ${condition.message ?? 'no node accepts it'}`
}

/** Whether a pod uses a resource that the labels of its node call sick. */
export function sickness(view: View, autopilot: AutopilotSettings): (pod: UntypedObject) => string | undefined {
  if (!autopilot.monitorNodes) return () => undefined
  const evicting = Object.entries(autopilot.resourceTaints).flatMap(([resource, taints]) =>
    taints.flatMap(({ key, value = '', effect }) => (effect === 'NoExecute' ? [{ key, value, resource }] : [])),
  )
  return (each) => {
    const { spec, metadata } = each as object as Pod
    if (!spec?.nodeName) return undefined
    const { requests } = needsOf({ spec })
    const used = evicting.filter(({ resource }) => (requests.get(resource) ?? 0) > 0)
    if (used.length === 0) return undefined
    const labels = view.get(Node, { name: spec.nodeName })?.metadata.labels
    const sick = used.find(({ key, value }) => labels?.[key] === value)
    return (
      sick && `Pod ${metadata.name} uses ${sick.resource} of node ${spec.nodeName}, which is ${sick.key}=${sick.value}.`
    )
  }
}
