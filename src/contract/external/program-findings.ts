/**
 * What is found about a program: told in the log, counted, and shown by whoever reports of the manager. A program is about
 * no CR in particular, so nothing stands on one as a condition.
 */
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Resource } from '../../kube/kind.ts'
import { type Conflict, describeFinding, type Finding, type Offence } from '../../manager/findings/finding.ts'
import { defaultRepetition, noRepetition, noteLedger, type Repetition } from '../../manager/findings/repetition.ts'
import { rivals } from '../../manager/findings/rivals.ts'
import type { HostOptions } from '../../manager/host.ts'
import type { Ledger } from '../../operator/ledger.ts'

export interface ProgramFindingsOptions extends Pick<HostOptions, 'log' | 'metrics' | 'onFinding' | 'history'> {
  readonly operator: string
  readonly clock: Clock
  readonly client: Client
  readonly signal: AbortSignal
  /** Of a kind that it wrote, as a ledger calls it. */
  readonly resourceOf: (kind: string) => Resource | undefined
  /** It goes round in circles, or somebody undoes its work. */
  readonly onRepetition: () => void
}

export interface ProgramFindings {
  /** Once, until it is over. */
  offence(about: Pick<Ledger, 'controller' | 'key'>, kind: Offence['kind'], message: string): void
  /** A run has ended. */
  note(ledger: Ledger): void
  /** Nothing of what was told is so any more. */
  over(): void
}

/** A run of a program takes longer than a reconcile: what repeats itself does so more slowly. */
const repetitionOptions = { ...defaultRepetition, windowMs: 60_000 }
/** How often, and how far apart, it is looked who changed it back. */
const mostLooks = 5
const lookMs = 1000

export function createProgramFindings(options: ProgramFindingsOptions): ProgramFindings {
  const { operator, clock, client, signal, log, metrics, onFinding } = options
  const told = new Set<string>()
  let repetition: Repetition = noRepetition

  function tell(finding: Finding): void {
    const message = describeFinding(finding)
    if (told.has(message)) return
    told.add(message)
    log?.({ operator, finding: finding.kind, message })
    metrics?.find(finding)
    onFinding?.(finding)
  }

  /** Who undoes its work shows a little later: its last write took the fields from him. */
  async function rivalsOf(conflict: Conflict): Promise<readonly string[]> {
    const { object, fields } = conflict
    const resource = options.resourceOf(object.kind)
    if (!resource) return []
    for (let look = 0; look < mostLooks && !signal.aborted; look++) {
      const found = await client.get(resource, object.name).catch(() => undefined)
      const owners = rivals(found?.metadata.managedFields ?? [], fields, operator)
      const others = [...new Set([...owners, ...(options.history?.opponents(conflict) ?? [])])]
      if (others.length > 0) return others
      await clock.sleep(lookMs, signal).catch(() => undefined)
    }
    return []
  }

  return {
    offence: ({ controller, key }, kind, message) =>
      tell({ kind, operator, controller, key, at: clock.now(), message }),
    note(ledger) {
      const noted = noteLedger(repetition, ledger, repetitionOptions)
      repetition = noted.repetition
      for (const finding of noted.findings) {
        options.onRepetition()
        if (finding.kind === 'hotLoop') tell(finding)
        else {
          options.history?.quarrel(finding)
          void rivalsOf(finding).then((others) => tell({ ...finding, with: others }))
        }
      }
    },
    over: () => told.clear(),
  }
}
