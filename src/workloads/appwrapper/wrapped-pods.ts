/** The pods of an AppWrapper: its pod sets, what they ask for, and how many are expected. */
import { asObject } from '../../kube/json-object.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { demandOf, expectedPods, type WrappedPods } from '../core/nodes/demand.ts'
import type { PodGroup } from '../core/nodes/node-table.ts'
import { type PodSet, podSetsOf } from '../core/pods/pod-sets.ts'
import type { AppWrapperComponent, AppWrapperObject } from './appwrapper.ts'

export interface ComponentPods {
  readonly component: AppWrapperComponent
  readonly template: UntypedObject
  readonly podSets: readonly PodSet[]
}

/** Why a wrapped object cannot be created as it is; undefined: it looks like an object. */
export function malformation({ template }: AppWrapperComponent): string | undefined {
  if (!template) return 'it has no template'
  const { apiVersion, kind, metadata } = template
  if (typeof apiVersion !== 'string' || apiVersion === '') return 'its template has no apiVersion'
  if (typeof kind !== 'string' || kind === '') return 'its template has no kind'
  const name = typeof metadata === 'object' && metadata !== null && 'name' in metadata ? metadata['name'] : undefined
  return typeof name === 'string' && name !== '' ? undefined : 'its template has no metadata.name'
}

/** @throws InvalidPodSets */
export function podSetsIn({ spec }: AppWrapperObject): readonly ComponentPods[] {
  return wellFormed(spec.components).map((component) => {
    const template = asObject(component.template!)
    return { component, template, podSets: podSetsOf(template, component.podSets, isLenient(spec)) }
  })
}

/** What its pods ask for. @throws InvalidPodSets */
export function demandIn({ spec }: AppWrapperObject): readonly PodGroup[] {
  return demandOf(wrappedPods(spec)).groups
}

/** By component, and by pod set: its group. @throws InvalidPodSets */
export function groupsIn({ spec }: AppWrapperObject): readonly (readonly number[])[] {
  return demandOf(wrappedPods(spec)).groupOf
}

/** @throws InvalidPodSets */
export function expectedIn({ spec }: AppWrapperObject): number {
  return expectedPods(wrappedPods(spec))
}

function wrappedPods(spec: AppWrapperObject['spec']): readonly WrappedPods[] {
  return wellFormed(spec.components).map(({ template, podSets, podSetInfos, pods }) => ({
    template: asObject(template!),
    podSets,
    placements: podSetInfos,
    pods,
    isLenient: isLenient(spec),
  }))
}

function wellFormed(components: readonly AppWrapperComponent[] = []): readonly AppWrapperComponent[] {
  return components.filter((component) => malformation(component) === undefined)
}

const isLenient = ({ lifeCycle }: AppWrapperObject['spec']): boolean => lifeCycle === 'Requeue'
