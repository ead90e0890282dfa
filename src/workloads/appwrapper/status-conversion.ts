/**
 * The status between the versions. Both directions keep the original beside what is derived from it, and return to it as long as
 * the derived part is as it was: a client of v1beta1 that writes back what it has read changes nothing.
 */
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import { formatMicroTime, parseTime } from '../../kube/units/duration.ts'

/** The stored status as v1beta1 shows it. */
export function statusToV1beta1(stored: JsonObject): JsonObject {
  const { v1beta1: original, ...rest } = stored
  if (isJsonObject(original) && equalJson(derivedStatus(original), rest)) return original
  return { ...derivedV1beta1(rest), v1beta2: stored }
}

/** A status of v1beta1 as it is stored. */
export function statusFromV1beta1(status: JsonObject): JsonObject {
  const { v1beta2: original, ...rest } = status
  if (isJsonObject(original)) {
    const { v1beta1: _, ...shown } = original
    if (equalJson(derivedV1beta1(shown), rest)) return original
  }
  return { ...derivedStatus(rest), v1beta1: rest }
}

const states: Readonly<Record<string, string>> = {
  Suspended: 'Pending',
  Resuming: 'Running',
  Running: 'Running',
  Resetting: 'Running',
  Suspending: 'Pending',
  Succeeded: 'Completed',
  Failed: 'Failed',
  Terminating: 'Deleted',
}

const jobStates: Readonly<Record<string, string>> = {
  Suspended: 'Queueing',
  Resuming: 'Dispatched',
  Running: 'Running',
  Resetting: 'PreemptCandidate',
  Suspending: 'PreemptCandidate',
  Succeeded: 'Completed',
  Failed: 'Failed',
  Terminating: 'Deleted',
}

/** The reason for which v1beta1 has a state of its own. */
const requeuedTooOften = 'MaximumRequeuings'

function derivedV1beta1(stored: JsonObject): JsonObject {
  const phase = textOf(stored['phase'])
  if (phase === '') return {}
  const transitions = objectsIn(stored['transitions'])
  const last = transitions.at(-1)
  const isHolding = stored['isHoldingCompletion'] === true
  const isGivenUp = phase === 'Failed' && textOf(last?.['reason']) === requeuedTooOften
  const requeuing = isJsonObject(stored['requeuing']) ? stored['requeuing'] : undefined
  const reserved = objectsIn(stored['conditions']).find(({ type }) => type === 'QuotaReserved')
  const isRunning = phase === 'Resuming' || phase === 'Running'
  return {
    state: isHolding ? 'RunningHoldCompletion' : isGivenUp ? 'Deleted' : (states[phase] ?? ''),
    queuejobstate: isHolding
      ? 'RunningHoldCompletion'
      : isGivenUp
        ? 'Deleted'
        : isWaiting(phase, reserved)
          ? 'Backoff'
          : (jobStates[phase] ?? ''),
    canrun: isRunning,
    isdispatched: isRunning,
    ...(phase === 'Suspended' && reserved && { message: textOf(reserved['message']) }),
    ...(transitions[0] && { controllerfirsttimestamp: microTime(transitions[0]['time']) }),
    ...(stored['firstDispatchTime'] !== undefined && {
      controllerfirstdispatchtimestamp: microTime(stored['firstDispatchTime']),
    }),
    ...(requeuing && {
      numberOfRequeueings: requeuing['count'],
      requeueingTimeInSeconds: requeuing['seconds'],
    }),
    conditions: transitions.map(conditionOf),
  }
}

const isWaiting = (phase: string, reserved: JsonObject | undefined): boolean =>
  phase === 'Suspended' && reserved?.['status'] === 'False'

/** An entry of the log of v1beta1. */
function conditionOf({ time, phase, reason, message }: JsonObject): JsonObject {
  const [type, word] = conditionNames(textOf(phase), textOf(reason))
  return {
    type,
    status: 'True',
    reason: word,
    message: textOf(message),
    lastUpdateMicroTime: microTime(time),
    lastTransitionMicroTime: microTime(time),
  }
}

function conditionNames(phase: string, reason: string): readonly [type: string, reason: string] {
  switch (phase) {
    case 'Suspended':
      if (reason === 'Created') return ['Queueing', 'AwaitingHeadOfLine']
      if (preempted.has(reason)) return ['Backoff', 'PreemptionTriggered']
      if (reason === 'InsufficientQuota') return ['Backoff', 'quota limit exceeded']
      return ['Backoff', 'AppWrapperNotRunnable.']
    case 'Resuming':
      return ['Dispatched', 'AppWrapperRunnable']
    case 'Running':
      return ['Running', 'PodsRunning']
    case 'Resetting':
    case 'Suspending':
      return ['PreemptCandidate', reason]
    case 'Succeeded':
      return ['Completed', 'PodsCompleted']
    case 'Failed':
      if (reason === requeuedTooOften) return ['Deleted', reason]
      return ['Failed', reason === 'CreateFailed' ? 'ItemCreationFailure.' : reason]
    default:
      return [phase, reason]
  }
}

const preempted: ReadonlySet<string> = new Set(['MinPodsNotRunning', 'PodsFailedScheduling', 'Preempted'])

const phases: Readonly<Record<string, string>> = {
  Pending: 'Suspended',
  Running: 'Running',
  RunningHoldCompletion: 'Running',
  Completed: 'Succeeded',
  Failed: 'Failed',
  Deleted: 'Failed',
}

/** What a status of MCAD means: as much as is needed to go on with it. */
function derivedStatus(status: JsonObject): JsonObject {
  const state = textOf(status['state'])
  const phase = Object.hasOwn(phases, state) ? phases[state]! : undefined
  const count = numberIn(status['numberOfRequeueings'])
  const dispatched = parseTime(textOf(status['controllerfirstdispatchtimestamp']))
  return {
    ...(phase !== undefined && { phase }),
    ...(state === 'RunningHoldCompletion' && { isHoldingCompletion: true }),
    ...(count !== undefined && {
      requeuing: { count, seconds: numberIn(status['requeueingTimeInSeconds']) ?? 0 },
    }),
    ...(dispatched !== undefined && { firstDispatchTime: new Date(dispatched).toISOString() }),
  }
}

function microTime(time: Json | undefined): string {
  const ms = parseTime(textOf(time))
  return ms === undefined ? '' : formatMicroTime(ms)
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

function numberIn(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return isJsonArray(value) ? value.filter(isJsonObject).map((each) => asJson(each)) : []
}
