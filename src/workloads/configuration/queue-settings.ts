/** The settings as options of the queue and of quota. */
import { durationMs } from '../../manager/config/setting-fields.ts'
import type { QuotaOptions } from '../quota/quota-model.ts'
import type { McadSettings } from './mcad-section.ts'
import type { WorkloadsSettings } from './workloads-config.ts'

interface QueueSettings {
  readonly dynamicPriority: boolean
  readonly headOfLineHoldingMs: number
  readonly preemption: boolean
  readonly fairSharing: boolean
}

export function queueSettings(mcad: McadSettings): QueueSettings {
  const { dynamicPriority, preemption, fairSharing, headOfLineHoldingTime } = mcad
  return {
    dynamicPriority,
    headOfLineHoldingMs: headOfLineHoldingTime * 1000,
    // A priority that grows would make two AppWrappers evict each other in turns.
    preemption: preemption && !dynamicPriority,
    fairSharing,
  }
}

export function quotaSettings({ mcad, appwrapper }: Pick<WorkloadsSettings, 'mcad' | 'appwrapper'>): QuotaOptions {
  const { quotaEnabled, kueueQueues } = mcad
  const { defaultQueueName } = appwrapper
  return {
    quotaEnabled,
    preemption: queueSettings(mcad).preemption,
    kueueEnabled: kueueQueues,
    ...(defaultQueueName !== '' && { defaultQueueName }),
  }
}

/** How long after its objects were created an AppWrapper has room for pods that are not there. */
export function reservationMs({ dispatchResourceReservationTimeout }: McadSettings): number {
  return dispatchResourceReservationTimeout
}

/** What each AppWrapper may run before it is evicted for another one. */
export function minimumRunMs({ minimumRunTime }: McadSettings): number {
  return durationMs(minimumRunTime)
}

/**
 * How long an AppWrapper stays away whose pods found no room: the queue saw some, and would see it again. One that does not fit does
 * not need a pause, since it is considered whenever room appears, and holds back no other one.
 */
export function backoffTimeMs({ backoffTime }: McadSettings): number {
  return backoffTime * 1000
}
