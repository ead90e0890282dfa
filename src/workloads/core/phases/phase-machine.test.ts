import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { intentOf, type PhaseStep, stepPhase } from './phase-machine.ts'
import { phaseSettings } from './phase-settings.ts'
import {
  type Life,
  newLife,
  noPods,
  type PhaseInput,
  type PhaseWishes,
  type PodCounts,
  type QueueDecision,
  type WrappedState,
} from './phases.ts'

const wishes: PhaseWishes = {
  isSuspended: false,
  lifeCycle: 'reset',
  expectedPods: 2,
  minAvailable: 0,
  requeuing: {},
}
const settings = phaseSettings(undefined)
const object: WrappedState = { subject: 'Job train', exists: true, isLeaving: false }
const input: PhaseInput = {
  wishes,
  settings,
  objects: [object],
  pods: noPods,
  hasLeftovers: true,
  decision: undefined,
  now: 0,
}
const start: QueueDecision = { what: 'start' }
const pods = (counts: Partial<PodCounts>): PodCounts => ({ ...noPods, ...counts })

/** A life that has come to a phase. */
function runningSince(now: number): Life {
  const dispatched = stepPhase(newLife(now), { ...input, decision: start, now }).life
  return stepPhase(dispatched, { ...input, pods: pods({ running: 2 }), now }).life
}

describe('the phase machine', () => {
  it('creates, resets and fails as its table says', () => {
    const cases: readonly (readonly [text: string, change: Partial<PhaseInput>, expected: string])[] = [
      ['suspended', { wishes: { ...wishes, isSuspended: true } }, 'Suspending Suspended'],
      ['evicted', { decision: { what: 'evict', reason: 'Preempted', message: 'by b' } }, 'Suspending Preempted'],
      ['missing', { objects: [{ ...object, exists: false }] }, 'Failed MissingComponent'],
      ['leaving', { objects: [{ ...object, isLeaving: true }] }, 'Failed MissingComponent'],
      ['failed', { objects: [{ ...object, failure: 'it broke' }] }, 'Resetting FailedComponent'],
      ['complete', { objects: [{ ...object, isComplete: true }], pods: noPods }, 'Succeeded Completed'],
      ['all succeeded', { pods: pods({ succeeded: 2 }) }, 'Succeeded PodsSucceeded'],
      ['some succeeded', { pods: pods({ succeeded: 1, running: 1 }) }, 'Running Deployed'],
      ['pods failed', { pods: pods({ running: 1, failed: 1 }) }, 'Running Deployed'],
      ['pods failed long ago', { pods: pods({ running: 1, failed: 1 }), now: 60_001 }, 'Running Deployed'],
      ['too few pods', { pods: pods({ running: 1, pending: 1 }), now: 300_001 }, 'Running Deployed'],
      ['sick node', { pods: pods({ running: 2, onSickNode: 'Pod a' }) }, 'Resetting AutopilotNoExecute'],
      ['limit', { wishes: { ...wishes, limitSeconds: 10 }, now: 10_000 }, 'Failed DispatchDeadlineExceeded'],
      ['before the limit', { wishes: { ...wishes, limitSeconds: 10 }, now: 9999 }, 'Running Deployed'],
    ]
    const was = runningSince(0)
    for (const [text, change, expected] of cases) {
      const { life } = stepPhase(was, { ...input, pods: pods({ running: 2 }), ...change })
      expect(`${text}: ${life.phase} ${life.why.reason}`).toBe(`${text}: ${expected}`)
    }
  })

  it('waits for its grace periods from the moment that the trouble began', () => {
    const failing = { ...input, pods: pods({ running: 1, failed: 1, exitCodes: [1] }) }
    const noticed = stepPhase(runningSince(0), { ...failing, now: 5000 })
    expect([noticed.life.unhealthy?.since, noticed.lookAt]).toEqual([5000, 65_000])
    expect(stepPhase(noticed.life, { ...failing, now: 64_999 }).life.phase).toBe('Running')
    expect(stepPhase(noticed.life, { ...failing, now: 65_000 }).life).toMatchObject({ phase: 'Resetting', retries: 1 })
    const late = { ...input, pods: pods({ running: 1, pending: 1 }) }
    const fewer = stepPhase(runningSince(0), { ...late, now: 1000 })
    expect(fewer.lookAt).toBe(301_000)
    expect(stepPhase(fewer.life, { ...late, now: 301_000 }).life.phase).toBe('Resetting')
    const absent = { ...input, pods: pods({ running: 1 }) }
    expect(
      stepPhase(stepPhase(runningSince(0), { ...absent, now: 1000 }).life, { ...absent, now: 61_000 }).life.phase,
    ).toBe('Resetting')
  })

  it('fails at once with an exit code that is not retried, and after the last try', () => {
    const terminal = phaseSettings({ 'workload.codeflare.dev.appwrapper/terminalExitCodes': '3,10' })
    const failing = { ...input, settings: terminal, pods: pods({ failed: 1, exitCodes: [3] }) }
    expect(stepPhase(runningSince(0), failing).life.why.reason).toBe('TerminalExitCode')
    const tired = { ...runningSince(0), retries: 3 }
    const { life } = stepPhase(tired, { ...input, objects: [{ ...object, failure: 'again' }] })
    expect(life).toMatchObject({ phase: 'Failed', retries: 3, isReserved: true, isDeployed: true })
  })

  it('deletes what is left after a failure as late as asked, by force when it is late', () => {
    const patient = phaseSettings({
      'workload.codeflare.dev.appwrapper/deletionOnFailureGracePeriodDuration': '60s',
      'workload.codeflare.dev.appwrapper/forcefulDeletionGracePeriodDuration': '30s',
    })
    const gone = { ...input, settings: patient, objects: [{ ...object, exists: false }] }
    const failed = stepPhase(runningSince(0), gone).life
    const intent = (now: number, isSuspended = false) =>
      intentOf(failed, { settings: patient, wishes: { ...wishes, isSuspended }, now })
    expect(intent(59_999)).toEqual({ what: 'nothing' })
    expect(intent(10_000, true)).toEqual({ what: 'delete', isForced: false })
    expect(intent(60_000)).toEqual({ what: 'delete', isForced: false })
    expect(intent(90_000)).toEqual({ what: 'delete', isForced: true })
    const left = stepPhase(failed, { ...gone, now: 70_000 })
    expect(left.life).toMatchObject({ isReserved: true, isDeployed: true })
    const over = stepPhase(failed, { ...gone, hasLeftovers: false, now: 70_000 })
    expect(over.life).toMatchObject({ phase: 'Failed', isReserved: false, isDeployed: false })
  })
})

/** A cluster as far as one AppWrapper sees it: objects and pods come and go as the intents say, at their own pace. */
interface World {
  life: Life
  hasObject: boolean
  podCount: number
  now: number
  isDone: boolean
}

const steps = fc.array(
  fc.record({
    ms: fc.integer({ min: 0, max: 400_000 }),
    isSuspended: fc.boolean(),
    decision: fc.constantFrom<QueueDecision | undefined>(
      undefined,
      start,
      start,
      { what: 'wait', reason: 'InsufficientQuota', message: 'x' },
      { what: 'evict', reason: 'Preempted', message: 'y' },
    ),
    works: fc.boolean(),
    running: fc.integer({ min: 0, max: 2 }),
    failed: fc.integer({ min: 0, max: 1 }),
    completes: fc.boolean(),
    isRobbed: fc.boolean(),
  }),
  { maxLength: 60 },
)

describe('any history of an AppWrapper', () => {
  it('keeps the laws of quota, phases and time', () => {
    fc.assert(
      fc.property(steps, fc.constantFrom<'reset' | 'requeue'>('reset', 'requeue'), (history, lifeCycle) => {
        const world: World = { life: newLife(0), hasObject: false, podCount: 0, now: 0, isDone: false }
        for (const one of history) {
          world.now += one.ms
          const asked = { ...wishes, lifeCycle, minAvailable: 2, isSuspended: one.isSuspended && one.ms % 7 === 0 }
          const base = { settings, wishes: asked, now: world.now }
          const intent = intentOf(world.life, base)
          if (intent.what === 'create' && one.works) [world.hasObject, world.podCount] = [true, 2]
          if (intent.what === 'delete' && one.works)
            [world.hasObject, world.podCount] = [false, world.hasObject ? 2 : 0]
          if (one.isRobbed && one.ms % 11 === 0) world.hasObject = false
          const [running, failed] = [Math.min(one.running, world.podCount), world.podCount > 0 ? one.failed : 0]
          const state: PhaseInput = {
            ...base,
            decision: one.decision,
            objects: [
              { ...object, exists: world.hasObject, isComplete: world.hasObject && one.completes && one.ms % 3 === 0 },
            ],
            pods: pods({ running, failed, pending: world.podCount - running }),
            hasLeftovers: world.hasObject || world.podCount > 0,
          }
          const before = world.life
          const step = stepPhase(before, state)
          expect(broken(before, step, state)).toEqual([])
          world.life = step.life
        }
      }),
    )
  })
})

/** The laws that a step breaks. */
function broken(
  before: Life,
  { life, entered, lookAt }: PhaseStep,
  { hasLeftovers, now }: PhaseInput,
): readonly string[] {
  const isActive = life.phase === 'Resuming' || life.phase === 'Running' || life.phase === 'Resetting'
  const isFinal = before.phase === 'Succeeded' || before.phase === 'Failed'
  const isDispatched = entered.length === 1 && entered[0]!.phase === 'Resuming'
  const laws: Readonly<Record<string, boolean>> = {
    'the end is the end': !isFinal || life.phase === before.phase,
    'quota is free when all of it is gone, or it has succeeded':
      !before.isReserved || life.isReserved || life.phase === 'Succeeded' || !hasLeftovers,
    'what is left is known': !before.isDeployed || life.isDeployed || !hasLeftovers,
    'quota is reserved by a dispatch': before.isReserved || !life.isReserved || isDispatched,
    'what may have objects is accounted for': !isActive || (life.isReserved && life.isDeployed),
    'what waits has nothing': life.phase !== 'Suspended' || (!life.isReserved && !life.isDeployed),
    'time goes forward': life.since >= before.since && (lookAt === undefined || lookAt >= now),
    'tries are counted up to the limit': life.retries >= before.retries && life.retries <= settings.retryLimit,
    'requeuings are counted': (life.requeuing?.count ?? 0) >= (before.requeuing?.count ?? 0),
    'the first dispatch is the first':
      before.firstDispatchAt === undefined || life.firstDispatchAt === before.firstDispatchAt,
  }
  return Object.entries(laws).flatMap(([law, holds]) => (holds ? [] : [law]))
}
