/**
 * The state of the application: the first rule that matches the probe results.
 *
 * Rules are data in the configuration, so that the same sidecar serves any application. The state is observed, not
 * desired: an action changes the application, and the state shows the effect.
 */
import type { ProbeAnswer } from './probe.ts'

export interface StateRule {
  readonly state: string
  /** Conditions on the result of this probe; without further ones it must be ok. */
  readonly probe?: string | undefined
  readonly ok?: boolean | undefined
  /** One of these. */
  readonly word?: readonly string[] | undefined
  readonly code?: readonly number[] | undefined
  /** While an action of this name runs. */
  readonly action?: string | undefined
}

export interface SidecarState {
  /** A state of the configuration, or `unknown`. */
  readonly state: string
  /** When state or reachability last changed; for `?since=`. */
  readonly since: string
  /** Whether every probe got an answer. */
  readonly reachable: boolean
  /** The problems that the probes reported. */
  readonly message?: string | undefined
}

export type ProbeAnswers = ReadonlyMap<string, ProbeAnswer>

/** Before the first probe, and when no rule matches. */
const unknownState = 'unknown'

export function stateOf(
  rules: readonly StateRule[],
  answers: ProbeAnswers,
  running: ReadonlySet<string>,
): Omit<SidecarState, 'since'> {
  if (answers.size === 0) return { state: unknownState, reachable: false, message: 'not asked yet' }
  const rule = rules.find((candidate) => holds(candidate, answers, running))
  const complaints = [...answers].flatMap(([name, { message }]) => (message ? [`${name}: ${message}`] : []))
  return {
    state: rule?.state ?? unknownState,
    reachable: [...answers.values()].every(({ reached }) => reached),
    ...(complaints.length > 0 ? { message: complaints.join('; ') } : {}),
  }
}

function holds(rule: StateRule, answers: ProbeAnswers, running: ReadonlySet<string>): boolean {
  if (rule.action !== undefined && !running.has(rule.action)) return false
  if (rule.probe === undefined) return true
  const answer = answers.get(rule.probe)
  if (!answer) return false
  const hasMore = rule.word !== undefined || rule.code !== undefined
  const ok = rule.ok ?? (hasMore ? undefined : true)
  return (
    (ok === undefined || answer.ok === ok) &&
    (rule.word === undefined || (answer.word !== undefined && rule.word.includes(answer.word))) &&
    (rule.code === undefined || (answer.code !== undefined && rule.code.includes(answer.code)))
  )
}
