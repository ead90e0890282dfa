/**
 * The steps of a reconcile and their order: a graph held as data.
 *
 * A step ends with events: it succeeded (`done`), failed, gave up, or the object is being deleted. Its children are
 * tried in order, and the first one for any of the events is next; the last is the default. The graph has no cycle, so
 * every walk ends.
 */

export type StepEvent = 'failed' | 'gaveUp' | 'finalizing' | 'done'

interface StepChild {
  readonly step: StepName
  readonly on: StepEvent
}

interface StepNode {
  /** In order of priority; empty at the end of the walk. */
  readonly children: readonly StepChild[]
}

interface StepGraph {
  readonly start: StepName
  readonly steps: Readonly<Record<StepName, StepNode>>
}

/** The steps that every controller has. */
export type StepName =
  | 'CRGetter'
  | 'CRChecker'
  | 'ObjectsGetter'
  | 'Mutator'
  | 'Updater'
  | 'SuccessManager'
  | 'CRFinalizer'
  | 'ErrorManager'
  | 'GiveUpManager'

const onFailure: readonly StepChild[] = [
  { step: 'ErrorManager', on: 'failed' },
  { step: 'GiveUpManager', on: 'gaveUp' },
]

/** A CR that is being deleted skips CRChecker: a mistake in it must not block the deletion. */
export const standardSteps: StepGraph = {
  start: 'CRGetter',
  steps: {
    CRGetter: {
      children: [...onFailure, { step: 'CRFinalizer', on: 'finalizing' }, { step: 'CRChecker', on: 'done' }],
    },
    CRChecker: { children: [...onFailure, { step: 'ObjectsGetter', on: 'done' }] },
    ObjectsGetter: { children: [...onFailure, { step: 'Mutator', on: 'done' }] },
    Mutator: { children: [...onFailure, { step: 'Updater', on: 'done' }] },
    Updater: { children: [...onFailure, { step: 'SuccessManager', on: 'done' }] },
    CRFinalizer: { children: [...onFailure, { step: 'SuccessManager', on: 'done' }] },
    SuccessManager: { children: onFailure },
    ErrorManager: { children: [] },
    GiveUpManager: { children: [] },
  },
}

/** The step after `step` when it ended with these events; undefined at the end. */
export function nextStep(step: StepName, events: readonly StepEvent[]): StepName | undefined {
  return standardSteps.steps[step].children.find(({ on }) => events.includes(on))?.step
}
