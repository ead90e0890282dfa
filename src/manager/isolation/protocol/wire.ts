/**
 * Validates plans and conclusions of a guest. A guest may be hostile: messages are rebuilt from validated members, and
 * the manager's own knowledge (operator, controller, CR, declared resources) replaces what the guest claims.
 */
import { managerErrors } from '../../errors.ts'
import { MusterError } from '../../../kube/muster-error.ts'
import type { Health, HealthStatus } from '../../../kube/meta/health.ts'
import { isJsonObject, type JsonObject } from '../../../kube/json.ts'
import { formatResource, type Resource } from '../../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../../kube/object.ts'
import type { ReconcileFailure } from '../../../operator/failure.ts'
import type { EventDraft, LedgerEntry, Operation } from '../../../operator/ledger.ts'
import { type Mutation, type MutationOutcome, mutationName, type Wave } from '../../../operator/plan.ts'
import type { Conclusion, Memory, Situation } from '../../../operator/reconcile.ts'
import type { ObjectName } from '../../../operator/view/view.ts'
import { decodeError, encodeError, plainResource, type WireMemory, type WireOutcome } from './protocol.ts'

export function encodeWave(wave: Wave): readonly Mutation[] {
  return wave.map((mutation) => ({ ...mutation, resource: plainResource(mutation.resource) }))
}

/** @throws GuestMisbehaved */
export function decodeWave(received: unknown, { controller, cr }: Situation<KubeObject>): Wave {
  const known = new Map([controller.kind, ...controller.outputs].map((each) => [formatResource(each), each]))
  return array(received, 'a wave').map((each): Mutation => {
    const fields = wireRecord(each, 'a mutation')
    const asked = wireResourceOf(fields['resource'])
    const resource: Resource = known.get(formatResource(asked)) ?? asked
    const mutation = mutationOf(fields, wireText(fields['subject'], 'a subject'), resource)
    if (mutation.verb === 'status' || mutation.verb === 'finalizers') {
      const { name, namespace } = mutationName(mutation)
      const isOwn = name === cr.metadata.name && namespace === cr.metadata.namespace
      if (!isOwn) wrong(`the ${mutation.verb} of ${name}, which is not the object at hand`)
    }
    return mutation
  })
}

function mutationOf(fields: JsonObject, subject: string, resource: Resource): Mutation {
  const { verb, why, uid, resourceVersion } = fields
  const target = { subject, resource }
  switch (verb) {
    case 'apply': {
      if (why !== 'missing' && why !== 'changed' && why !== 'drifted') wrong('a reason')
      const paths = fields['fields'] === undefined ? undefined : texts(fields['fields'], 'fields')
      const object = objectOf(fields['object'])
      return {
        ...target,
        verb,
        object,
        why,
        force: fields['force'] === true,
        ...(paths && { fields: paths }),
      }
    }
    case 'delete':
      if (why !== 'pruned' && why !== 'finalized') wrong('a reason')
      return { ...target, verb, name: wireObjectName(fields['name']), uid: wireText(uid, 'a uid'), why }
    case 'finalizers':
      if (why !== 'added' && why !== 'removed') wrong('a reason')
      return {
        ...target,
        verb,
        name: wireObjectName(fields['name']),
        uid: wireText(uid, 'a uid'),
        resourceVersion: wireText(resourceVersion, 'a resourceVersion'),
        finalizers: texts(fields['finalizers'], 'finalizers'),
        why,
      }
    case 'status':
      return { ...target, verb, object: objectOf(fields['object']) }
    default:
      return wrong('a verb')
  }
}

export function encodeOutcome(outcome: MutationOutcome): WireOutcome {
  if (outcome.result === 'failed') return { result: 'failed', error: encodeError(outcome.error) }
  const object = outcome.object as unknown as JsonObject
  return outcome.result === 'exists' ? { result: 'exists', object } : { result: 'done', ...(object && { object }) }
}

export function encodeMemory({ failures, settled, refused }: Memory): WireMemory {
  return {
    failures: [...failures],
    settled: [...settled],
    refused: [...refused].map(([subject, each]) => [subject, { ...each, error: encodeError(each.error) }]),
  }
}

export function encodeConclusion({ ledger, memory }: Conclusion): JsonObject {
  const { path, stepsAt, entries, health, failure, waiting, requeueAfterMs, events, gauges, isFinalizing } = ledger
  return {
    path,
    stepsAt,
    entries,
    health: [...health],
    failure,
    waiting,
    events,
    ...(gauges && { gauges: [...gauges] }),
    // JSON has no infinity, and authors may compute negative times.
    ...(requeueAfterMs !== undefined && requeueAfterMs < Infinity && { requeueAfterMs: Math.max(requeueAfterMs, 0) }),
    isFinalizing,
    memory: encodeMemory(memory),
  } as unknown as JsonObject
}

/** @throws GuestMisbehaved */
export function decodeConclusion(received: unknown, situation: Situation<KubeObject>, startedAt: number): Conclusion {
  const { path, stepsAt, entries, health, failure, waiting, requeueAfterMs, events, gauges, isFinalizing, memory } =
    wireRecord(received, 'a conclusion')
  return {
    ledger: {
      ...guestIdentityOf(situation),
      startedAt,
      path: texts(path, 'a path'),
      entries: array(entries, 'entries').map(entryOf),
      health: new Map(pairs(health, 'a health').map(([subject, each]) => [subject, healthOf(each)])),
      isFinalizing: isFinalizing === true,
      ...(stepsAt !== undefined && { stepsAt: array(stepsAt, 'times').map((each) => amount(each, 'a time')) }),
      ...(failure !== undefined && { failure: failureOf(failure) }),
      ...(waiting !== undefined && { waiting: wireText(waiting, 'what it waits for') }),
      ...(requeueAfterMs !== undefined && { requeueAfterMs: amount(requeueAfterMs, 'a time') }),
      ...(events !== undefined && { events: array(events, 'events').map(eventOf) }),
      ...(gauges !== undefined && {
        gauges: new Map(pairs(gauges, 'gauges').map(([name, value]) => [name, finite(value, 'a gauge')])),
      }),
    },
    memory: memoryOf(memory),
  }
}

/** The identity of the reconcile, as known to the manager. */
export function guestIdentityOf({ operator, controller, cr }: Situation<KubeObject>): {
  readonly operator: string
  readonly controller: string
  readonly key: string
  readonly generation: number
} {
  const { namespace, name = '', generation = 0 } = cr.metadata
  return {
    operator,
    controller: controller.name,
    key: namespace === undefined ? name : `${namespace}/${name}`,
    generation,
  }
}

export function memoryOf(received: unknown): Memory {
  const { failures, settled, refused } = wireRecord(received, 'a memory')
  return {
    failures: new Map(pairs(failures, 'failures').map(([key, count]) => [key, amount(count, 'a count')])),
    settled: new Map(pairs(settled, 'what is settled').map(([subject, each]) => [subject, settledOf(each)])),
    refused: new Map(
      pairs(refused, 'what was refused').map(([subject, each]) => {
        const { crVersion, error } = wireRecord(each, 'what was refused')
        return [
          subject,
          { ...settledOf(each), crVersion: wireText(crVersion, 'a resourceVersion'), error: decodeError(error) },
        ]
      }),
    ),
  }
}

function settledOf(received: unknown): { readonly hash: string; readonly resourceVersion: string } {
  const { hash, resourceVersion } = wireRecord(received, 'what is settled')
  return { hash: wireText(hash, 'a hash'), resourceVersion: wireText(resourceVersion, 'a resourceVersion') }
}

const operations: ReadonlySet<string> = new Set([
  'created',
  'updated',
  'corrected',
  'adopted',
  'pruned',
  'deleted',
  'released',
  'unchanged',
  'ignored',
  'inactive',
  'waiting',
  'delayed',
  'acted',
  'finalizerAdded',
  'finalizerRemoved',
  'statusWritten',
  'requeued',
  'failed',
  'gaveUp',
] satisfies readonly Operation[])

function entryOf(received: unknown): LedgerEntry {
  const { step, subject, operation, kind, name, message, fields } = wireRecord(received, 'an entry')
  if (typeof operation !== 'string' || !operations.has(operation)) wrong('an operation')
  return {
    step: wireText(step, 'a step'),
    subject: wireText(subject, 'a subject'),
    operation: operation as Operation,
    ...(kind !== undefined && { kind: wireText(kind, 'a kind') }),
    ...(name !== undefined && { name: wireObjectName(name) }),
    ...(message !== undefined && { message: wireText(message, 'a message') }),
    ...(fields !== undefined && { fields: texts(fields, 'fields') }),
  }
}

function eventOf(received: unknown): EventDraft {
  const { type, reason, message } = wireRecord(received, 'an event')
  if (type !== 'Normal' && type !== 'Warning') wrong('the type of an event')
  return { type, reason: wireText(reason, 'a reason'), message: wireText(message, 'a message') }
}

const healths: ReadonlySet<string> = new Set([
  'InProgress',
  'Failed',
  'Current',
  'Terminating',
  'NotFound',
  'Unknown',
] satisfies readonly HealthStatus[])

function healthOf(received: unknown): Health {
  const { status, reason, message } = wireRecord(received, 'a health')
  if (typeof status !== 'string' || !healths.has(status)) wrong('a health')
  return {
    status: status as HealthStatus,
    reason: wireText(reason, 'a reason'),
    message: wireText(message, 'a message'),
  }
}

function failureOf(received: unknown): ReconcileFailure {
  const { step, subject, reason, message, retry, gaveUp, afterMs, at, stack } = wireRecord(received, 'a failure')
  if (retry !== 'terminal' && retry !== 'conflict' && retry !== 'throttled' && retry !== 'transient') {
    wrong('a retry class')
  }
  return {
    step: wireText(step, 'a step'),
    subject: wireText(subject, 'a subject'),
    reason: wireText(reason, 'a reason'),
    message: wireText(message, 'a message'),
    retry,
    gaveUp: gaveUp === true,
    afterMs: afterMs === undefined ? undefined : amount(afterMs, 'a time'),
    ...(at !== undefined && { at: wireText(at, 'a place') }),
    ...(stack !== undefined && { stack: wireText(stack, 'a stack') }),
  }
}

function objectOf(received: unknown): UntypedObject {
  const object = wireRecord(received, 'an object')
  const { apiVersion, kind, metadata } = object
  wireText(apiVersion, 'an apiVersion')
  wireText(kind, 'a kind')
  wireObjectName(metadata)
  return object as unknown as UntypedObject
}

export function wireObjectName(received: unknown): ObjectName {
  const { name, namespace } = wireRecord(received, 'a name')
  return {
    name: wireText(name, 'a name'),
    namespace: namespace === undefined ? undefined : wireText(namespace, 'a namespace'),
  }
}

const word = /^[A-Za-z0-9]+$/
const pathPart = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

/** A resource named by a guest. Its members become parts of URL paths and must not contain anything else. */
export function wireResourceOf(received: unknown): Resource {
  const { group, version, kind, plural, namespaced } = wireRecord(received, 'a resource')
  const part = (value: unknown, pattern: RegExp): string =>
    typeof value === 'string' && pattern.test(value) ? value : wrong('a resource')
  return {
    group: group === '' ? '' : part(group, pathPart),
    version: part(version, pathPart),
    kind: part(kind, word),
    plural: part(plural, pathPart),
    namespaced: namespaced === true,
  }
}

export function wrong(what: string): never {
  throw new MusterError(managerErrors.GuestMisbehaved, `It sent ${what} that makes no sense.`)
}

export function wireText(value: unknown, what: string): string {
  return typeof value === 'string' ? value : wrong(what)
}

export function amount(value: unknown, what: string): number {
  const number = finite(value, what)
  return number >= 0 ? number : wrong(what)
}

function finite(value: unknown, what: string): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : wrong(what)
}

export function wireRecord(value: unknown, what: string): JsonObject {
  return isJsonObject(value) ? value : wrong(what)
}

function array(value: unknown, what: string): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : wrong(what)
}

export function texts(value: unknown, what: string): readonly string[] {
  return array(value, what).map((each) => wireText(each, what))
}

function pairs(value: unknown, what: string): readonly (readonly [string, unknown])[] {
  return array(value, what).map((each) => {
    const [key, other] = array(each, what)
    return [wireText(key, what), other] as const
  })
}
