/**
 * The steps of a reconcile and their order: a graph held as data, so that it can be checked and drawn.
 *
 * A step ends with events: it succeeded (`done`), failed, gave up, or the object is being deleted. Its children are
 * tried in order, and the first one for any of the events is next; the last is the default. The path is recorded, and a
 * walk that does not end is cut off.
 */
import { MusterError } from '../kube/errors.ts'

export type StepEvent = 'failed' | 'gaveUp' | 'finalizing' | 'done'

interface StepChild {
  readonly step: string
  readonly on: StepEvent
}

interface StepNode {
  /** In order of priority; empty at the end of the walk. */
  readonly children: readonly StepChild[]
}

export interface StepGraph {
  readonly start: string
  readonly steps: Readonly<Record<string, StepNode>>
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

/** The longest walk; it stops a graph with a cycle. */
export const mostHops = 100

/** The step after `step` when it ended with these events; undefined at the end. */
export function nextStep(graph: StepGraph, step: string, events: readonly StepEvent[]): string | undefined {
  return childrenOf(graph, step).find(({ on }) => events.includes(on))?.step
}

function childrenOf({ steps }: StepGraph, name: string): readonly StepChild[] {
  return Object.hasOwn(steps, name) ? steps[name]!.children : []
}

/** @throws InvalidStepGraph with every problem that can be found statically */
export function checkStepGraph(graph: StepGraph, place: string): void {
  const known = new Set(Object.keys(graph.steps))
  const faults: string[] = []
  if (!known.has(graph.start)) faults.push(`it starts at ${graph.start}, which it does not have`)
  for (const [name, { children }] of Object.entries(graph.steps)) {
    for (const { step } of children)
      if (!known.has(step)) faults.push(`${name} leads to ${step}, which it does not have`)
    const last = children.findIndex(({ on }) => on === 'done')
    if (last >= 0 && last < children.length - 1) {
      faults.push(`${name} has children after its default, which can never be reached`)
    }
  }
  const reached = reachable(graph)
  for (const name of known) if (!reached.has(name)) faults.push(`${name} cannot be reached`)
  const ends = [...reached].some((name) => !childrenOf(graph, name).some(({ on }) => on === 'done'))
  if (faults.length === 0 && !ends) faults.push('it never ends')
  if (faults.length > 0) throw new MusterError('InvalidStepGraph', `The steps of ${place}: ${faults.join('; ')}.`)
}

function reachable(graph: StepGraph): ReadonlySet<string> {
  const found = new Set([graph.start])
  // Iterating a set includes elements that are added on the way.
  for (const name of found) for (const { step } of childrenOf(graph, name)) found.add(step)
  return found
}

/** The graph as Mermaid draws it. */
export function drawSteps({ start, steps }: StepGraph): string {
  const lines = Object.entries(steps).flatMap(([name, { children }]) =>
    children.map(({ step, on }) => `  ${name} -->${on === 'done' ? '' : `|${on}|`} ${step}`),
  )
  return ['flowchart TD', `  start(( )) --> ${start}`, ...lines, ''].join('\n')
}
