/**
 * Reports findings: each is logged, counted, recorded as an Event, and set as a condition on the CR it is about, until
 * it is resolved.
 *
 *     type: muster.dev/Finding    status: "True"    reason: HotLoop    message: operator, cause, evidence
 *
 * The condition is abnormal-true: a CR without findings does not have it. Its type has our prefix and it has a field
 * manager of its own, since it is the manager's statement and not the operator's: it cannot collide with an author's
 * condition, and the operator's status writes neither take it over nor remove it. It is a write of the CR's own key, so
 * it does not enqueue that key; and it is written only when its content changes.
 *
 * Undeclared access, and a write to an object of another owner, is resolved by the first reconcile without it. A hot
 * loop or conflict is resolved when a reconcile has nothing to write, or when the spec has changed and the next
 * reconcile finds nothing.
 */
import type { Writer } from '../../cache/writer.ts'
import type { Clock } from '../../clock/clock.ts'
import { type Condition, findCondition, setCondition } from '../../kube/meta/condition.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { cutText } from '../../kube/text/hidden-text.ts'
import { isJsonObject } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import type { EventDraft } from '../../operator/ledger.ts'
import { findingCondition } from '../../operator/status.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import type { Log } from '../logging/log-line.ts'
import { type ConflictFinding, describeFinding, type Finding, type HotLoop, type Offence } from './finding.ts'

/** Findings about one CR. */
export type ReportedFinding = HotLoop | ConflictFinding | Offence

/** The CR that a reconcile is about. */
export interface FindingSubject {
  /** Unique within the operator. */
  readonly id: string
  readonly kind: TypedResource
  /** The live CR. */
  read(): KubeObject | undefined
  /** The status of the CR is about to be written. Call the returned function with the response; undefined: it failed. */
  writing(cr: KubeObject): (written: KubeObject | undefined) => void
}

export interface FindingReporter {
  /** Reports findings that showed only after the reconcile. */
  report(subject: FindingSubject, findings: readonly ReportedFinding[]): void
  /** A reconcile has ended. `isAtRest`: it had nothing to write. */
  ended(subject: FindingSubject, run: { readonly found: readonly ReportedFinding[]; readonly isAtRest: boolean }): void
  /** The spec has changed: all findings may be resolved. */
  released(id: string): void
  forget(id: string): void
  /** Resolves when everything is reported. */
  settled(): Promise<void>
}

interface FindingReporterOptions {
  readonly operator: string
  readonly clock: Clock
  readonly writer: Writer
  readonly recordEvent: (about: KubeObject, event: EventDraft) => void
  readonly log: Log
  readonly onFinding: (finding: Finding) => void
  /** @default always */
  readonly mayWrite?: (() => boolean) | undefined
  /** Time limit of one write. @default the client's */
  readonly timeoutMs?: number | undefined
}

type Kind = ReportedFinding['kind']

interface Cause {
  /** The cause, without counts and rates. */
  readonly evidence: string
  readonly message: string
}

interface Standing {
  /** Current causes. */
  readonly causes: Map<Kind, Cause>
  /** Earlier causes: a finding that recurs keeps its message. */
  readonly past: Map<Kind, Cause>
  isReleased: boolean
}

/** The most severe first: it gives the reason. */
const kinds: readonly Kind[] = [
  'hotLoop',
  'conflict',
  'contested',
  'undeclaredWrite',
  'undeclaredRead',
  'severalWrites',
]
/** These show over several reconciles only. */
const repeating: ReadonlySet<Kind> = new Set(['hotLoop', 'conflict'])
const fieldManager = 'muster-findings'
const longestMessage = 2000

export function createFindingReporter(options: FindingReporterOptions): FindingReporter {
  const { operator, clock, writer, log, mayWrite = () => true } = options
  const standing = new Map<string, Standing>()
  const writing = new Map<string, Promise<void>>()

  /** Known causes, or those that the CR's condition states from before this process started. */
  const standingOf = (subject: FindingSubject): Standing => {
    const known = standing.get(subject.id)
    if (known) return known
    const said = conditionOf(subject.read())
    const kind = kinds.find((each) => reasonOf(each) === said?.reason)
    const causes = new Map<Kind, Cause>(said && kind ? [[kind, { evidence: '', message: said.message }]] : [])
    return { causes, past: new Map(), isReleased: false }
  }

  /** One write at a time for each CR; later updates are included in the next write. */
  const updateCondition = (subject: FindingSubject): void => {
    if (writing.has(subject.id)) return
    const work = async (): Promise<void> => {
      for (let due = dueFor(subject); due; due = dueFor(subject)) if (!(await write(subject, due))) break
    }
    if (!dueFor(subject)) return
    writing.set(
      subject.id,
      work().finally(() => writing.delete(subject.id)),
    )
  }

  /** The conditions that the CR should have; undefined when it has them already. */
  const dueFor = (
    subject: FindingSubject,
  ): { readonly cr: KubeObject; readonly conditions: readonly Condition[] } | undefined => {
    const cr = subject.read()
    if (!cr || !mayWrite()) return undefined
    const said = conditionOf(cr)
    const causes = standing.get(subject.id)?.causes ?? new Map<Kind, Cause>()
    const present = kinds.filter((kind) => causes.has(kind))
    const [worst] = present
    if (worst === undefined) return said ? { cr, conditions: [] } : undefined
    const text = present.map((kind) => causes.get(kind)!.message).join(' ')
    const message = cutText(text, longestMessage)
    if (said?.status === 'True' && said.reason === reasonOf(worst) && said.message === message) return undefined
    const { generation: observedGeneration } = cr.metadata
    const update = { type: findingCondition, status: 'True', reason: reasonOf(worst), message } as const
    const whole = { ...update, ...(observedGeneration !== undefined && { observedGeneration }) }
    return { cr, conditions: setCondition(said && [said], whole, clock.now()) }
  }

  /** Whether the condition is written. */
  const write = async (
    subject: FindingSubject,
    { cr, conditions }: { readonly cr: KubeObject; readonly conditions: readonly Condition[] },
  ): Promise<boolean> => {
    const { kind } = subject
    const { name = '', namespace, uid } = cr.metadata
    const object = {
      apiVersion: formatApiVersion(kind),
      kind: kind.kind,
      metadata: { name, ...(namespace !== undefined && { namespace }), ...(uid !== undefined && { uid }) },
      // Applying without conditions gives up the owned ones.
      ...(conditions.length > 0 && { status: { conditions } }),
    } as UntypedObject
    const end = subject.writing(cr)
    let after: KubeObject | undefined
    try {
      // No force: a list that another field manager owns as a whole is left to it.
      after = await writer.apply(kind, object, {
        fieldManager,
        subresource: 'status',
        force: false,
        ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
      })
      return conditionOf(after)?.message === conditions[0]?.message
    } catch (error) {
      if (!isMusterError(error, clientErrors.NotFound)) {
        log({
          level: 'warn',
          msg: `Finding was not written to the status of ${kind.kind} ${name}`,
          operator,
          error: String(error),
        })
      }
      return false
    } finally {
      end(after)
    }
  }

  const publish = (subject: FindingSubject, findings: readonly ReportedFinding[]): void => {
    const cr = subject.read()
    for (const finding of findings) {
      const message = describeFinding(finding)
      log({ level: 'warn', msg: message, operator, finding: finding.kind })
      if (cr) options.recordEvent(cr, { type: 'Warning', reason: reasonOf(finding.kind), message })
      options.onFinding(finding)
    }
  }

  return {
    report(subject, findings) {
      publish(subject, findings)
      const now = standingOf(subject)
      note(now, findings)
      standing.set(subject.id, now)
      updateCondition(subject)
    },
    ended(subject, { found, isAtRest }) {
      publish(subject, found)
      const now = standingOf(subject)
      if (now.causes.size + found.length === 0) return
      for (const kind of now.causes.keys()) {
        if (!repeating.has(kind) || isAtRest || now.isReleased) now.causes.delete(kind)
      }
      now.isReleased = false
      note(now, found)
      if (now.causes.size > 0) standing.set(subject.id, now)
      else standing.delete(subject.id)
      updateCondition(subject)
    },
    released(id) {
      const problem = standing.get(id)
      if (problem) problem.isReleased = true
    },
    forget: (id) => void standing.delete(id),
    async settled() {
      await Promise.all(writing.values())
    },
  }
}

/** All findings of one kind are one cause; counts and rates are reported once. */
function note({ causes, past }: Standing, findings: readonly ReportedFinding[]): void {
  for (const [kind, same] of Map.groupBy(findings, (finding) => finding.kind)) {
    const evidence = JSON.stringify(same.map(evidenceOf).toSorted())
    const before = causes.get(kind) ?? past.get(kind)
    const cause = before?.evidence === evidence ? before : { evidence, message: same.map(describeFinding).join(' ') }
    causes.set(kind, cause)
    past.set(kind, cause)
  }
}

function conditionOf(cr: KubeObject | undefined): Condition | undefined {
  const { status } = (cr ?? {}) as Partial<UntypedObject>
  const conditions = isJsonObject(status) ? status['conditions'] : undefined
  return Array.isArray(conditions) ? findCondition(conditions as readonly Condition[], findingCondition) : undefined
}

function reasonOf(kind: Kind): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1)
}

function evidenceOf(finding: ReportedFinding): string {
  if (finding.kind !== 'hotLoop' && finding.kind !== 'conflict') {
    return 'message' in finding ? finding.message : describeFinding(finding)
  }
  const { object, fields } = finding
  return JSON.stringify([object, fields, finding.kind === 'conflict' ? finding.with : []])
}
