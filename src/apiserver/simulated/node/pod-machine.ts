/**
 * A pod on its node as a state machine: its init containers in turn, then its containers in parallel, until all are
 * finished or the pod is deleted. `advancePod` returns what a kubelet would report now, and when that will change next.
 */
import { formatTime, parseTime } from '../../../kube/units/duration.ts'
import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '../../../kube/types/core/v1.ts'
import {
  type Advance,
  advance,
  type BackOff,
  earliest,
  isRestarted,
  type RestartPolicy,
  terminated,
} from './container-machine.ts'
import { containerScript, ephemeralScript, type Pace, podScript } from '../../kinds/pod/pod-script.ts'

/** What a pod gets from its node. */
interface PodHost {
  readonly hostIP: string
  podIP(): string
  readonly backOff: BackOff
  readonly pace: Pace
}

interface PodAdvance {
  readonly status: PodStatus
  readonly wakeAt: number | undefined
}

export function advancePod(pod: Pod, host: PodHost, now: number): PodAdvance {
  const before = pod.status ?? {}
  const startTime = before.startTime ?? formatTime(now)
  const since = parseTime(startTime) ?? now
  const startAt = since + podScript(pod, host.pace).startSeconds * 1000
  const inits = advanceInits(pod, host, startAt, now)
  const apps = advanceApps(pod, host, inits.isDone ? startAt : undefined, now)
  const deadline = pod.spec?.activeDeadlineSeconds
  const deadAt = deadline === undefined ? undefined : since + deadline * 1000
  const isDead = deadAt !== undefined && now >= deadAt
  const phase = isDead ? 'Failed' : phaseOf(pod, inits, apps)
  const isOver = phase === 'Succeeded' || phase === 'Failed'
  const settle = (status: ContainerStatus): ContainerStatus =>
    isOver && status.state?.running ? terminated(status, isDead ? 137 : 0, now) : status
  const containerStatuses = apps.map(({ status }) => settle(status))
  const initContainerStatuses = inits.advances.map(({ status }) => settle(status))
  const debuggers = advanceEphemeral(pod, host, startAt, now)
  const ephemeralContainerStatuses = debuggers.map(({ status }) => settle(status))
  const status: PodStatus = {
    ...before,
    observedGeneration: pod.metadata.generation ?? 0,
    phase,
    ...(isDead && {
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    }),
    hostIP: host.hostIP,
    hostIPs: [{ ip: host.hostIP }],
    ...addresses(pod, host, now >= startAt),
    startTime,
    ...(initContainerStatuses.length > 0 && { initContainerStatuses }),
    containerStatuses,
    ...(ephemeralContainerStatuses.length > 0 && { ephemeralContainerStatuses }),
  }
  const conditions = podConditionsOf(pod, status, inits.isDone, now)
  const all = [...inits.advances, ...apps, ...debuggers]
  const wakeAt = isOver ? undefined : earliest([deadAt, ...all.map((one) => one.wakeAt)])
  return { status: { ...status, conditions }, wakeAt }
}

function addresses(pod: Pod, host: PodHost, hasSandbox: boolean): Pick<PodStatus, 'podIP' | 'podIPs'> {
  if (pod.status?.podIP || !hasSandbox) return {}
  const podIP = pod.spec?.hostNetwork ? host.hostIP : host.podIP()
  return { podIP, podIPs: [{ ip: podIP }] }
}

interface Inits {
  readonly advances: readonly Advance[]
  /** Whether the regular containers may start. */
  readonly isDone: boolean
  /** Whether they never will. */
  readonly hasFailed: boolean
}

function advanceInits(pod: Pod, host: PodHost, startAt: number, now: number): Inits {
  const advances: Advance[] = []
  const policy = restartPolicy(pod)
  let isDone = true
  let hasFailed = false
  for (const container of pod.spec?.initContainers ?? []) {
    const isSidecar = container.restartPolicy === 'Always'
    const before = pod.status?.initContainerStatuses?.find(({ name }) => name === container.name)
    const one = advance(before, {
      pod,
      container,
      script: containerScript(pod, container, true, before?.restartCount ?? 0, host.pace),
      policy: isSidecar ? 'Always' : policy === 'Never' ? 'Never' : 'OnFailure',
      backOff: host.backOff,
      startAt: isDone ? startAt : undefined,
      waitingFor: 'PodInitializing',
      now,
    })
    advances.push(one)
    const { state, started } = one.status
    const isPassed = isSidecar ? started === true : state?.terminated?.exitCode === 0
    isDone &&= isPassed
    hasFailed ||= !isSidecar && policy === 'Never' && (state?.terminated?.exitCode ?? 0) !== 0
  }
  return {
    advances: advances.map(({ status, wakeAt }) => ({
      status: status.state?.terminated?.exitCode === 0 ? { ...status, ready: true } : status,
      wakeAt,
    })),
    isDone,
    hasFailed,
  }
}

function advanceApps(pod: Pod, host: PodHost, startAt: number | undefined, now: number): readonly Advance[] {
  const waitingFor = (pod.spec?.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating'
  return (pod.spec?.containers ?? []).map((container: Container) => {
    const before = pod.status?.containerStatuses?.find(({ name }) => name === container.name)
    return advance(before, {
      pod,
      container,
      script: containerScript(pod, container, false, before?.restartCount ?? 0, host.pace),
      policy: restartPolicy(pod),
      backOff: host.backOff,
      startAt,
      waitingFor,
      now,
    })
  })
}

/**
 * Ephemeral containers do not wait for init containers, are never restarted, and affect neither readiness nor phase.
 */
function advanceEphemeral(pod: Pod, host: PodHost, startAt: number, now: number): readonly Advance[] {
  return (pod.spec?.ephemeralContainers ?? []).map((container) => {
    const before = pod.status?.ephemeralContainerStatuses?.find(({ name }) => name === container.name)
    const { status, wakeAt } = advance(before, {
      pod,
      container,
      script: ephemeralScript(pod, container),
      policy: 'Never',
      backOff: host.backOff,
      startAt,
      waitingFor: 'ContainerCreating',
      now,
    })
    // A kubelet sets `started` of containers with probes, which an ephemeral container cannot have.
    const { started: _started, ...seen } = status
    return { status: { ...seen, ready: false }, wakeAt }
  })
}

function restartPolicy({ spec }: Pod): RestartPolicy {
  return (spec?.restartPolicy as RestartPolicy | undefined) ?? 'Always'
}

function phaseOf(pod: Pod, inits: Inits, apps: readonly Advance[]): string {
  if (inits.hasFailed) return 'Failed'
  const codes = apps.map(({ status }) => status.state?.terminated?.exitCode)
  const isOver = codes.every((code) => code !== undefined && !isRestarted(restartPolicy(pod), code))
  if (isOver && codes.length > 0) return codes.every((code) => code === 0) ? 'Succeeded' : 'Failed'
  const hasStarted = apps.some(
    ({ status }) => status.state?.running ?? status.state?.terminated ?? status.lastState?.terminated,
  )
  return hasStarted ? 'Running' : 'Pending'
}

/** The last status that a kubelet reports of a stopped pod. */
export function stoppedStatus(pod: Pod, exitCode: number, now: number): PodStatus {
  const before = pod.status ?? {}
  const stop = (status: ContainerStatus): ContainerStatus =>
    status.state?.running ? terminated(status, exitCode, now) : status
  const containerStatuses = (before.containerStatuses ?? []).map(stop)
  const inits = (before.initContainerStatuses ?? []).map(stop)
  const debuggers = (before.ephemeralContainerStatuses ?? []).map(stop)
  const hasSucceeded = containerStatuses.every(({ state }) => state?.terminated?.exitCode === 0)
  const status: PodStatus = {
    ...before,
    phase: hasSucceeded ? 'Succeeded' : 'Failed',
    ...(inits.length > 0 && { initContainerStatuses: inits }),
    containerStatuses,
    ...(debuggers.length > 0 && { ephemeralContainerStatuses: debuggers }),
  }
  return { ...status, conditions: podConditionsOf(pod, status, true, now) }
}

type Verdict = Pick<PodCondition, 'status' | 'reason' | 'message'>

function podConditionsOf(pod: Pod, status: PodStatus, isInitialized: boolean, now: number): readonly PodCondition[] {
  const known = pod.status?.conditions ?? []
  const isOver = status.phase === 'Succeeded' || status.phase === 'Failed'
  const containersReady = containersVerdict(status)
  const verdicts: readonly (readonly [string, Verdict])[] = [
    ['PodReadyToStartContainers', { status: status.podIP && !isOver ? 'True' : 'False' }],
    ['Initialized', initializedVerdict(status, isInitialized)],
    ['Ready', readyVerdict(pod, known, containersReady)],
    ['ContainersReady', containersReady],
    ['PodScheduled', { status: 'True' }],
  ]
  const own = verdicts.map(([type, verdict]) => {
    const before = known.find((condition) => condition.type === type)
    return {
      type,
      observedGeneration: pod.metadata.generation ?? 0,
      ...verdict,
      lastProbeTime: null,
      lastTransitionTime: (before?.status === verdict.status && before?.lastTransitionTime) || formatTime(now),
    } as unknown as PodCondition
  })
  const others = known.filter(({ type }) => !verdicts.some(([name]) => name === type))
  return [...own, ...others]
}

function initializedVerdict({ phase, initContainerStatuses = [] }: PodStatus, isInitialized: boolean): Verdict {
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' }
  if (isInitialized) return { status: 'True' }
  const waiting = initContainerStatuses.filter(({ ready }) => !ready).map(({ name }) => name)
  return {
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: [${waiting.join(' ')}]`,
  }
}

function containersVerdict({ phase, containerStatuses = [] }: PodStatus): Verdict {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' }
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' }
  const unready = containerStatuses.filter(({ ready }) => !ready).map(({ name }) => name)
  if (unready.length === 0) return { status: 'True' }
  return {
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: [${unready.join(' ')}]`,
  }
}

function readyVerdict({ spec }: Pod, known: readonly PodCondition[], containersReady: Verdict): Verdict {
  if (containersReady.status !== 'True') return containersReady
  const messages = (spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = known.find(({ type }) => type === conditionType)
    if (!condition) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`]
    if (condition.status === 'True') return []
    return [`the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`]
  })
  if (messages.length === 0) return { status: 'True' }
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: messages.join(', ') }
}
