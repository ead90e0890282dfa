/**
 * The assignments of the settings, adjusted by the quarantine: a quarantined operator runs isolated. The quarantine
 * record is read on demand, one read after the other, so that the last one wins.
 */
import type { Settings } from '../config/settings.ts'
import type { Quarantined } from '../findings/finding.ts'
import type { Quarantine } from '../watchdog/quarantine.ts'
import { type Assignment, assignmentsOf, runApart } from './assignment.ts'

interface AssignmentFilter {
  /** Whether the last read succeeded. */
  readonly isRead: boolean
  /** @throws any error of reading the record; then the assignments stay as they were */
  read(): Promise<void>
  /** Reads the record if the last read failed or there was none; concurrent callers share one read. */
  ensureRead(): Promise<void>
  /** The assignments as of the last read. */
  all(): ReadonlyMap<string, Assignment>
  /** The quarantined ones, by id. */
  isolated(): ReadonlyMap<string, Quarantined>
}

export function filterAssignments(
  quarantine: Quarantine | undefined,
  settings: () => Settings,
  signal: AbortSignal,
): AssignmentFilter {
  let found: ReadonlyMap<string, Quarantined> = new Map()
  let last: Promise<void> = Promise.resolve()
  let isRead = quarantine === undefined
  let reading: Promise<void> | undefined

  const readAfter = async (before: Promise<void>): Promise<void> => {
    await before.catch(() => undefined)
    if (!quarantine) return
    isRead = false
    found = await quarantine.read(settings().operators, signal)
    isRead = true
  }
  const read = async (): Promise<void> => {
    last = readAfter(last)
    await last
  }
  const all = (): ReadonlyMap<string, Assignment> => {
    const filtered = [...assignmentsOf(settings())].map(([id, assignment]) => {
      const why = found.get(assignment.operator)
      return [id, why ? runApart(assignment, why) : assignment] as const
    })
    return new Map(filtered)
  }
  return {
    get isRead() {
      return isRead
    },
    read,
    async ensureRead() {
      if (isRead) return
      reading ??= read().finally(() => (reading = undefined))
      await reading
    },
    all,
    isolated: () =>
      new Map([...all()].flatMap(([id, { quarantined }]) => (quarantined ? [[id, quarantined] as const] : []))),
  }
}
