/**
 * A posting: an operator at a place, as the settings want it. One that serves ten clusters has ten, and each starts, fails
 * and moves on its own.
 */
import type { OperatorSettings } from '../config/operator-settings.ts'
import type { Settings } from '../config/settings.ts'
import type { Quarantined } from '../findings/finding.ts'

export interface Assignment {
  /** The operator's name, `@` and the place where it has several. */
  readonly id: string
  readonly operator: string
  /** A cluster, or a hosted one. Undefined: as the placement says. */
  readonly at: string | undefined
  readonly section: OperatorSettings
  readonly settings: Settings
  /** Why it runs apart, though its section does not say so. */
  readonly quarantined?: Quarantined
}

export function assignmentsOf(settings: Settings): ReadonlyMap<string, Assignment> {
  const sections = Object.entries(settings.operators).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const postings = sections.flatMap(([operator, section]): Assignment[] => {
    if (!section.enabled) return []
    const { clusters } = section
    if (!clusters) return [{ id: operator, operator, at: undefined, section, settings }]
    return [...new Set(clusters)].map((at) => ({ id: `${operator}@${at}`, operator, at, section, settings }))
  })
  return new Map(postings.map((posting) => [posting.id, posting]))
}

/** One that stopped a manager is not run in its thread again. */
export function runApart(posting: Assignment, quarantined: Quarantined): Assignment {
  return { ...posting, section: { ...posting.section, isolation: 'worker' }, quarantined }
}

/** Whether one can become the other while it runs: all but pauses and gates needs a new start. */
export function isSameAssignment(one: Assignment, other: Assignment): boolean {
  return one.operator === other.operator && one.at === other.at && lasting(one) === lasting(other)
}

function lasting({ section, settings, at }: Assignment): string {
  const { gates: _, paused: __, ...rest } = section
  const { placement, clusters, clientConnection } = settings
  const { hosted, ...roles } = placement
  const names = [
    at,
    ...Object.values(roles),
    ...(at === undefined ? [] : [hosted[at]?.cluster, hosted[at]?.userWorkload]),
  ]
  const used = names.map((name) => (name !== undefined && Object.hasOwn(clusters, name) ? clusters[name] : name))
  return JSON.stringify([rest, at === undefined ? roles : (hosted[at] ?? null), used, clientConnection])
}
