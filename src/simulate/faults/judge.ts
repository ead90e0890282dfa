/**
 * The judge: the laws that must hold for a run with any faults. Most of them compare it with the same scenario without
 * faults: the same end state, and the same number of creations and deletions. The others hold for every run.
 */
import { type PolicyRule, ruleAllows } from '../../apiserver/access/policy-rule.ts'
import {
  describeDifference,
  type Difference,
  endStateDifferences,
  type EndState,
  type EndStateMask,
} from './end-state.ts'
import { boundMs, type SimulatedRun } from './run.ts'
import { type Request, shownRequest } from '../scorecard/request.ts'
import type { SimulatedSubject } from './subject.ts'

export type Law =
  /** The end state is the same as without faults. */
  | 'same end'
  /** Objects are created and deleted as often as without faults. */
  | 'counts'
  /** It comes to rest, and sends nothing more. */
  | 'rest'
  /** Finalizers are removed, and not too early. */
  | 'finalizers'
  /** Fields of other managers are kept. */
  | 'foreign fields'
  /** Conditions are true. */
  | 'conditions'
  /** All requests are declared. */
  | 'access'
  /** A process neither writes nor calls out after its lease term. */
  | 'terms'
  /** A change that is reverted leaves no trace; the end state does not depend on the way to it. */
  | 'walk'

export interface Violation {
  readonly law: Law
  /** The object or request that shows it. */
  readonly object: string
  readonly text: string
}

export interface Expected {
  readonly end: EndState
  readonly mask: EndStateMask
  readonly outside: string
  /** Undefined if another number of creations and deletions may be right. */
  readonly counts: Pick<SimulatedRun, 'created' | 'deleted' | 'done'> | undefined
}

export function judge(
  run: SimulatedRun,
  subject: SimulatedSubject,
  expected: Expected | undefined,
): readonly Violation[] {
  const violations: Violation[] = []
  if (run.restedAfterMs === undefined) {
    const last = run.writes.slice(-3).map(({ request }) => shownRequest(request))
    const text = `it does not come to rest (${run.writes.length} writes, ${boundMs / 60_000} minutes at the most); its last writes: ${last.join('; ') || 'none'}`
    violations.push({ law: 'rest', object: last.at(-1) ?? '', text })
  }
  for (const { kind, object, text } of run.incidents) {
    violations.push({ law: lawOf[kind], object, text })
  }
  violations.push(...undeclared(run, subject))
  if (!expected || run.restedAfterMs === undefined) return violations
  const wrong = endStateDifferences(expected.end, run.end, expected.mask)
  for (const difference of wrong) violations.push(asFailing(difference))
  const outside = JSON.stringify(run.outside)
  if (outside !== expected.outside) {
    const text = `outside the cluster it is ${outside} instead of ${expected.outside}`
    violations.push({ law: 'same end', object: 'outside', text })
  }
  if (expected.counts) violations.push(...countsOf(run, expected.counts, wrong))
  const [done, wanted] = [JSON.stringify(run.done), JSON.stringify(expected.counts?.done)]
  // What a user deleted need not be undone.
  if (expected.counts && run.removed.size === 0 && done !== wanted) {
    violations.push({
      law: 'counts',
      object: 'outside',
      text: `outside the cluster ${done} is done instead of ${wanted}`,
    })
  }
  return violations
}

const lawOf = {
  finalizer: 'finalizers',
  foreign: 'foreign fields',
  condition: 'conditions',
  term: 'terms',
  drift: 'same end',
} as const

function asFailing(difference: Difference): Violation {
  return { law: 'same end', object: difference.object, text: describeDifference(difference) }
}

function* countsOf(
  run: SimulatedRun,
  expected: Pick<SimulatedRun, 'created' | 'deleted'>,
  wrong: readonly Difference[],
): Generator<Violation> {
  // A missing or additional object is reported already.
  const reportedObjects = new Set(wrong.filter(({ field }) => field === undefined).map(({ object }) => object))
  for (const name of new Set([...run.created.keys(), ...expected.created.keys()])) {
    if (reportedObjects.has(name)) continue
    const removed = run.removed.get(name) ?? 0
    const made = run.created.get(name) ?? 0
    const wanted = expected.created.get(name) ?? 0
    if (made >= wanted && made <= wanted + removed) continue
    yield {
      law: 'counts',
      object: name,
      text: `${name} is created ${times(made)} instead of ${times(wanted + removed)}`,
    }
  }
  for (const name of new Set([...run.deleted.keys(), ...expected.deleted.keys()])) {
    if (reportedObjects.has(name)) continue
    const removed = run.removed.get(name) ?? 0
    const gone = run.deleted.get(name) ?? 0
    const wanted = expected.deleted.get(name) ?? 0
    if (gone >= wanted && gone <= wanted + removed) continue
    yield {
      law: 'counts',
      object: name,
      text: `${name} is deleted ${times(gone)} instead of ${times(wanted + removed)}`,
    }
  }
}

function times(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`
}

/** Requests that its role does not allow. */
function* undeclared({ requests, ledgers }: SimulatedRun, { rules }: SimulatedSubject): Generator<Violation> {
  const seen = new Set<string>()
  for (const request of requests) {
    if (!request.resource || request.verb === '' || isAllowed(request, rules)) continue
    const { verb, resource, subresource } = request
    const what = `${verb} ${resource.plural}${subresource === '' ? '' : `/${subresource}`}${resource.group === '' ? '' : `.${resource.group}`}`
    if (seen.has(what)) continue
    seen.add(what)
    yield { law: 'access', object: what, text: `it sends ${what}, which is not declared` }
  }
  for (const { failure } of ledgers) {
    if (failure?.reason !== 'UndeclaredInput' && failure?.reason !== 'UndeclaredOutput') continue
    if (seen.has(failure.message)) continue
    seen.add(failure.message)
    yield { law: 'access', object: failure.subject, text: failure.message }
  }
}

function isAllowed({ verb, resource, subresource, target, path }: Request, rules: readonly PolicyRule[]): boolean {
  const { group, plural } = resource!
  const name = target?.name ?? selectedName(path)
  const asked = { verb, group, resource: plural, subresource, name, namespace: target?.namespace }
  return rules.some((rule) => ruleAllows(rule, asked as Parameters<typeof ruleAllows>[1]))
}

/** A list or watch of one name is authorized as a request for it. */
function selectedName(path: string): string | undefined {
  const [, query = ''] = path.split('?')
  const selector = new URLSearchParams(query).get('fieldSelector') ?? ''
  const [field, name, ...more] = selector.split('=')
  return field === 'metadata.name' && more.length === 0 ? name : undefined
}
