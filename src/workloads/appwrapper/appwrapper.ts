/**
 * An AppWrapper: objects that are created together when there is room for all of their pods, watched, tried again and removed
 * together. The stored version is v1beta2; optional fields carry what v1beta1 has beside it, so that both convert without loss.
 */
import type { Json, JsonObject } from '../../kube/json.ts'
import type { Condition } from '../../kube/meta/condition.ts'
import type { KubeObject, Named } from '../../kube/object.ts'
import type { Toleration } from '../../kube/types/core/v1.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import {
  anything,
  boolean,
  integer,
  list,
  map,
  number,
  object,
  oneOf,
  optional,
  schemaField,
  string,
} from '../../operator/kind/field.ts'
import { defineKind, type Kind } from '../../operator/kind/kind.ts'
import type { DeclaredPods } from '../core/nodes/demand.ts'
import type { DeclaredPodSet } from '../core/pods/pod-sets.ts'
import type { GroupPlacement, Phase } from '../core/phases/phases.ts'
import type { Requeuing } from '../core/phases/requeuing.ts'
import { v1beta1 } from './v1beta1.ts'

export const appWrapperGroup = 'workload.codeflare.dev'

/** What an admission adds to the pods of a pod set. */
export interface PodSetInfo {
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly tolerations?: readonly Toleration[]
  readonly schedulingGates?: readonly { readonly name: string }[]
}

interface ComponentPodSet extends DeclaredPodSet {
  readonly annotations?: Readonly<Record<string, string>>
}

export interface AppWrapperComponent {
  /** The wrapped object. */
  readonly template?: JsonObject
  readonly podSets?: readonly ComponentPodSet[]
  readonly podSetInfos?: readonly PodSetInfo[]
  readonly annotations?: Readonly<Record<string, string>>
  /** Pods by their requests: the only source of what it asks for, if there are some. */
  readonly pods?: readonly DeclaredPods[]
  /** It is complete when one of its conditions of these types is true: words, separated by commas. */
  readonly completionStatus?: string
  /** Fields of an item of v1beta1 that mean nothing to the queue. */
  readonly item?: JsonObject
}

interface AppWrapperScheduling {
  readonly priority?: number
  readonly prioritySlope?: number
  readonly minAvailable?: number
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly requeuing?: Requeuing & { readonly initialTimeInSeconds?: number }
  readonly dispatchDuration?: { readonly expected?: number; readonly limit?: number; readonly overrun?: boolean }
  readonly service?: Json
  readonly selector?: Json
}

interface AppWrapperSpec {
  readonly components?: readonly AppWrapperComponent[]
  readonly suspend?: boolean
  readonly managedBy?: string
  readonly scheduling?: AppWrapperScheduling
  readonly lifeCycle?: 'Reset' | 'Requeue'
}

export interface AppWrapperTransition {
  readonly time: string
  readonly phase: string
  readonly reason: string
  readonly message: string
}

export interface AppWrapperStatus {
  readonly conditions?: readonly Condition[]
  readonly observedGeneration?: number
  readonly phase?: Phase | 'Terminating' | ''
  readonly resettingCount?: number
  readonly componentStatus?: readonly {
    readonly name: string
    readonly kind: string
    readonly apiVersion: string
    readonly podSets?: readonly DeclaredPodSet[]
    readonly conditions?: readonly Condition[]
  }[]
  /** The last phases, oldest first. */
  readonly transitions?: readonly AppWrapperTransition[]
  readonly firstDispatchTime?: string
  readonly dispatchTime?: string
  /** Since when the pods are as the condition PodsReady says, it is unhealthy, its objects are being deleted. */
  readonly timers?: { readonly pods?: string; readonly unhealthy?: string; readonly deleting?: string }
  readonly requeuing?: { readonly count: number; readonly seconds: number }
  readonly isHoldingCompletion?: boolean
  /** By group of equal pods: the flavors that they are charged to, and what these add to the pods. */
  readonly placements?: readonly GroupPlacement[]
  /** The status as v1beta1 had it, until it is written anew. */
  readonly v1beta1?: JsonObject
}

export interface AppWrapperObject extends Named {
  readonly spec: AppWrapperSpec
  readonly status?: AppWrapperStatus
}

interface AppWrapperKind extends TypedResource<AppWrapperObject>, Pick<Kind, 'definition' | 'crd'> {}

const labels = optional(map(string()))
/** JSON of which nothing is dropped. */
const openObject = (description: string) => openObjectOf<JsonObject>(description)
const openObjectOf = <T>(description: string) =>
  schemaField<T>({ type: 'object', description, 'x-kubernetes-preserve-unknown-fields': true })

const podSet = object({
  replicas: optional(integer({ minimum: 0, description: 'how many pods; 1 without it' })),
  path: string({ maxLength: 500, description: 'where the pod template is: template.spec.template' }),
  annotations: labels,
})

const pods = object({
  replicas: integer({ minimum: 0 }),
  requests: openObjectOf<DeclaredPods['requests']>('what each pod requests'),
  limits: optional(openObjectOf<DeclaredPods['requests']>('used where a request is 0')),
})

const component = object({
  template: optional(openObject('the wrapped object')),
  podSets: optional(list(podSet, { description: 'where its pod templates are; known kinds need none' })),
  podSetInfos: optional(
    list(
      object({
        annotations: labels,
        labels,
        nodeSelector: labels,
        tolerations: optional(list(openObjectOf<Toleration>('a toleration'))),
        schedulingGates: optional(list(object({ name: string() }))),
      }),
      { description: 'what the admission adds to the pods, by pod set' },
    ),
  ),
  annotations: labels,
  pods: optional(list(pods, { description: 'what its pods request, instead of what the template says' })),
  completionStatus: optional(
    string({
      maxLength: 1024,
      description: 'it is complete when one of its conditions of these types is true; words with commas between them',
    }),
  ),
  item: optional(openObject('fields of v1beta1 without a meaning here')),
})

const scheduling = object({
  priority: optional(integer({ description: 'higher ones start first; 0 without it' })),
  prioritySlope: optional(number({ description: 'priority gained for each second of waiting' })),
  minAvailable: optional(integer({ description: 'pods that must run, or it goes back to the queue; 0: not watched' })),
  nodeSelector: labels,
  requeuing: optional(
    object({
      timeInSeconds: optional(integer({ description: 'how long pods may take; 300 without it' })),
      initialTimeInSeconds: optional(integer()),
      maxTimeInSeconds: optional(integer({ description: 'the longest such time; 0: no limit' })),
      growthType: optional(string({ description: 'exponential (without it), linear, or none' })),
      numRequeuings: optional(integer()),
      maxNumRequeuings: optional(integer({ description: 'how often it may go back; 0: no limit' })),
    }),
  ),
  dispatchDuration: optional(
    object({ expected: optional(integer()), limit: optional(integer()), overrun: optional(boolean()) }),
  ),
  service: optional(anything()),
  selector: optional(anything()),
})

const time = string({ format: 'date-time' })

export const AppWrapper: AppWrapperKind = defineKind({
  group: appWrapperGroup,
  version: 'v1beta2',
  kind: 'AppWrapper',
  shortNames: ['aw'],
  description: 'Objects that start together when all of their pods fit, and end together.',
  spec: {
    components: optional(list(component, { description: 'the wrapped objects, created in this order' })),
    suspend: optional(boolean({ description: 'it does not start, and stops if it runs' })),
    managedBy: optional(
      string({ maxLength: 63, rules: [{ rule: 'self == oldSelf', message: 'managedBy is immutable' }] }),
    ),
    scheduling: optional(scheduling),
    lifeCycle: optional(
      oneOf(['Reset', 'Requeue'], {
        description: 'Reset: pods that fail are created again; Requeue, as in v1beta1: it goes back to the queue',
      }),
    ),
  },
  status: {
    phase: optional(
      oneOf(['', 'Suspended', 'Resuming', 'Running', 'Resetting', 'Suspending', 'Succeeded', 'Failed', 'Terminating']),
    ),
    resettingCount: optional(integer()),
    componentStatus: optional(
      list(
        object({
          name: string(),
          kind: string(),
          apiVersion: string(),
          podSets: optional(list(podSet)),
          conditions: optional(list(openObjectOf<Condition>('a condition'))),
        }),
      ),
    ),
    transitions: optional(list(object({ time, phase: string(), reason: string(), message: string() }))),
    firstDispatchTime: optional(time),
    dispatchTime: optional(time),
    timers: optional(object({ pods: optional(time), unhealthy: optional(time), deleting: optional(time) })),
    requeuing: optional(object({ count: integer(), seconds: integer() })),
    isHoldingCompletion: optional(boolean()),
    placements: optional(
      list(
        object({
          flavors: map(string()),
          nodeSelector: labels,
          tolerations: optional(list(openObjectOf<Toleration>('a toleration'))),
        }),
      ),
    ),
    v1beta1: optional(openObject('the status as v1beta1 had it')),
  },
  columns: [
    { name: 'Status', type: 'string', jsonPath: '.status.phase' },
    {
      name: 'Quota Reserved',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="QuotaReserved")].status',
    },
    {
      name: 'Resources Deployed',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="ResourcesDeployed")].status',
    },
    { name: 'Unhealthy', type: 'string', jsonPath: '.status.conditions[?(@.type=="Unhealthy")].status' },
    // Why it waits. The columns above are those of CodeFlare, and the only ones without `-o wide`.
    {
      name: 'Reason',
      type: 'string',
      priority: 1,
      jsonPath: '.status.conditions[?(@.type=="QuotaReserved")].reason',
    },
  ],
  otherVersions: [v1beta1],
})

export function isAppWrapper({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): boolean {
  return kind === 'AppWrapper' && apiVersion.split('/')[0] === appWrapperGroup
}
