/**
 * Webhooks: an author's say before an object is stored. `validate` refuses it or warns, `mutate` returns it as it is to be.
 * Both are functions of the object and of who does what when: no I/O, so the same code runs behind an API server, in
 * process and in a test.
 *
 * Declared for a kind, at the author's version of it: the server brings what was written at another version to this one
 * first. Refusing is an answer and is returned. What is thrown is a failure: the webhook's failure policy decides what
 * becomes of the write, and its client learns whose webhook failed, not why.
 *
 * Conversion between versions is in `conversion.ts`.
 */
import type { Cause } from '../kube/validation/cause.ts'
import { MusterError } from '../kube/errors.ts'
import { formatResource } from '../kube/kind.ts'
import { checkDnsLabel } from '../kube/name.ts'
import type { KubeObject } from '../kube/object.ts'
import type { MatchCondition } from '../kube/types/admissionregistration/v1.ts'
import type { LabelSelector } from '../kube/types/meta/v1.ts'
import type { TypedResource } from './typed-resource.ts'

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE'

/** Who asks for a write, as the API server knows them. */
export interface AdmissionUser {
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: ReadonlyMap<string, readonly string[]>
}

/** One write that waits for an answer. Everything in it is frozen. */
export interface Admission<T extends KubeObject> {
  readonly operation: AdmissionOperation
  /** As it is to be stored; for a DELETE as it is now. */
  readonly object: T
  /** As it is now; undefined for a CREATE. */
  readonly old: T | undefined
  /** Empty while the server has yet to make one from `generateName`. */
  readonly name: string
  readonly namespace: string | undefined
  /** `status`, `scale`; empty for the object itself. */
  readonly subresource: string
  readonly user: AdmissionUser
  /** Nothing will be stored, whatever the answer. */
  readonly dryRun: boolean
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Nothing: it may be stored. Causes (`invalidValue('spec.size', 2, 'must be odd')`) refuse it, warnings do not. */
export type AdmissionVerdict =
  | void
  | readonly Cause[]
  | { readonly refusals?: readonly Cause[]; readonly warnings?: readonly string[] }

export interface WebhookOptions<T extends KubeObject> {
  readonly for: TypedResource<T>
  /** Its name within the operator: a DNS label. @default the plural of the kind */
  readonly name?: string
  /** What it is asked about. Nothing that is deleted can be changed: `mutate` is never asked about that. @default CREATE and UPDATE */
  readonly operations?: readonly AdmissionOperation[]
  /** Endpoints below the object: `status`. The object itself is always meant. @default none */
  readonly subresources?: readonly string[]
  /** CEL, evaluated by the API server: all must hold for it to ask at all. */
  readonly matchConditions?: readonly MatchCondition[]
  readonly objectSelector?: LabelSelector
  readonly namespaceSelector?: LabelSelector
  /** What becomes of a write when there is no answer: refused, or let through. @default 'Fail' */
  readonly failurePolicy?: 'Fail' | 'Ignore'
  /** `NoneOnDryRun`: it does more than answer, but looks at `dryRun` first. @default 'None' */
  readonly sideEffects?: 'None' | 'NoneOnDryRun'
  /** How long the API server waits for the answer, from 1 to 30. @default 10 */
  readonly timeoutSeconds?: number
  /** Whether `mutate` is asked again when another webhook changed the object after it. @default 'Never' */
  readonly reinvocation?: 'Never' | 'IfNeeded'
  validate?(this: void, admission: Admission<T>): AdmissionVerdict | Promise<AdmissionVerdict>
  /** Returns the object as it is to be stored, or nothing to leave it. The difference is sent, not the whole. */
  mutate?(this: void, admission: Admission<T>): T | void | Promise<T | void>
}

/** An admission webhook whose kind only its own functions know. */
export interface Webhook extends Required<Omit<WebhookOptions<KubeObject>, 'validate' | 'mutate'>> {
  readonly validate: ((admission: Admission<KubeObject>) => AdmissionVerdict | Promise<AdmissionVerdict>) | undefined
  readonly mutate: ((admission: Admission<KubeObject>) => KubeObject | void | Promise<KubeObject | void>) | undefined
}

/** @throws InvalidWebhook for what no API server would take, or what could never be asked */
export function defineWebhook<T extends KubeObject>(options: WebhookOptions<T>): Webhook {
  const {
    validate,
    mutate,
    name = options.for.plural,
    timeoutSeconds = 10,
    operations = ['CREATE', 'UPDATE'],
  } = options
  const refuse = (why: string): never => {
    throw new MusterError('InvalidWebhook', `the webhook ${name} for ${formatResource(options.for)} ${why}.`)
  }
  const [problem] = checkDnsLabel(name)
  if (problem !== undefined) refuse(`has a name that is no DNS label: ${problem}`)
  if (!validate && !mutate) refuse('neither validates nor mutates')
  if (!validate && operations.every((operation) => operation === 'DELETE'))
    refuse('mutates, but is asked about nothing')
  // What is below these is of another kind.
  if (options.subresources?.some((one) => one === 'scale' || one.includes('*')))
    refuse('asks for scale or all subresources')
  if (operations.length === 0) refuse('is asked about no operation')
  if (!Number.isInteger(timeoutSeconds) || timeoutSeconds < 1 || timeoutSeconds > 30) {
    refuse(`waits ${timeoutSeconds} seconds, not 1 to 30`)
  }
  return {
    for: options.for,
    name,
    operations,
    subresources: options.subresources ?? [],
    matchConditions: options.matchConditions ?? [],
    objectSelector: options.objectSelector ?? {},
    namespaceSelector: options.namespaceSelector ?? {},
    failurePolicy: options.failurePolicy ?? 'Fail',
    sideEffects: options.sideEffects ?? 'None',
    timeoutSeconds,
    reinvocation: options.reinvocation ?? 'Never',
    // The server sends objects of the kind in `for` alone, and the review is checked for it: there the type comes back.
    validate: validate as Webhook['validate'],
    mutate: mutate as Webhook['mutate'],
  }
}
