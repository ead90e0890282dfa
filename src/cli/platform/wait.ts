/** Waits for an Installation, with its messages as they change. */
import { systemClock } from '../../clock/system-clock.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { findCondition, isConditionTrue } from '../../kube/meta/condition.ts'
import { durationToMs, parseDuration } from '../../kube/units/duration.ts'
import { Installation, type InstallationObject } from '../../platform/installation/installation.ts'
import type { FlagValues } from '../command/command.ts'
import { cliErrors } from '../errors.ts'
import { findInstallation, type InstallationPlace } from './cluster-installation.ts'

export const waitFlags = {
  'no-wait': { type: 'boolean', help: 'return at once; the work goes on in the cluster' },
  timeout: { type: 'string', value: 'DURATION', help: 'how long to wait, such as 90s or 10m (default: 5m)' },
} as const

const usualTimeout = '5m'

/** @throws InvalidFlag */
export function readTimeout({ timeout = usualTimeout }: FlagValues<typeof waitFlags>): number {
  try {
    const ms = durationToMs(parseDuration(timeout))
    if (ms > 0) return ms
  } catch (error) {
    throw new MusterError(flagErrors.InvalidFlag, `--timeout ${timeout}: ${String(error)}`, { cause: error })
  }
  throw new MusterError(flagErrors.InvalidFlag, `--timeout ${timeout}: it must be longer than nothing.`)
}

interface WaitOptions {
  readonly timeoutMs: number
  /** Called with each message once. */
  readonly out: (line: string) => void
}

/**
 * Until this generation is ready, or has failed; then the Installation as it is.
 * @throws WaitTimedOut, PlatformMissing if no manager has looked at it
 */
export async function waitForReady(
  place: InstallationPlace,
  generation: number,
  options: WaitOptions,
): Promise<InstallationObject> {
  const isSeen = ({ status }: InstallationObject): boolean => (status?.observedGeneration ?? 0) >= generation
  const ended = await follow(place, options, {
    isOver(installation) {
      if (!installation) return true
      if (!isSeen(installation)) return false
      const isReady = isConditionTrue(installation.status?.conditions, 'Ready')
      return isReady ? hasRevision(installation) : hasFailed(installation)
    },
    isSaid: isSeen,
  })
  if (ended) return ended
  throw new MusterError(cliErrors.InstallationNotFound, `Installation ${nameOf(place)} was deleted meanwhile.`)
}

/** Until it is gone. @throws WaitTimedOut */
export async function waitForRemoval(place: InstallationPlace, options: WaitOptions): Promise<void> {
  await follow(place, options, { isOver: (installation) => installation === undefined, isSaid: () => true })
}

function hasRevision({ status = {} }: InstallationObject): boolean {
  return status.revision !== undefined
}

/** The wanted revision is not the active one, or nothing more is tried. */
export function hasFailed({ spec, status = {} }: InstallationObject): boolean {
  const { conditions, attempt, revision, lastGood } = status
  const isRemediated = isConditionTrue(conditions, 'Remediated') && attempt !== undefined
  if (isRemediated && attempt.revision !== revision) return true
  const { strategy } = spec.remediation
  const hasRemedy = strategy !== 'none' && (lastGood !== undefined || strategy === 'uninstall')
  // The next reconcile makes the last good revision the active one.
  return isConditionTrue(conditions, 'Stalled') && !(isRemediated && hasRemedy)
}

/** Why it has failed, or what it waits for. */
export function progressMessage({ status = {} }: InstallationObject): string | undefined {
  const { conditions } = status
  const [told] = ['Remediated', 'Stalled'].flatMap((type) => {
    const condition = findCondition(conditions, type)
    return condition?.status === 'True' ? [condition] : []
  })
  return told?.message ?? findCondition(conditions, 'Ready')?.message
}

interface Followed {
  /** Undefined: it is gone. */
  readonly isOver: (installation: InstallationObject | undefined) => boolean
  /** Whether its message is about what is waited for. */
  readonly isSaid: (installation: InstallationObject) => boolean
}

async function follow(
  place: InstallationPlace,
  { timeoutMs, out }: WaitOptions,
  { isOver, isSaid }: Followed,
): Promise<InstallationObject | undefined> {
  const { client, ref, signal: given } = place
  const late = new AbortController()
  const timer = systemClock.after(timeoutMs, () => late.abort())
  const signal = AbortSignal.any([given, late.signal])
  let said: string | undefined
  let last: InstallationObject | undefined
  /** Whether it is over. */
  const look = (installation: InstallationObject | undefined): boolean => {
    last = installation
    if (isOver(installation)) return true
    const message = installation && isSaid(installation) ? progressMessage(installation) : undefined
    if (message !== undefined && message !== said) out(message)
    said = message
    return false
  }
  try {
    for (;;) {
      const found = await findInstallation({ client, ref, signal })
      if (look(found)) return found
      // A watch ends after a while; it is opened again.
      const watching = {
        namespace: ref.namespace,
        fieldSelector: `metadata.name=${ref.name}`,
        resourceVersion: found?.metadata.resourceVersion,
        signal,
      }
      for await (const { type, object } of client.watch<InstallationObject>(Installation, watching)) {
        if (type === 'ERROR') break
        if (type !== 'BOOKMARK' && look(type === 'DELETED' ? undefined : object)) return last
      }
    }
  } catch (error) {
    if (!late.signal.aborted || given.aborted) throw error
    throw timedOut(place, last, timeoutMs)
  } finally {
    timer.cancel()
  }
}

function timedOut(place: InstallationPlace, last: InstallationObject | undefined, timeoutMs: number): MusterError {
  const about = `Installation ${nameOf(place)}`
  if (last?.status?.observedGeneration === undefined)
    return new MusterError(cliErrors.PlatformMissing, `No manager has looked at ${about} in ${timeoutMs / 1000} s.`)
  const message = progressMessage(last)
  return new MusterError(
    cliErrors.WaitTimedOut,
    `${about} is not done after ${timeoutMs / 1000} s${message === undefined ? '.' : `: ${message}`}`,
  )
}

function nameOf({ ref }: InstallationPlace): string {
  return `${ref.namespace}/${ref.name}`
}
