/**
 * Findings about a program: logged, counted, and shown in the manager's reports. A program has no particular CR, so no
 * CR gets a condition.
 */
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Resource } from '../../kube/kind.ts'
import { describeFinding, type Finding, type Offence } from '../../manager/findings/finding.ts'
import { defaultRepetition, noRepetition, noteLedger, type Repetition } from '../../manager/findings/repetition.ts'
import { findRivals } from '../../manager/findings/rival-search.ts'
import type { OperatorHostOptions } from '../../manager/hosting/host.ts'
import type { Ledger } from '../../operator/ledger.ts'

interface ProgramFindingsOptions extends Pick<OperatorHostOptions, 'log' | 'metrics' | 'onFinding' | 'history'> {
  readonly operator: string
  readonly clock: Clock
  readonly client: Client
  readonly signal: AbortSignal
  /** The resource of a kind in a ledger. */
  readonly resourceOf: (kind: string) => Resource | undefined
  /** A hot loop, or a conflict with another writer. */
  readonly onRepetition: () => void
}

interface ProgramFindings {
  /** Reported once, until it is resolved. */
  offence(about: Pick<Ledger, 'controller' | 'key'>, kind: Offence['kind'], message: string): void
  /** Records a run. */
  note(ledger: Ledger): void
  /** Resolves all findings. */
  over(): void
}

/** Runs of a program are slower than reconciles, so the window for repetitions is longer. */
const repetitionOptions = { ...defaultRepetition, windowMs: 60_000 }

export function createProgramFindings(options: ProgramFindingsOptions): ProgramFindings {
  const { operator, clock, client, signal, log, metrics, onFinding } = options
  const told = new Set<string>()
  let repetition: Repetition = noRepetition

  function tell(finding: Finding): void {
    const message = describeFinding(finding)
    if (told.has(message)) return
    told.add(message)
    log?.({ level: 'warn', msg: message, operator, finding: finding.kind })
    metrics?.find(finding)
    onFinding?.(finding)
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
          const search = { client, clock, operator, resource: options.resourceOf(finding.object.kind), signal }
          void findRivals(finding, { ...search, history: options.history }).then((others) =>
            tell({ ...finding, with: others }),
          )
        }
      }
    },
    over: () => told.clear(),
  }
}
