/**
 * Repetition: an operator that writes the same object over and over for the same input. If it corrects what somebody else
 * changed, that is a conflict; if it changes its own mind, a hot loop.
 *
 * Counted are writes within a window, for each CR and object on its own. A wish that changes starts anew. Of writes for which
 * there was a reason, for something else that the operator goes by had changed, it takes as many as of reports: whoever
 * follows something that changes now and then is no trouble, and a circle through somebody outside comes round fast.
 * Pure: the tracker is data, and says what it found.
 */
import type { Ledger, LedgerEntry } from '../../operator/ledger.ts'
import type { ConflictFinding, HotLoop } from './finding.ts'

export interface RepetitionOptions {
  /** So many writes of one object are too many … @default 8 */
  readonly most: number
  /** A status follows what others do, pods that come and go, and so does who has a reason: of those it takes more. @default 40 */
  readonly mostReports: number
  /** … within this time. @default 10_000 */
  readonly windowMs: number
}

export const defaultRepetition: RepetitionOptions = { most: 8, mostReports: 40, windowMs: 10_000 }

interface Written {
  readonly at: number
  readonly fields: readonly string[]
  readonly isCorrection: boolean
  readonly hasReason: boolean
}

/** What is known of one CR. */
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
  /** Something that it goes by has changed since its last run. */
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
    // What somebody else changed is always a reason to put it right, and none to do so for ever.
    const unexplained = recent.filter((written) => written.isCorrection || !written.hasReason)
    const isTooOften = entry.operation !== 'statusWritten' && unexplained.length >= most
    if (!isTooOften && recent.length < mostReports) {
      writes.set(name, recent)
      continue
    }
    // What was found is told once; whoever goes on is found again after as many more.
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

/** What is counted as one object. */
export function writtenObjectKey({ kind = '', name, subject }: Pick<LedgerEntry, 'kind' | 'name' | 'subject'>): string {
  return name ? `${kind} ${name.namespace ?? ''}/${name.name}` : subject
}
