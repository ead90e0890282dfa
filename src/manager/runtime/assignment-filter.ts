/**
 * The postings of the settings as they may be run: those that are quarantined run apart. The record is looked at when somebody
 * wants to know, one look after the other, so that the last one is what holds.
 */
import type { Settings } from '../config/settings.ts'
import type { Quarantined } from '../findings/finding.ts'
import type { Quarantine } from '../watchdog/quarantine.ts'
import { type Assignment, assignmentsOf, runApart } from './assignment.ts'

export interface AssignmentFilter {
  /** Whether the last look succeeded. */
  readonly isKnown: boolean
  /** @throws whatever keeps the record from being read; then everything is as it was judged before */
  look(): Promise<void>
  /** A look, where the last one failed or there was none: one for all who want to know. */
  known(): Promise<void>
  /** As they were judged last. */
  all(): ReadonlyMap<string, Assignment>
  /** Those that are quarantined, by id. */
  apart(): ReadonlyMap<string, Quarantined>
}

export function filterAssignments(
  quarantine: Quarantine | undefined,
  settings: () => Settings,
  signal: AbortSignal,
): AssignmentFilter {
  let found: ReadonlyMap<string, Quarantined> = new Map()
  let last: Promise<void> = Promise.resolve()
  let isKnown = quarantine === undefined
  let knowing: Promise<void> | undefined

  const lookAfter = async (before: Promise<void>): Promise<void> => {
    await before.catch(() => undefined)
    if (!quarantine) return
    isKnown = false
    found = await quarantine.read(settings().operators, signal)
    isKnown = true
  }
  const look = async (): Promise<void> => {
    last = lookAfter(last)
    await last
  }
  const all = (): ReadonlyMap<string, Assignment> => {
    const judged = [...assignmentsOf(settings())].map(([id, posting]) => {
      const why = found.get(posting.operator)
      return [id, why ? runApart(posting, why) : posting] as const
    })
    return new Map(judged)
  }
  return {
    get isKnown() {
      return isKnown
    },
    look,
    async known() {
      if (isKnown) return
      knowing ??= look().finally(() => (knowing = undefined))
      await knowing
    },
    all,
    apart: () =>
      new Map([...all()].flatMap(([id, { quarantined }]) => (quarantined ? [[id, quarantined] as const] : []))),
  }
}
