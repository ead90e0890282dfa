/**
 * Detects an operator that writes the same object over and over for the same input. If it corrects changes of another
 * client, that is a conflict; if its own desired state flips, a hot loop.
 *
 * Writes are counted within a window, for each CR and object. A change of the desired state restarts the count. Writes
 * with a reason (another input has changed) have the higher limit of status reports: an operator that follows an input
 * which changes now and then is harmless, while a loop through an outside client repeats fast. Pure: the tracker is
 * data, and returns its findings.
 */
import type { Ledger, LedgerEntry } from '../../operator/ledger.ts'
import type { ConflictFinding, HotLoop } from './finding.ts'

interface RepetitionOptions {
  /** Writes of one object within the window that make a finding. @default 8 */
  readonly most: number
  /**
   * The same for status writes, which follow what other clients and Pods do, and for writes with a reason. @default 40
   */
  readonly mostReports: number
  /** Length of the window. @default 10_000 */
  readonly windowMs: number
}

export const defaultRepetition: RepetitionOptions = { most: 8, mostReports: 40, windowMs: 10_000 }

interface Written {
  readonly at: number
  readonly fields: readonly string[]
  readonly isCorrection: boolean
  readonly hasReason: boolean
}

/** The recent writes for one CR. */
export interface Repetition {
  readonly generation: number
  /** By kind and name of the object. */
  readonly writes: ReadonlyMap<string, readonly Written[]>
}

export const noRepetition: Repetition = { generation: -1, writes: new Map() }

const counted: ReadonlySet<LedgerEntry['operation']> = new Set([
  'updated',
  'corrected',
  'created',
  'pruned',
  'statusWritten',
])

export function noteLedger(
  before: Repetition,
  ledger: Ledger,
  { most, mostReports, windowMs }: RepetitionOptions = defaultRepetition,
  /** An input has changed since the last reconcile. */
  hasReason: boolean = false,
): { readonly repetition: Repetition; readonly findings: readonly (HotLoop | ConflictFinding)[] } {
  const { generation, startedAt: at, operator, controller, key } = ledger
  const writes = new Map(generation === before.generation ? before.writes : [])
  const findings: (HotLoop | ConflictFinding)[] = []
  for (const [name, past] of writes) {
    const recent = past.filter((written) => at - written.at < windowMs)
    if (recent.length === 0) writes.delete(name)
    else writes.set(name, recent)
  }
  for (const entry of ledger.entries) {
    if (!counted.has(entry.operation)) continue
    const name = writtenObjectKey(entry)
    const recent = [
      ...(writes.get(name) ?? []),
      { at, fields: entry.fields ?? [], isCorrection: entry.operation === 'corrected', hasReason },
    ]
    // Correcting another client's change is always a reason, but not endlessly.
    const unexplained = recent.filter((written) => written.isCorrection || !written.hasReason)
    const isTooOften = entry.operation !== 'statusWritten' && unexplained.length >= most
    if (!isTooOften && recent.length < mostReports) {
      writes.set(name, recent)
      continue
    }
    // Each finding is reported once; if the loop goes on, it is found again after as many more writes.
    writes.delete(name)
    const isFollowing = !isTooOften && unexplained.length * 2 < recent.length
    const counting = isTooOften ? unexplained : recent
    const corrections = counting.filter(({ isCorrection }) => isCorrection).length
    const found = {
      operator,
      controller,
      key,
      at,
      object: { kind: entry.kind ?? 'its own status', name: entry.name ?? { name: key } },
      fields: [...new Set(counting.flatMap(({ fields }) => fields))].toSorted(),
      times: counting.length,
      withinMs: at - counting[0]!.at,
    }
    findings.push(
      corrections * 2 > counting.length
        ? { kind: 'conflict', ...found, with: [] }
        : { kind: 'hotLoop', ...found, isFollowing },
    )
  }
  return { repetition: { generation, writes }, findings }
}

/** The identity by which writes are counted. */
export function writtenObjectKey({ kind = '', name, subject }: Pick<LedgerEntry, 'kind' | 'name' | 'subject'>): string {
  return name ? `${kind} ${name.namespace ?? ''}/${name.name}` : subject
}
