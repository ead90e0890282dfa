/**
 * One reconcile of one key, from its first read to its last write: what it reads (and which Secrets), what it has
 * written, whether its term lasts, what was found about it, who observes it. Every part of the manager that takes part
 * in the reconcile is given this one context; nothing of it outlives the reconcile.
 */
import type { KubeObject } from '../../kube/object.ts'
import type { Effort } from '../../operator/ledger.ts'
import type { Live } from '../../operator/live.ts'
import type { TaskResults } from '../../operator/task/task-results.ts'
import type { RecordedView } from '../../operator/view/view.ts'
import { describeFinding } from '../findings/finding.ts'
import type { ReportedFinding } from '../findings/finding-reporter.ts'
import { termOver } from '../leases/term.ts'
import type { WriteFinding, WriteRun } from './executor.ts'
import type { ObservedRun } from './run-observer.ts'

interface RunContextOptions {
  readonly key: string
  readonly cr: KubeObject
  readonly view: RecordedView
  /** The external change that it handles, and whether no earlier reconcile has. See `causality-tracker.ts`. */
  readonly origin: number
  readonly hasReason: boolean
  /** Whether the term lasts in which the reconcile began. Undefined: always. */
  readonly isHeld: (() => boolean) | undefined
  readonly observed: ObservedRun
  /** Identifies the reconcile in its findings. */
  readonly about: () => Pick<ReportedFinding, 'operator' | 'controller' | 'key' | 'at'>
}

export class RunContext implements WriteRun {
  readonly key: string
  /** As it was read. */
  readonly cr: KubeObject
  readonly view: RecordedView
  readonly origin: number
  readonly hasReason: boolean
  readonly isHeld: (() => boolean) | undefined
  readonly observed: ObservedRun
  readonly written: Set<string> = new Set()
  /** Reported once, at the end of the reconcile. */
  readonly findings: ReportedFinding[] = []
  /** The resourceVersion of the CR as the writes of this reconcile left it. */
  crVersion: string | undefined
  readonly #about: RunContextOptions['about']
  #isEnded = false

  constructor(options: RunContextOptions) {
    const { key, cr, view, origin, hasReason, isHeld, observed, about } = options
    this.key = key
    this.cr = cr
    this.view = view
    this.origin = origin
    this.hasReason = hasReason
    this.isHeld = isHeld
    this.observed = observed
    this.crVersion = cr.metadata.resourceVersion
    this.#about = about
  }

  /** A finding about its reads or its plan. */
  find(kind: WriteFinding['kind'] | 'undeclaredRead' | 'contested', message: string): void {
    this.note({ kind, message: this.view.secrets.hide(message), ...this.#about() })
  }

  note(finding: ReportedFinding): void {
    const text = describeFinding(finding)
    if (!this.findings.some((other) => describeFinding(other) === text)) this.findings.push(finding)
  }

  onFinding({ kind, message }: WriteFinding): void {
    this.find(kind, message)
  }

  /** Refuses commands and calls once the term is over: they cannot be undone either. */
  live(live: Live): Live {
    const call = async <T>(ask: () => Promise<T>): Promise<T> => {
      if (this.isHeld?.() === false) throw termOver()
      return await this.observed.aside(ask)
    }
    return {
      available: live.available,
      exec: (...command) => call(() => live.exec(...command)),
      http: (request) => call(() => live.http(request)),
    }
  }

  tasks({ result }: TaskResults): TaskResults {
    return { result: (...asked) => this.observed.aside(() => result(...asked)) }
  }

  /** Ends the observation; the effort is known once. */
  end(): Effort | undefined {
    if (this.#isEnded) return undefined
    this.#isEnded = true
    return this.observed.end(this.view.reads.length)
  }
}
