/**
 * An assignment: an operator on a cluster, as the settings define it. An operator that serves ten clusters has ten, and
 * each starts, fails and moves between replicas on its own.
 */
import type { OperatorSettings } from '../config/operator-settings.ts'
import type { Settings } from '../config/settings.ts'
import type { Quarantined } from '../findings/finding.ts'

export interface Assignment {
  /** The operator's name, followed by `@` and the cluster where it serves several. */
  readonly id: string
  readonly operator: string
  /** A cluster, or a hosted cluster. Undefined: as the placement says. */
  readonly at: string | undefined
  readonly section: OperatorSettings
  readonly settings: Settings
  /** Why it runs isolated although its settings do not say so. */
  readonly quarantined?: Quarantined
}

export function assignmentsOf(settings: Settings): ReadonlyMap<string, Assignment> {
  const sections = Object.entries(settings.operators).toSorted(([one], [other]) => (one < other ? -1 : 1))
  const assignments = sections.flatMap(([operator, section]): Assignment[] => {
    if (!section.enabled) return []
    const { clusters } = section
    if (!clusters) return [{ id: operator, operator, at: undefined, section, settings }]
    return [...new Set(clusters)].map((at) => ({ id: `${operator}@${at}`, operator, at, section, settings }))
  })
  return new Map(assignments.map((assignment) => [assignment.id, assignment]))
}

/** An operator that hung a manager is not run in its thread again. */
export function runApart(assignment: Assignment, quarantined: Quarantined): Assignment {
  return { ...assignment, section: { ...assignment.section, isolation: 'worker' }, quarantined }
}

/**
 * Whether the change can be applied while the operator runs: everything except pauses and gates needs a restart of it.
 */
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
