/** The life of an AppWrapper in its status: phase, transitions, timers and conditions. */
import { findCondition } from '../../kube/meta/condition.ts'
import { parseTime } from '../../kube/units/duration.ts'
import type { StatusReport } from '../../operator/controller.ts'
import { type Life, newLife, type Phase } from '../core/phases/phases.ts'
import type { AppWrapperObject, AppWrapperStatus, AppWrapperTransition } from './appwrapper.ts'
import { podSetsIn } from './wrapped-pods.ts'

/** Transitions that are kept. */
const mostTransitions = 20

export type AppWrapperReport = StatusReport<AppWrapperObject>

export function lifeOf({ metadata, status }: AppWrapperObject, now: number): Life {
  const phase = status?.phase
  if (!status || phase === undefined || phase === '') return newLife(parseTime(metadata.creationTimestamp ?? '') ?? now)
  const at = (text: string | undefined): number | undefined => (text === undefined ? undefined : parseTime(text))
  const { transitions = [], conditions, timers = {} } = status
  const stored: Phase = phase === 'Terminating' ? phaseBefore(transitions) : phase
  const last = transitions.at(-1)
  const before = transitions.findLastIndex((transition) => transition.phase !== stored)
  const entered = at(transitions[before + 1]?.time)
  const unhealthy = findCondition(conditions, 'Unhealthy')
  const ready = findCondition(conditions, 'PodsReady')
  // A status that another program wrote has no such conditions: the phase says it.
  const areThere = (type: string): boolean => {
    const condition = findCondition(conditions, type)
    return condition ? condition.status === 'True' : isActive(stored)
  }
  const podsSince = at(timers.pods)
  return {
    phase: stored,
    since: entered ?? now,
    why: { reason: last?.reason ?? '', message: last?.message ?? '' },
    isReserved: areThere('QuotaReserved'),
    isDeployed: areThere('ResourcesDeployed'),
    deployedAt: at(status.dispatchTime),
    firstDispatchAt: at(status.firstDispatchTime),
    deletingSince: at(timers.deleting),
    ...(unhealthy?.status === 'True' && {
      unhealthy: {
        reason: unhealthy.reason,
        message: unhealthy.message,
        since: at(timers.unhealthy) ?? at(unhealthy.lastTransitionTime) ?? now,
      },
    }),
    ...(ready &&
      podsSince !== undefined && {
        pods: { areReady: ready.status === 'True', since: podsSince, message: ready.message },
      }),
    isHolding: status.isHoldingCompletion ?? false,
    retries: status.resettingCount ?? 0,
    ...(status.requeuing && { requeuing: status.requeuing }),
    ...(status.placements && { placements: status.placements }),
  }
}

const isActive = (phase: Phase): boolean => phase !== 'Suspended' && phase !== 'Succeeded' && phase !== 'Failed'

/** MCAD had dispatched it: its objects are not ours, and stay as they are until it ends. */
export function isOfMcad({ status }: AppWrapperObject): boolean {
  return status?.v1beta1 !== undefined && status.phase === 'Running'
}

function phaseBefore(transitions: readonly AppWrapperTransition[]): Phase {
  const last = transitions.findLast(({ phase }) => phase !== 'Terminating')
  return (last?.phase ?? 'Suspended') as Phase
}

/** What is written; `entered` are the phases since the last look. */
export function reportOf(
  cr: AppWrapperObject,
  life: Life,
  entered: readonly Life[],
  { isDeleting }: { readonly isDeleting: boolean },
): AppWrapperReport {
  const { phase, isReserved, isDeployed, unhealthy, pods, deletingSince, requeuing } = life
  const timers = {
    ...(pods && { pods: timeText(pods.since) }),
    ...(unhealthy && { unhealthy: timeText(unhealthy.since) }),
    ...(deletingSince !== undefined && { deleting: timeText(deletingSince) }),
  }
  return {
    phase,
    resettingCount: life.retries,
    componentStatus: componentStatus(cr),
    transitions: transitionsOf(cr.status, life, entered),
    ...(life.deployedAt !== undefined && { dispatchTime: timeText(life.deployedAt) }),
    ...(life.firstDispatchAt !== undefined && { firstDispatchTime: timeText(life.firstDispatchAt) }),
    ...(Object.keys(timers).length > 0 && { timers }),
    ...(requeuing && { requeuing }),
    ...(life.placements && { placements: life.placements }),
    ...(life.isHolding && { isHoldingCompletion: true }),
    conditions: [
      {
        type: 'QuotaReserved',
        ...stated(isReserved, 'Reserved', phase === 'Suspended' ? life.why.reason : 'NotReserved'),
        message: isReserved
          ? 'Its quota and its place on the nodes are taken.'
          : phase === 'Suspended'
            ? life.why.message
            : 'Nothing of it needs any.',
      },
      {
        type: 'ResourcesDeployed',
        ...stated(isDeployed, 'Deployed', 'NotDeployed'),
        message: isDeployed ? 'Objects or pods of it may exist.' : 'Nothing of it exists.',
      },
      {
        type: 'PodsReady',
        ...stated(pods?.areReady ?? false, 'SufficientPodsReady', pods ? 'InsufficientPodsReady' : 'NoPods'),
        message: pods?.message ?? 'It has no pods yet.',
      },
      {
        type: 'Unhealthy',
        ...stated(unhealthy !== undefined, unhealthy?.reason ?? '', 'Healthy'),
        message: unhealthy?.message ?? 'No problem is known.',
      },
      {
        type: 'DeletingResources',
        ...stated(isDeleting, 'Deleting', 'NotDeleting'),
        message: isDeleting ? 'Its objects are being deleted.' : 'None of its objects is being deleted.',
      },
    ],
  }
}

function stated(
  isTrue: boolean,
  yes: string,
  no: string,
): { readonly status: 'True' | 'False'; readonly reason: string } {
  return { status: isTrue ? 'True' : 'False', reason: (isTrue ? yes : no) || 'Unknown' }
}

function transitionsOf(
  status: AppWrapperStatus | undefined,
  life: Life,
  entered: readonly Life[],
): readonly AppWrapperTransition[] {
  const known = status?.transitions ?? []
  const added = entered.map((one) => transitionTo(one))
  const last = [...known, ...added].at(-1)
  // Another reason to wait is news, too.
  const isNews = !last || last.reason !== life.why.reason || last.phase !== life.phase
  const news = isNews ? [transitionTo(life)] : []
  const all = [...known, ...added, ...news]
  return all.length > mostTransitions ? all.slice(-mostTransitions) : all
}

function transitionTo({ phase, since, why: { reason, message } }: Life): AppWrapperTransition {
  return { time: timeText(since), phase, reason, message }
}

function componentStatus(cr: AppWrapperObject): NonNullable<AppWrapperStatus['componentStatus']> {
  return podSetsIn(cr).map(({ template, podSets }) => {
    const named = { name: template.metadata.name ?? '', kind: template.kind, apiVersion: template.apiVersion }
    if (podSets.length === 0) return named
    return Object.assign(named, { podSets: podSets.map(({ path, replicas }) => ({ path, replicas })) })
  })
}

/** With milliseconds: timers begin at it. */
function timeText(ms: number): string {
  return new Date(ms).toISOString()
}
