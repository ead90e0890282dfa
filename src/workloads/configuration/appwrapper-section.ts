/** The section `appwrapper`: how patient AppWrappers are, and what users may wrap. The names and defaults are those of AppWrapper v1beta2. */
import { duration } from '../../manager/config/setting-fields.ts'
import {
  boolean,
  type Field,
  type FieldOptions,
  integer,
  list,
  map,
  object,
  oneOf,
  optional,
  string,
} from '../../operator/kind/field.ts'

export interface AppWrapperSettings {
  readonly userRBACAdmissionCheck: boolean
  readonly schedulerName: string
  readonly defaultQueueName: string
  readonly autopilot: AutopilotSettings
  readonly faultTolerance: FaultToleranceSettings
}

export interface AutopilotSettings {
  readonly injectAntiAffinities: boolean
  readonly monitorNodes: boolean
  readonly preferNoScheduleWeight: number
  /** By resource: the labels of nodes that say that it is not healthy there. */
  readonly resourceTaints: Readonly<Record<string, readonly ResourceTaint[]>>
}

export interface ResourceTaint {
  readonly key: string
  readonly value?: string
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
}

/** Durations, such as 5m. */
interface FaultToleranceSettings {
  readonly admissionGracePeriod: string
  readonly warmupGracePeriod: string
  readonly failureGracePeriod: string
  readonly retryPausePeriod: string
  readonly retryLimit: number
  readonly forcefulDeletionGracePeriod: string
  readonly gracePeriodCeiling: string
  readonly successTTLCeiling: string
}

const gpuHealth = 'autopilot.ibm.com/gpuhealth'

/** As Autopilot labels nodes. */
const gpuTaints: readonly ResourceTaint[] = [
  { key: gpuHealth, value: 'WARN', effect: 'PreferNoSchedule' },
  { key: gpuHealth, value: 'TESTING', effect: 'NoSchedule' },
  { key: gpuHealth, value: 'EVICT', effect: 'NoExecute' },
]

const taint: Field<ResourceTaint, unknown> = object({
  key: string({ minLength: 1, maxLength: 317 }),
  value: optional(string({ maxLength: 63 })),
  effect: oneOf(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
})

const notLonger = (period: string, limit: string): NonNullable<FieldOptions<unknown>['rules']>[number] => ({
  rule: `duration(self.${period}) <= duration(self.${limit})`,
  message: `${period} is longer than ${limit}`,
})

const faultTolerance: Field<FaultToleranceSettings, unknown, 'defaulted'> = object(
  {
    admissionGracePeriod: duration('1m', 'Until all pods of an AppWrapper exist.'),
    warmupGracePeriod: duration('5m', 'Until all of them run.'),
    failureGracePeriod: duration('1m', 'From the first failed pod until the AppWrapper is reset.'),
    retryPausePeriod: duration('90s', 'Before the next try.'),
    retryLimit: integer({ minimum: 0, maximum: 1_000_000, default: 3, description: 'Tries after the first one.' }),
    forcefulDeletionGracePeriod: duration(
      '10m',
      'Until pods and objects that ignore their deletion are deleted by force.',
    ),
    gracePeriodCeiling: duration('24h', 'No grace period is longer, whatever annotations say.'),
    successTTLCeiling: duration('168h', 'How long the objects of an AppWrapper that succeeded stay, at most.'),
  },
  {
    default: {},
    description: 'Defaults of the annotations workload.codeflare.dev.appwrapper/….',
    rules: [
      notLonger('admissionGracePeriod', 'warmupGracePeriod'),
      notLonger('admissionGracePeriod', 'gracePeriodCeiling'),
      notLonger('warmupGracePeriod', 'gracePeriodCeiling'),
      notLonger('failureGracePeriod', 'gracePeriodCeiling'),
      notLonger('retryPausePeriod', 'gracePeriodCeiling'),
      notLonger('forcefulDeletionGracePeriod', 'gracePeriodCeiling'),
      {
        rule: "duration(self.successTTLCeiling) > duration('0s')",
        message: 'successTTLCeiling must be longer than 0s',
      },
    ],
  },
)

export const appWrapperField: Field<AppWrapperSettings, unknown, 'defaulted'> = object(
  {
    userRBACAdmissionCheck: boolean({
      default: true,
      description: 'Users may wrap only what they may create themselves.',
    }),
    schedulerName: string({ default: '', description: 'Of pods that name no scheduler. Empty: the default one.' }),
    defaultQueueName: string({
      default: '',
      maxLength: 253,
      description: 'The LocalQueue of AppWrappers that name none. Empty: the LocalQueue default, where there is one.',
    }),
    autopilot: object(
      {
        injectAntiAffinities: boolean({ default: true, description: 'Pods keep away from nodes with these labels.' }),
        monitorNodes: boolean({ default: true, description: 'AppWrappers leave nodes whose labels say NoExecute.' }),
        preferNoScheduleWeight: integer({ minimum: 1, maximum: 100, default: 50, description: 'Of the preference.' }),
        resourceTaints: map(list(taint, { maxItems: 100 }), {
          default: { 'nvidia.com/gpu': gpuTaints },
          maxProperties: 100,
          description: 'By resource: labels of nodes on which it is not healthy.',
        }),
      },
      { default: {}, description: 'Nodes whose health Autopilot reports by labels.' },
    ),
    faultTolerance,
  },
  { default: {}, description: 'The AppWrappers themselves.' },
)
