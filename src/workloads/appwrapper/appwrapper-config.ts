/** Settings of AppWrappers, by the names that the AppWrapper operator uses; durations are those of Go (`1m30s`). */
import { durationToMs, parseDuration } from '../../kube/units/duration.ts'
import { type Config, type ConfigOf, defineConfig } from '../../operator/config.ts'
import { boolean, type Field, integer, list, map, object, oneOf, string } from '../../operator/kind/field.ts'
import type { FaultTolerance } from '../core/phase-settings.ts'

const duration = (description: string, value: string) =>
  string({ description, default: value, pattern: String.raw`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`, maxLength: 32 })

const faultTolerance = {
  admissionGracePeriod: duration('until all pods exist', '1m'),
  warmupGracePeriod: duration('until all pods run', '5m'),
  failureGracePeriod: duration('from the first failed pod', '1m'),
  resetPause: duration('before the next try', '1m30s'),
  retryLimit: integer({ default: 3, minimum: 0, description: 'how often an AppWrapper is tried again' }),
  deletionGracePeriod: duration('until what ignores its deletion is deleted by force', '10m'),
  gracePeriodCeiling: duration('no grace period that an annotation sets is longer', '24h'),
  successTTLCeiling: duration('how long objects stay after success, at most', '168h'),
} as const

const taint = object({
  key: string({ maxLength: 317 }),
  value: string({ maxLength: 63 }),
  effect: oneOf(['NoExecute', 'NoSchedule', 'PreferNoSchedule']),
})

const health = 'autopilot.ibm.com/gpuhealth'
const healthTaints = [
  { key: health, value: 'WARN', effect: 'PreferNoSchedule' },
  { key: health, value: 'TESTING', effect: 'NoSchedule' },
  { key: health, value: 'EVICT', effect: 'NoExecute' },
] as const

const autopilot = {
  injectAntiAffinities: boolean({ default: true, description: 'pods avoid nodes whose resources are labelled as sick' }),
  monitorNodes: boolean({ default: true, description: 'what runs on such a node is moved' }),
  preferNoScheduleWeight: integer({ default: 50, minimum: 1, maximum: 100 }),
  resourceTaints: map(list(taint, { maxItems: 50 }), {
    default: { 'nvidia.com/gpu': healthTaints },
    description: 'by resource: node labels that say that it is sick',
  }),
} as const

export type ResourceTaint = {
  readonly key: string
  readonly value: string
  readonly effect: 'NoExecute' | 'NoSchedule' | 'PreferNoSchedule'
}

interface FaultToleranceSettings {
  readonly admissionGracePeriod: string
  readonly warmupGracePeriod: string
  readonly failureGracePeriod: string
  readonly resetPause: string
  readonly retryLimit: number
  readonly deletionGracePeriod: string
  readonly gracePeriodCeiling: string
  readonly successTTLCeiling: string
}

export interface AutopilotSettings {
  readonly injectAntiAffinities: boolean
  readonly monitorNodes: boolean
  readonly preferNoScheduleWeight: number
  readonly resourceTaints: Readonly<Record<string, readonly ResourceTaint[]>>
}

type AppWrapperFields = {
  readonly userRBACAdmissionCheck: Field<boolean, boolean, 'defaulted'>
  readonly schedulerName: Field<string, string, 'defaulted'>
  readonly defaultQueueName: Field<string, string, 'defaulted'>
  readonly autopilot: Field<AutopilotSettings, Partial<AutopilotSettings>, 'defaulted'>
  readonly faultTolerance: Field<FaultToleranceSettings, Partial<FaultToleranceSettings>, 'defaulted'>
}

export const appWrapperFields: AppWrapperFields = {
  userRBACAdmissionCheck: boolean({
    default: true,
    description: 'a user can wrap only what the user could create without an AppWrapper',
  }),
  schedulerName: string({ default: '', maxLength: 253, description: 'the scheduler of pods that name none' }),
  defaultQueueName: string({ default: '', maxLength: 63, description: 'the queue of AppWrappers that name none' }),
  autopilot: object(autopilot, { default: {} }),
  faultTolerance: object(faultTolerance, { default: {} }),
}

export const appWrapperConfig: Config<AppWrapperFields> = defineConfig(appWrapperFields)
export type AppWrapperSettings = ConfigOf<typeof appWrapperConfig>

export function faultToleranceOf({ faultTolerance: own }: Pick<AppWrapperSettings, 'faultTolerance'>): FaultTolerance {
  const ms = (text: string): number => durationToMs(parseDuration(text))
  return {
    admissionGraceMs: ms(own.admissionGracePeriod),
    warmupGraceMs: ms(own.warmupGracePeriod),
    failureGraceMs: ms(own.failureGracePeriod),
    retryPauseMs: ms(own.resetPause),
    retryLimit: own.retryLimit,
    forcefulDeletionGraceMs: ms(own.deletionGracePeriod),
    gracePeriodCeilingMs: ms(own.gracePeriodCeiling),
    successTtlMs: ms(own.successTTLCeiling),
  }
}
