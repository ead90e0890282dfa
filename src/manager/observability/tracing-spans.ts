/**
 * A reconcile as a trace: one span for the reconcile, one for each step, one for each write. All data comes from the
 * ledger, so a trace agrees with the log, and contains no values of Secrets. The trace id is the id of the reconcile,
 * and span ids are derived from it, so that requests can be marked while the reconcile is in progress.
 */
import { isWrite, type Ledger, outcomeOf, type SentWrite } from '../../operator/ledger.ts'

/** A span in OTLP's JSON encoding. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code: number; readonly message?: string }
}

export interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue: string } | { readonly intValue: string }
}

const internal = 1
const client = 3
const unset = 0
const failed = 2

/** W3C Trace Context, with the sampled flag. */
export function traceparent(id: string): string {
  return `00-${id}-${spanId(id, 0)}-01`
}

/** Empty for a reconcile that was not measured. */
export function spansOf(ledger: Ledger): readonly Span[] {
  const { effort, operator, controller, key, generation, path, failure, requeueAfterMs } = ledger
  if (!effort) return []
  const { id: traceId, endedAt } = effort
  let count = 0
  const span = (
    name: string,
    [startedAt, end]: readonly [number, number],
    more: Pick<Span, 'attributes'> & Partial<Pick<Span, 'parentSpanId' | 'kind' | 'status'>>,
  ): Span => ({
    traceId,
    spanId: spanId(traceId, count++),
    name,
    kind: internal,
    startTimeUnixNano: nanos(startedAt),
    endTimeUnixNano: nanos(Math.max(end, startedAt)),
    status: { code: unset },
    ...more,
  })

  const run = span(`reconcile ${operator}/${controller}`, [ledger.startedAt, endedAt], {
    attributes: attributes({
      'muster.operator': operator,
      'muster.controller': controller,
      'muster.object': key,
      'muster.generation': generation,
      'muster.outcome': outcomeOf(ledger),
      'muster.requeue_after_ms': requeueAfterMs,
      'muster.reads': effort.reads,
    }),
    ...(failure && { status: { code: failed, message: failure.message } }),
  })
  const stepsAt = ledger.stepsAt ?? []
  const steps = path.map((step, index) => {
    const at = [stepsAt[index] ?? ledger.startedAt, stepsAt[index + 1] ?? endedAt] as const
    const stepFailure = failure?.step === step ? failure : undefined
    return span(step, at, {
      parentSpanId: run.spanId,
      attributes: attributes({ 'muster.reason': stepFailure?.reason }),
      ...(stepFailure && { status: { code: failed, message: stepFailure.message } }),
    })
  })
  const writes = effort.sent.map((write) => {
    const { entry, step } = placeOf(write, ledger)
    const { kind, name, verb, subject, startedAt, endedAt: end, isDone } = write
    return span(`${verb} ${kind.split(' ').at(-1)}`, [startedAt, end], {
      parentSpanId: steps[step]?.spanId ?? run.spanId,
      kind: client,
      attributes: attributes({
        'muster.subject': subject,
        'muster.operation': entry?.operation,
        'k8s.object.kind': kind,
        'k8s.object.name': name.name,
        'k8s.namespace.name': name.namespace,
        // Field paths, never values.
        'muster.fields': entry?.fields?.join(', '),
      }),
      status: { code: isDone ? unset : failed },
    })
  })
  return [run, ...steps, ...writes]
}

/** The ledger entry of a write, and the step that made it: the last of that name. */
function placeOf(
  { subject, isDone, verb }: SentWrite,
  { entries, path }: Ledger,
): { readonly entry: Ledger['entries'][number] | undefined; readonly step: number } {
  const entry = entries.find(
    (each) =>
      each.subject === subject &&
      (isDone ? isWrite(each) && (each.operation === 'statusWritten') === (verb === 'status') : isFailure(each)),
  )
  return { entry, step: entry ? path.lastIndexOf(entry.step) : -1 }
}

function isFailure({ operation }: Ledger['entries'][number]): boolean {
  return operation === 'failed' || operation === 'gaveUp'
}

/** The lower half of the trace id plus the index. */
function spanId(id: string, index: number): string {
  const number = BigInt.asUintN(64, BigInt(`0x${id.slice(16)}`) + BigInt(index))
  return (number === 0n ? 1n : number).toString(16).padStart(16, '0')
}

function nanos(ms: number): string {
  return String(BigInt(Math.round(ms)) * 1_000_000n)
}

function attributes(values: Readonly<Record<string, string | number | undefined>>): readonly Attribute[] {
  return Object.entries(values).flatMap(([key, value]): readonly Attribute[] => {
    if (value === undefined) return []
    if (typeof value === 'string') return [{ key, value: { stringValue: value } }]
    return Number.isFinite(value) ? [{ key, value: { intValue: String(Math.round(value)) } }] : []
  })
}
