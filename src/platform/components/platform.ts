/** The Platform: which components a cluster runs. There is one in a cluster, and it is the only source of that. */
import type { Json } from '../../kube/json.ts'
import type { Named } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { anything, boolean, integer, list, object, oneOf, optional, string } from '../../operator/kind/field.ts'
import { defineKind, type Kind, type StandardStatus } from '../../operator/kind/kind.ts'
import { timeoutField, type ValuesReference, valuesFromField } from '../installation/installation.ts'

export interface PlatformObject extends Named {
  readonly spec: PlatformSpec
  readonly status?: PlatformStatus
}

/**
 * - `Managed`: installed, kept, upgraded.
 * - `Unmanaged`: left alone, whether another installation runs or ours did.
 * - `Removed`: removed, if it was installed by the Platform.
 * - `Adopt`: as Managed; an installation by other means is taken over.
 */
export type ManagementState = (typeof managementStates)[number]

const managementStates = ['Managed', 'Unmanaged', 'Removed', 'Adopt'] as const

export interface PlatformComponent {
  readonly name: string
  readonly managementState: ManagementState
  readonly channel?: string
  /** A pinned version. */
  readonly version?: string
  readonly values?: Json
  readonly valuesFrom: readonly ValuesReference[]
  /** `Ignore`: the default resource of the component is neither created nor deleted. */
  readonly customResourcePolicy: 'CreateAndDelete' | 'Ignore'
}

export interface MaintenanceWindow {
  readonly days: readonly Weekday[]
  /** `22:00`; the end may be on the next day. */
  readonly begin: string
  readonly end: string
  /** `+02:00` */
  readonly offset: string
}

export type Weekday = (typeof weekdays)[number]

/** From the first day of `Date.getUTCDay` on. */
export const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const

export interface PlatformSpec {
  readonly channel: string
  readonly namespace: string
  readonly components: readonly PlatformComponent[]
  readonly preview: boolean
  readonly maintenance: { readonly windows: readonly MaintenanceWindow[]; readonly skip: boolean }
  readonly acknowledged: readonly string[]
  readonly protection: 'Deny' | 'Warn' | 'Off'
  readonly runLevelTimeout: string
}

export type PlatformState = 'Ready' | 'Processing' | 'Warning' | 'Error' | 'Deleting'

export type ComponentState = PlatformState | 'Unmanaged' | 'Removed'

export interface ComponentReport {
  readonly name: string
  readonly managementState: ManagementState
  readonly state: ComponentState
  readonly channel?: string
  /** The installed version. */
  readonly version?: string
  /** The version that it waits for. */
  readonly target?: string
  readonly reason: string
  readonly message: string
  /** An upgrade waits for a maintenance window. */
  readonly maintenance?: boolean
  /** Of a component that became Unmanaged: the kinds of the objects that were let go. */
  readonly released?: readonly { readonly group: string; readonly version: string; readonly kind: string }[]
  /** Why its Installation may be deleted by hand. */
  readonly breakGlass?: string
  /** `muster-system/queue` */
  readonly installation?: string
}

export interface RunLevel {
  readonly level: number
  readonly since: string
  /** It took too long: higher levels went on without it. */
  readonly timedOut?: boolean
}

export interface PlatformStatus extends StandardStatus {
  readonly state?: PlatformState
  readonly components?: readonly ComponentReport[]
  /** Levels with components that are not ready, and since when they are waited for. */
  readonly runLevels?: readonly RunLevel[]
}

interface PlatformKind extends TypedResource<PlatformObject>, Pick<Kind, 'definition' | 'crd'> {}

const timeOfDay = string({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', maxLength: 5 })

const componentStates = ['Ready', 'Processing', 'Warning', 'Error', 'Deleting', 'Unmanaged', 'Removed'] as const

export const Platform: PlatformKind = defineKind({
  group: 'platform.muster.dev',
  version: 'v1alpha1',
  kind: 'Platform',
  scope: 'Cluster',
  singleton: 'default',
  categories: ['muster'],
  description: 'The components that this cluster runs.',
  spec: {
    channel: string({ default: 'stable', maxLength: 32, description: 'the channel of components that name none' }),
    namespace: string({
      default: 'muster-system',
      maxLength: 63,
      description: 'the namespace of its Installations',
      rules: [{ rule: 'self == oldSelf', message: 'it cannot change: all components would be installed anew' }],
    }),
    components: list(
      object({
        name: string({ pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$', maxLength: 40 }),
        managementState: oneOf(managementStates, { default: 'Managed' }),
        channel: optional(string({ maxLength: 32 })),
        version: optional(string({ maxLength: 64, description: 'this version, whatever the channel says' })),
        values: optional(anything({ description: 'values of its chart' })),
        valuesFrom: valuesFromField,
        customResourcePolicy: oneOf(['CreateAndDelete', 'Ignore'], {
          default: 'CreateAndDelete',
          description: 'whether the default resource of the component is created with it and deleted with it',
        }),
      }),
      { default: [], maxItems: 200, sharedBy: ['name'] },
    ),
    preview: boolean({ default: false, description: 'preview components may be switched on' }),
    maintenance: object(
      {
        windows: list(
          object({
            days: list(oneOf(weekdays), { default: [...weekdays], maxItems: 7, sharedBy: 'value' }),
            begin: timeOfDay,
            end: timeOfDay,
            offset: string({ default: '+00:00', pattern: '^[+-][01][0-9]:[0-5][0-9]$', maxLength: 6 }),
          }),
          { default: [], maxItems: 50 },
        ),
        skip: boolean({ default: false, description: 'upgrades with a downtime begin at once' }),
      },
      { default: {}, description: 'when upgrades with a downtime may begin' },
    ),
    acknowledged: list(string({ maxLength: 100 }), {
      default: [],
      maxItems: 500,
      sharedBy: 'value',
      description: 'the keys of acknowledgements that an administrator has accepted',
    }),
    protection: oneOf(['Deny', 'Warn', 'Off'], {
      default: 'Deny',
      description: 'what happens to edits and deletions of installed objects by people',
    }),
    runLevelTimeout: timeoutField,
  },
  status: {
    state: optional(oneOf(['Ready', 'Processing', 'Warning', 'Error', 'Deleting'])),
    components: optional(
      list(
        object({
          name: string(),
          managementState: oneOf(managementStates),
          state: oneOf(componentStates),
          channel: optional(string()),
          version: optional(string()),
          target: optional(string()),
          reason: string(),
          message: string(),
          maintenance: optional(boolean()),
          released: optional(list(object({ group: string(), version: string(), kind: string() }))),
          breakGlass: optional(string()),
          installation: optional(string()),
        }),
        { sharedBy: ['name'] },
      ),
    ),
    runLevels: optional(
      list(object({ level: integer(), since: string({ format: 'date-time' }), timedOut: optional(boolean()) })),
    ),
  },
  columns: [
    { name: 'State', type: 'string', jsonPath: '.status.state' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Message', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].message' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})
