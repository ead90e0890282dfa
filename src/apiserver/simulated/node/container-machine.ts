/**
 * A container as a state machine: waiting, running, terminated, and around again, with a growing back-off when it keeps
 * terminating. Its whole state is its status, so a restarted simulation continues where it was.
 *
 * `advance` is a function of (status, script, now). It returns the new status and when it will change next.
 */
import { formatTime, parseTime } from '../../../kube/units/duration.ts'
import type { Container, ContainerState, ContainerStatus, Pod } from '../../../kube/types/core/v1.ts'
import type { ContainerScript } from '../../kinds/pod/pod-script.ts'

/** The restart back-off of each container. */
export interface BackOff {
  /** The delay before a container that terminated at this time is restarted. */
  delay(container: string, endedAt: number): number
  restarted(container: string, at: number): void
}

const initialDelayMs = 10_000
const maxDelayMs = 300_000

export function createBackOff(): BackOff {
  const delays = new Map<string, { readonly ms: number; readonly at: number }>()
  return {
    delay(container, endedAt) {
      const current = delays.get(container)
      // A container that ran for long enough starts with the shortest delay again.
      if (current && endedAt - current.at > 2 * maxDelayMs) delays.delete(container)
      return delays.get(container)?.ms ?? 0
    },
    restarted(container, at) {
      const ms = delays.get(container)?.ms
      delays.set(container, { ms: ms === undefined ? initialDelayMs : Math.min(2 * ms, maxDelayMs), at })
    },
  }
}

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never'

interface ContainerSituation {
  readonly pod: Pod
  readonly container: Container
  readonly script: ContainerScript
  readonly policy: RestartPolicy
  readonly backOff: BackOff
  /** The earliest start time; undefined: not known yet. */
  readonly startAt: number | undefined
  /** The reason for waiting until then. */
  readonly waitingFor: 'ContainerCreating' | 'PodInitializing'
  readonly now: number
}

export interface Advance {
  readonly status: ContainerStatus
  /** When the status will change next without an external event. */
  readonly wakeAt: number | undefined
}

export function advance(status: ContainerStatus | undefined, situation: ContainerSituation): Advance {
  const { now, script, startAt, container, pod, waitingFor } = situation
  const current = status ?? fresh(container, waitingFor)
  const { state = {}, lastState } = current
  if (state.running) return advanceRunning(current, situation)
  const ended = state.terminated ?? (state.waiting?.reason === 'CrashLoopBackOff' ? lastState?.terminated : undefined)
  if (ended) return advanceEnded(current, ended, situation)
  if (startAt === undefined || now < startAt) {
    return { status: { ...current, state: { waiting: { reason: waitingFor } } }, wakeAt: startAt }
  }
  if (!script.hasImage)
    return { status: { ...current, state: { waiting: imagePullBackOff(container) } }, wakeAt: undefined }
  return advanceRunning(start(current, pod, now), situation)
}

function fresh({ name, image = '' }: Container, reason: string): ContainerStatus {
  return {
    name,
    state: { waiting: { reason } },
    lastState: {},
    ready: false,
    restartCount: 0,
    image,
    imageID: '',
    started: false,
  }
}

function imagePullBackOff({ image = '' }: Container): NonNullable<ContainerState['waiting']> {
  return { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}": ErrImagePull: ${image}: not found` }
}

function start(status: ContainerStatus, pod: Pod, at: number): ContainerStatus {
  const { image, name, restartCount } = status
  return {
    ...status,
    state: { running: { startedAt: formatTime(at) } },
    imageID: `${image.replace(/:[^/:]*$/, '')}@sha256:${digits(image)}`,
    containerID: `containerd://${digits(`${pod.metadata.uid}/${name}/${restartCount}`)}`,
    started: true,
  }
}

/** 64 hexadecimal digits, deterministic for the text. */
function digits(text: string): string {
  let found = ''
  for (let part = 0; part < 8; part++) {
    let hash = 0x811c9dc5 ^ part
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0
    found += hash.toString(16).padStart(8, '0')
  }
  return found
}

function advanceRunning(status: ContainerStatus, situation: ContainerSituation): Advance {
  const { script, now } = situation
  const startedAt = timeOf(status.state?.running?.startedAt)
  const endsAt = script.runSeconds === undefined ? undefined : startedAt + script.runSeconds * 1000
  if (endsAt !== undefined && now >= endsAt) {
    const ended = terminated(status, script.exitCode, endsAt)
    return advanceEnded(ended, ended.state!.terminated!, situation)
  }
  const readyAt = script.readySeconds === undefined ? undefined : startedAt + script.readySeconds * 1000
  const isReady = readyAt !== undefined && now >= readyAt
  return {
    status: { ...status, ready: isReady, started: true },
    wakeAt: earliest([endsAt, isReady ? undefined : readyAt]),
  }
}

/** The status of a terminated container. */
export function terminated(status: ContainerStatus, exitCode: number, at: number): ContainerStatus {
  const { state, containerID } = status
  return {
    ...status,
    ready: false,
    started: false,
    state: {
      terminated: {
        exitCode,
        reason: exitCode === 0 ? 'Completed' : 'Error',
        startedAt: state?.running?.startedAt ?? formatTime(at),
        finishedAt: formatTime(at),
        ...(containerID && { containerID }),
      },
    },
  }
}

function advanceEnded(
  status: ContainerStatus,
  ended: NonNullable<ContainerState['terminated']>,
  situation: ContainerSituation,
): Advance {
  const { pod, container, policy, backOff, now } = situation
  if (!isRestarted(policy, ended.exitCode)) return { status, wakeAt: undefined }
  const endedAt = timeOf(ended.finishedAt)
  const delayMs = backOff.delay(container.name, endedAt)
  if (now >= endedAt + delayMs) {
    backOff.restarted(container.name, now)
    const { restartCount } = status
    const again = start({ ...status, lastState: { terminated: ended }, restartCount: restartCount + 1 }, pod, now)
    // The next transition happens in a later reconcile: a container that exits at once must not loop here.
    const next = { ...again, ready: false }
    return { status: next, wakeAt: now + 1000 }
  }
  const { name, namespace, uid } = pod.metadata
  const message = `back-off ${goSpan(delayMs)} restarting failed container=${container.name} pod=${name}_${namespace}(${uid})`
  const state = { waiting: { reason: 'CrashLoopBackOff', message } }
  return { status: { ...status, state, lastState: { terminated: ended } }, wakeAt: endedAt + delayMs }
}

export function isRestarted(policy: RestartPolicy, exitCode: number): boolean {
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0)
}

function goSpan(ms: number): string {
  const [minutes, seconds] = [Math.floor(ms / 60_000), (ms % 60_000) / 1000]
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`
}

function timeOf(text: string | undefined): number {
  return parseTime(text ?? '') ?? 0
}

export function earliest(moments: Iterable<number | undefined>): number | undefined {
  let first: number | undefined
  for (const moment of moments) if (moment !== undefined) first = Math.min(first ?? moment, moment)
  return first
}
