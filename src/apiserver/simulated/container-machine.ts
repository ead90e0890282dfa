/**
 * A container as a state machine: waiting, running, terminated, and round again, with longer and longer pauses when it
 * keeps ending. Its whole state is what its status says, so a cluster that was stopped goes on where it was.
 *
 * `advance` is a function of (status, script, now). It says how the container stands and when it will stand differently.
 */
import { formatTime, parseTime } from '../../kube/duration.ts'
import type { Container, ContainerState, ContainerStatus, Pod } from '../../kube/types/core/v1.ts'
import type { ContainerScript } from '../kinds/pod-script.ts'

/** The pauses between restarts, of each container that had one. */
export interface BackOff {
  /** How long to wait after an end at this moment. */
  delay(container: string, endedAt: number): number
  restarted(container: string, at: number): void
}

const firstPauseMs = 10_000
const longestPauseMs = 300_000

export function createBackOff(): BackOff {
  const pauses = new Map<string, { readonly ms: number; readonly at: number }>()
  return {
    delay(container, endedAt) {
      const pause = pauses.get(container)
      // Who held out for long is forgiven.
      if (pause && endedAt - pause.at > 2 * longestPauseMs) pauses.delete(container)
      return pauses.get(container)?.ms ?? 0
    },
    restarted(container, at) {
      const ms = pauses.get(container)?.ms
      pauses.set(container, { ms: ms === undefined ? firstPauseMs : Math.min(2 * ms, longestPauseMs), at })
    },
  }
}

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never'

export interface ContainerSituation {
  readonly pod: Pod
  readonly container: Container
  readonly script: ContainerScript
  readonly policy: RestartPolicy
  readonly backOff: BackOff
  /** From when on it may start; undefined: not yet. */
  readonly startAt: number | undefined
  /** What it waits for until then. */
  readonly waitingFor: 'ContainerCreating' | 'PodInitializing'
  readonly now: number
}

export interface Advance {
  readonly status: ContainerStatus
  /** When it will stand differently by itself. */
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
    return { status: { ...current, state: { waiting: imageTrouble(container) } }, wakeAt: undefined }
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

function imageTrouble({ image = '' }: Container): NonNullable<ContainerState['waiting']> {
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

/** 64 hexadecimal digits that are always the same for the same text. */
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

/** The container as one that has ended. */
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
  const pause = backOff.delay(container.name, endedAt)
  if (now >= endedAt + pause) {
    backOff.restarted(container.name, now)
    const { restartCount } = status
    const again = start({ ...status, lastState: { terminated: ended }, restartCount: restartCount + 1 }, pod, now)
    // The next thing that happens to it happens at a later look: a container that ends at once must not spin.
    const next = { ...again, ready: false }
    return { status: next, wakeAt: now + 1000 }
  }
  const { name, namespace, uid } = pod.metadata
  const message = `back-off ${goSpan(pause)} restarting failed container=${container.name} pod=${name}_${namespace}(${uid})`
  const state = { waiting: { reason: 'CrashLoopBackOff', message } }
  return { status: { ...status, state, lastState: { terminated: ended } }, wakeAt: endedAt + pause }
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
