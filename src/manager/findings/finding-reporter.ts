/**
 * What is done about findings: each is logged, counted, told as an Event, and stands as a condition on the CR that it
 * happened for, until it is over.
 *
 *     type: muster.dev/Finding    status: "True"    reason: HotLoop    message: who, what, the evidence
 *
 * It is one condition, and it is abnormal when true: a CR of which nothing was found has none. Its type has our prefix
 * and it is written by a field manager of its own, since it is not the operator that says it: no author's condition can
 * collide with it, and the operator's own status neither takes it over nor takes it away. It is written under the
 * operator's name in the cache, so that the operator is not woken by it; and only when it would say something else than
 * it says.
 *
 * What was read or written undeclared, or belongs to somebody else, is over with the first run that does without. A hot loop or conflict is over
 * when a run finds nothing to write, or when what was asked for has changed and the next run finds nothing.
 */
import type { Writer } from '../../cache/writer.ts'
import type { Clock } from '../../clock/clock.ts'
import { type Condition, findCondition, setCondition } from '../../kube/condition.ts'
import { isMusterError } from '../../kube/errors.ts'
import { cutText } from '../../kube/hidden-text.ts'
import { isJsonObject } from '../../kube/json.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import type { EventDraft } from '../../operator/ledger.ts'
import { findingCondition } from '../../operator/status.ts'
import type { TypedResource } from '../../operator/typed-resource.ts'
import type { InputChange } from '../../operator/view.ts'
import type { Log } from '../logging/log-line.ts'
import { type ConflictFinding, describeFinding, type Finding, type HotLoop, type Offence } from './finding.ts'

/** Findings about the work on one CR. */
export type ReportedFinding = HotLoop | ConflictFinding | Offence

/** The CR of a run. */
export interface FindingSubject {
  /** Of all that this operator works on. */
  readonly id: string
  readonly kind: TypedResource
  /** As it is now. */
  read(): KubeObject | undefined
  /** Its status says something else from now on. */
  written(change: InputChange): void
}

export interface FindingReporter {
  /** What showed only after the run. */
  report(subject: FindingSubject, findings: readonly ReportedFinding[]): void
  /** A run has ended. `isAtRest`: there was nothing to write. */
  ended(subject: FindingSubject, run: { readonly found: readonly ReportedFinding[]; readonly isAtRest: boolean }): void
  /** What is asked for has changed: whatever was found may be over. */
  released(id: string): void
  forget(id: string): void
  /** Resolves when everything is told. */
  settled(): Promise<void>
}

export interface FindingReporterOptions {
  readonly operator: string
  readonly clock: Clock
  readonly writer: Writer
  readonly tellEvent: (about: KubeObject, event: EventDraft) => void
  readonly log: Log
  readonly onFinding: (finding: Finding) => void
  /** @default always */
  readonly mayWrite?: (() => boolean) | undefined
  /** The longest that one write may take. @default the client's */
  readonly timeoutMs?: number | undefined
}

type Kind = ReportedFinding['kind']

interface Cause {
  /** What it is about, without how often and how fast. */
  readonly evidence: string
  readonly message: string
}

interface Standing {
  /** What is the matter. */
  readonly causes: Map<Kind, Cause>
  /** What was: who finds the same again says the same. */
  readonly past: Map<Kind, Cause>
  isReleased: boolean
}

/** The worst first: it gives the reason. */
const kinds: readonly Kind[] = [
  'hotLoop',
  'conflict',
  'contested',
  'undeclaredWrite',
  'undeclaredRead',
  'severalWrites',
]
/** These show over several runs only. */
const repeating: ReadonlySet<Kind> = new Set(['hotLoop', 'conflict'])
const fieldManager = 'muster-findings'
const longestMessage = 2000

export function createFindingReporter(options: FindingReporterOptions): FindingReporter {
  const { operator, clock, writer, log, mayWrite = () => true } = options
  const standing = new Map<string, Standing>()
  const writing = new Map<string, Promise<void>>()

  /** What is known, or what the CR says from before this process began. */
  const standingOf = (subject: FindingSubject): Standing => {
    const known = standing.get(subject.id)
    if (known) return known
    const said = conditionOf(subject.read())
    const kind = kinds.find((each) => reasonOf(each) === said?.reason)
    const causes = new Map<Kind, Cause>(said && kind ? [[kind, { evidence: '', message: said.message }]] : [])
    return { causes, past: new Map(), isReleased: false }
  }

  /** One write at a time for each CR; what is due by then is written by the next. */
  const say = (subject: FindingSubject): void => {
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

  /** The conditions that the CR shall have from us; undefined when it has them. */
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

  /** Whether it is said now. */
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
      // Who applies nothing gives back what he had.
      ...(conditions.length > 0 && { status: { conditions } }),
    } as UntypedObject
    try {
      // Not by force: a list that somebody else owns as a whole is his.
      const after = await writer.apply(kind, object, {
        fieldManager,
        subresource: 'status',
        force: false,
        ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
      })
      subject.written({ resource: kind, before: cr, after })
      return conditionOf(after)?.message === conditions[0]?.message
    } catch (error) {
      if (!isMusterError(error, 'NotFound')) {
        log({ operator, problem: `a finding is not in the status of ${kind.kind} ${name}`, error: String(error) })
      }
      return false
    }
  }

  const tell = (subject: FindingSubject, findings: readonly ReportedFinding[]): void => {
    const cr = subject.read()
    for (const finding of findings) {
      const message = describeFinding(finding)
      log({ operator, finding: finding.kind, message })
      if (cr) options.tellEvent(cr, { type: 'Warning', reason: reasonOf(finding.kind), message })
      options.onFinding(finding)
    }
  }

  return {
    report(subject, findings) {
      tell(subject, findings)
      const now = standingOf(subject)
      note(now, findings)
      standing.set(subject.id, now)
      say(subject)
    },
    ended(subject, { found, isAtRest }) {
      tell(subject, found)
      const now = standingOf(subject)
      if (now.causes.size + found.length === 0) return
      for (const kind of now.causes.keys()) {
        if (!repeating.has(kind) || isAtRest || now.isReleased) now.causes.delete(kind)
      }
      now.isReleased = false
      note(now, found)
      if (now.causes.size > 0) standing.set(subject.id, now)
      else standing.delete(subject.id)
      say(subject)
    },
    released(id) {
      const trouble = standing.get(id)
      if (trouble) trouble.isReleased = true
    },
    forget: (id) => void standing.delete(id),
    async settled() {
      await Promise.all(writing.values())
    },
  }
}

/** All findings of one kind are one cause; how often and how fast it happened is told once. */
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
