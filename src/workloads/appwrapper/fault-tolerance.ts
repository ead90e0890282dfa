/** How patient AppWrappers are, by the configuration. */
import { durationToMs, parseDuration } from '../../kube/units/duration.ts'
import type { AppWrapperSettings } from '../configuration/appwrapper-section.ts'
import type { FaultTolerance } from '../core/phases/phase-settings.ts'

export function faultToleranceOf({ faultTolerance: own }: AppWrapperSettings): FaultTolerance {
  const ms = (text: string): number => durationToMs(parseDuration(text))
  return {
    admissionGraceMs: ms(own.admissionGracePeriod),
    warmupGraceMs: ms(own.warmupGracePeriod),
    failureGraceMs: ms(own.failureGracePeriod),
    retryPauseMs: ms(own.retryPausePeriod),
    retryLimit: own.retryLimit,
    forcefulDeletionGraceMs: ms(own.forcefulDeletionGracePeriod),
    gracePeriodCeilingMs: ms(own.gracePeriodCeiling),
    successTtlMs: ms(own.successTTLCeiling),
  }
}
