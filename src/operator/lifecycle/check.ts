/** Validates a life-cycle graph: all problems at once, each with a fix. */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { type Edge, type LifecycleGraph, type LifecycleNode, onward, waysOut } from './graph.ts'
import { reachableFrom } from './route.ts'

/** Used unescaped in CEL rules, keys and drawings. */
const namePattern = /^[A-Za-z][A-Za-z0-9]{0,39}$/

/** @throws InvalidLifecycle */
export function checkLifecycle(graph: LifecycleGraph): void {
  // Undefined references would cause follow-up problems in every later check.
  const first = [...nameFaults(graph), ...referenceFaults(graph), ...numberFaults(graph)]
  const faults = first.length > 0 ? first : [...circleFaults(graph), ...reachFaults(graph)]
  if (faults.length > 0) {
    throw new MusterError(operatorErrors.InvalidLifecycle, `The life cycle of ${graph.name}: ${faults.join('; ')}.`)
  }
}

function nameFaults({ nodes }: LifecycleGraph): readonly string[] {
  return [...nodes.keys()]
    .filter((name) => !namePattern.test(name))
    .map((name) => `states.${name} must be called by letters and digits, a letter in front, 40 at most`)
}

function referenceFaults({ nodes, start, end, desiredStates, defaultState }: LifecycleGraph): readonly string[] {
  const known = [...nodes.keys()].join(', ')
  const faults: string[] = []
  const check = (place: string, state: string, self?: string): void => {
    if (!nodes.has(state)) faults.push(`${place} names ${state}, which is no state of it (${known})`)
    else if (state === self) faults.push(`${place} leads back to ${self} itself: leave it out`)
  }
  check('start', start)
  check('end', end)
  if (start === end) faults.push(`start and end are both ${start}: it needs a state for each`)
  if (desiredStates.length === 0) faults.push('desiredStates is empty: name the states that a user may request')
  for (const [at, desired] of desiredStates.entries()) {
    check(`desiredStates[${at}]`, desired)
    if (desiredStates.indexOf(desired) < at) faults.push(`desiredStates names ${desired} twice`)
  }
  if (!desiredStates.includes(defaultState))
    faults.push(`defaultState is ${defaultState}, which is not among desiredStates`)
  for (const [name, { leadsTo, to, onFailure }] of nodes) {
    if (leadsTo) check(`states.${name}.leadsTo`, leadsTo.state, name)
    for (const [at, { state }] of to.entries()) {
      check(`states.${name}.to[${at}]`, state, name)
      if (to.findIndex((edge) => edge.state === state) < at) faults.push(`states.${name}.to names ${state} twice`)
    }
    if (onFailure.goTo !== undefined) check(`states.${name}.onFailure.goTo`, onFailure.goTo, name)
  }
  if (nodes.get(end)?.leadsTo) faults.push(`states.${end} is the end, yet leads on by itself: remove its leadsTo`)
  return faults
}

function numberFaults({ nodes }: LifecycleGraph): readonly string[] {
  const faults: string[] = []
  for (const [name, { timeoutMs, onFailure }] of nodes) {
    const { retries, firstMs, mostMs } = onFailure
    const durations = { timeoutMs, 'onFailure.firstMs': firstMs, 'onFailure.mostMs': mostMs }
    for (const [field, value] of Object.entries(durations)) {
      if (!Number.isFinite(value) || value <= 0) faults.push(`states.${name}.${field} must be above 0`)
    }
    if (!Number.isSafeInteger(retries) || retries < 0) {
      faults.push(`states.${name}.onFailure.retries must be a whole number, 0 or more`)
    }
  }
  return faults
}

/** Transient states must lead to a stable one, and failures must not form a cycle. */
function circleFaults({ nodes }: LifecycleGraph): readonly string[] {
  const transient = circle(nodes, ({ leadsTo }) => (leadsTo ? [leadsTo] : []))
  if (transient) return [`${transient} lead on for ever: one of them must be a stable state (to instead of leadsTo)`]
  const failing = circle(nodes, ({ leadsTo, onFailure: { goTo } }) => [
    ...(leadsTo ? [leadsTo] : []),
    ...(goTo === undefined ? [] : [{ state: goTo, guard: undefined }]),
  ])
  return failing
    ? [`${failing} lead back after a failure, so it would fail for ever: let one onFailure.goTo end elsewhere`]
    : []
}

function circle(nodes: LifecycleGraph['nodes'], exits: (node: LifecycleNode) => readonly Edge[]): string | undefined {
  for (const [name, node] of nodes) {
    const after = reachableFrom(
      nodes,
      exits(node).map(({ state }) => state),
      exits,
    )
    if (!after.has(name)) continue
    const members = [...after].filter((other) => reachableFrom(nodes, [other], exits).has(name))
    return members.toSorted((a, b) => order(nodes, a) - order(nodes, b)).join(', ')
  }
  return undefined
}

function order(nodes: LifecycleGraph['nodes'], name: string): number {
  return [...nodes.keys()].indexOf(name)
}

function reachFaults({ nodes, start, end, desiredStates }: LifecycleGraph): readonly string[] {
  const faults: string[] = []
  const roots = [...nodes.values()].filter(({ onItsOwn }) => onItsOwn).map(({ name }) => name)
  const everywhere = reachableFrom(nodes, [start, ...roots], (node) => [
    ...waysOut(node),
    ...(node.onFailure.goTo === undefined ? [] : [{ state: node.onFailure.goTo, guard: undefined }]),
  ])
  const fromStart = reachableFrom(nodes, [start])
  for (const [name, node] of nodes) {
    if (!everywhere.has(name)) {
      faults.push(`states.${name} cannot be reached from ${start}: lead there, or set onItsOwn`)
    }
    if (!reachableFrom(nodes, [name], onward).has(end)) {
      faults.push(`from states.${name} the end (${end}) cannot be reached: lead there by to or leadsTo`)
    }
    if (node.leadsTo && node.leadsTo.state !== end && waysOut(node).length === 1) {
      faults.push(`states.${name} has no way out when it fails, not even to the end: give it onFailure.goTo, or to`)
    }
  }
  for (const desired of desiredStates) {
    if (!fromStart.has(desired))
      faults.push(`the desired state ${desired} can never be reached from ${start}: lead there`)
  }
  return faults
}
