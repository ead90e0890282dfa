/**
 * The wrapped objects as they are created: with the labels by which they and their pods are found, owned by their AppWrapper, and
 * with what the admission and the settings add to their pods.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { ownerReference } from '../../kube/meta/owner.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { needsOf } from '../../kube/scheduling/pod-needs.ts'
import type { PodSpec } from '../../kube/types/core/v1.ts'
import type { GroupPlacement } from '../core/phases/phases.ts'
import { withPodTemplate } from '../core/pods/pod-path.ts'
import { podPathOf, podTemplateIn } from '../core/pods/pod-sets.ts'
import { workloadErrors } from '../errors.ts'
import type { AppWrapperObject, PodSetInfo } from './appwrapper.ts'
import type { AutopilotSettings, ResourceTaint } from '../configuration/appwrapper-section.ts'
import { legacyNameLabel, legacyObjectLabel, nameLabel, uidLabel } from './labels.ts'
import { type ComponentPods, groupsIn, podSetsIn } from './wrapped-pods.ts'

interface WrappingSettings {
  readonly schedulerName: string
  readonly autopilot: AutopilotSettings
}

/** @throws InvalidPodSets, InjectionConflict */
export function wrappedObjects(
  cr: AppWrapperObject,
  settings: WrappingSettings,
  placements: readonly GroupPlacement[] = [],
): readonly UntypedObject[] {
  const groups = placements.length > 0 ? groupsIn(cr) : []
  return podSetsIn(cr).map((component, at) =>
    wrapped(cr, component, settings, groups[at]?.map((group) => placements[group]) ?? []),
  )
}

function wrapped(
  cr: AppWrapperObject,
  { component, template, podSets }: ComponentPods,
  settings: WrappingSettings,
  placements: readonly (GroupPlacement | undefined)[],
): UntypedObject {
  const labels = labelsOf(cr, template)
  let object = asJson(template)
  for (const [index, podSet] of podSets.entries()) {
    const pod = podTemplateIn(asObject(object), podSet)
    const place = `${template.kind} ${podSet.path}`
    const given = withPodSetInfo(pod, component.podSetInfos?.[index], place)
    const added = withPodSetInfo(given, placements[index], place)
    object = withPodTemplate(object, podPathOf(podSet.path), withPlacement(withLabels(added, labels), settings))
  }
  const metadata = memberOf(object, 'metadata')
  return asObject({
    ...object,
    metadata: {
      ...metadata,
      labels: { ...memberOf(metadata, 'labels'), ...labels },
      ownerReferences: [asJson(ownerReference(cr, { controller: true }))],
    },
  })
}

function labelsOf({ metadata, spec }: AppWrapperObject, template: UntypedObject): Readonly<Record<string, string>> {
  // A label has at most 63 characters, a name may have more.
  const name = metadata.name.slice(0, 63)
  return {
    [nameLabel]: name,
    [uidLabel]: metadata.uid ?? '',
    ...(spec.lifeCycle === 'Requeue' && {
      [legacyNameLabel]: name,
      [legacyObjectLabel]: (template.metadata.name ?? '').slice(0, 63),
    }),
  }
}

function withLabels(pod: JsonObject, labels: Readonly<Record<string, string>>): JsonObject {
  const metadata = memberOf(pod, 'metadata')
  return { ...pod, metadata: { ...metadata, labels: { ...memberOf(metadata, 'labels'), ...labels } } }
}

/** What an admission or the queue adds; flavors are named with it. */
type AddedToPods = Pick<PodSetInfo, 'annotations' | 'labels' | 'schedulingGates'> & Omit<GroupPlacement, 'flavors'>

function withPodSetInfo(pod: JsonObject, info: AddedToPods | undefined, place: string): JsonObject {
  if (!info) return pod
  const metadata = memberOf(pod, 'metadata')
  const spec = memberOf(pod, 'spec')
  const merged = (own: JsonObject, added: Readonly<Record<string, string>> | undefined, what: string): JsonObject => {
    const other = Object.entries(added ?? {}).find(([key, value]) => own[key] !== undefined && own[key] !== value)
    if (!other) return { ...own, ...added }
    const [key, value] = other
    throw new MusterError(
      workloadErrors.InjectionConflict,
      `${place}: ${what} ${key} is ${JSON.stringify(own[key])}, and the admission asks for ${JSON.stringify(value)}.`,
    )
  }
  const gates = [...arrayOf(spec, 'schedulingGates')]
  for (const gate of info.schedulingGates ?? []) {
    if (!gates.some((known) => isJsonObject(known) && known['name'] === gate.name)) gates.push({ name: gate.name })
  }
  const nodeSelector = merged(memberOf(spec, 'nodeSelector'), info.nodeSelector, 'the node selector')
  const tolerations = [...arrayOf(spec, 'tolerations'), ...(info.tolerations ?? []).map((each) => asJson(each))]
  return {
    ...pod,
    metadata: {
      ...metadata,
      labels: merged(memberOf(metadata, 'labels'), info.labels, 'the label'),
      annotations: merged(memberOf(metadata, 'annotations'), info.annotations, 'the annotation'),
    },
    spec: {
      ...spec,
      ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
      ...(tolerations.length > 0 && { tolerations }),
      ...(gates.length > 0 && { schedulingGates: gates }),
    },
  }
}

function withPlacement(pod: JsonObject, { schedulerName, autopilot }: WrappingSettings): JsonObject {
  const spec = memberOf(pod, 'spec')
  const scheduler = schedulerName !== '' && spec['schedulerName'] === undefined ? { schedulerName } : {}
  const taints = autopilot.injectAntiAffinities ? taintsOf(spec as object as PodSpec, autopilot) : []
  if (taints.length === 0) return { ...pod, spec: { ...spec, ...scheduler } }
  const affinity = withAntiAffinity(memberOf(spec, 'affinity'), taints, autopilot.preferNoScheduleWeight)
  return { ...pod, spec: { ...spec, ...scheduler, affinity } }
}

/** Of the resources that the pod requests. */
function taintsOf(spec: PodSpec, { resourceTaints }: AutopilotSettings): readonly ResourceTaint[] {
  const { requests } = needsOf({ spec })
  const limits = new Set((spec.containers ?? []).flatMap(({ resources }) => Object.keys(resources?.limits ?? {})))
  return Object.entries(resourceTaints).flatMap(([resource, taints]) =>
    (requests.get(resource) ?? 0) > 0 || limits.has(resource) ? taints : [],
  )
}

/** Nodes whose labels say that the resource is sick are avoided: never used, or rather not. */
function withAntiAffinity(affinity: JsonObject, taints: readonly ResourceTaint[], weight: number): JsonObject {
  const strict = expressionsOf(taints.filter(({ effect }) => effect !== 'PreferNoSchedule'))
  const soft = expressionsOf(taints.filter(({ effect }) => effect === 'PreferNoSchedule'))
  const nodeAffinity = memberOf(affinity, 'nodeAffinity')
  const requiredName = 'requiredDuringSchedulingIgnoredDuringExecution'
  const preferredName = 'preferredDuringSchedulingIgnoredDuringExecution'
  const terms = arrayOf(memberOf(nodeAffinity, requiredName), 'nodeSelectorTerms')
  // Terms are alternatives: each of them has to avoid the nodes.
  const avoiding = (terms.length > 0 ? terms : [{}]).map((term) =>
    isJsonObject(term) ? withExpressions(term, strict) : term,
  )
  const preferred = [
    ...arrayOf(nodeAffinity, preferredName),
    ...(soft.length > 0 ? [{ weight, preference: { matchExpressions: soft } }] : []),
  ]
  return {
    ...affinity,
    nodeAffinity: {
      ...nodeAffinity,
      ...(strict.length > 0 && {
        [requiredName]: { ...memberOf(nodeAffinity, requiredName), nodeSelectorTerms: avoiding },
      }),
      ...(preferred.length > 0 && { [preferredName]: preferred }),
    },
  }
}

function withExpressions(term: JsonObject, expressions: readonly JsonObject[]): JsonObject {
  return { ...term, matchExpressions: [...arrayOf(term, 'matchExpressions'), ...expressions] }
}

function expressionsOf(taints: readonly ResourceTaint[]): readonly JsonObject[] {
  const values = Map.groupBy(taints, ({ key }) => key)
  return [...values].map(([key, same]) => ({ key, operator: 'NotIn', values: same.map(({ value = '' }) => value) }))
}

function memberOf(object: JsonObject, name: string): JsonObject {
  const value = object[name]
  return isJsonObject(value) ? value : {}
}

function arrayOf(object: JsonObject, name: string): readonly Json[] {
  const value = object[name]
  return isJsonArray(value) ? value : []
}
