/**
 * Admission webhooks. `validate` rejects an object or warns, `mutate` returns the object to store. Both are pure
 * functions of the admission request, so the same code runs behind an API server, in process and in a test.
 *
 * A webhook is declared for one version of a kind: the API server converts other versions to it first. A rejection is
 * returned, not thrown. A thrown error is a failure: the failure policy decides about the write, and the client learns
 * which webhook failed, not why.
 *
 * Conversion between versions is in `conversion.ts`.
 */
import type { Cause } from '../../kube/validation/cause.ts'
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { formatResource, type GroupVersionKind, type Resource } from '../../kube/kind.ts'
import { checkDnsLabel } from '../../kube/meta/name.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { MatchCondition } from '../../kube/types/admissionregistration/v1.ts'
import type { LabelSelector } from '../../kube/types/meta/v1.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE'

/** The authenticated user of a request. */
export interface AdmissionUser {
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: ReadonlyMap<string, readonly string[]>
}

/** What a user wants to do, and with what. */
export interface AccessAttributes {
  /** `create`, `update`, `delete`, `impersonate`, or a verb of its own. */
  readonly verb: string
  /** A kind is resolved to its resource: see `resourceOf`. */
  readonly kind: GroupVersionKind | Resource
  /** Left out for a kind that has none. @default all namespaces */
  readonly namespace?: string | undefined
  /** @default any name */
  readonly name?: string | undefined
  readonly subresource?: string | undefined
}

/** Questions to the authorizer of the cluster, for a webhook with `access`. */
export interface AdmissionAccess {
  /**
   * Whether the user of this request may do that: a SubjectAccessReview. Equal questions about one object are asked once.
   * @throws KindNotServed for a kind that the cluster does not serve, InvalidWebhook without `access`
   */
  may(this: void, attributes: AccessAttributes): Promise<boolean>
  /** The resource of a kind, as the cluster serves it; undefined if it does not. Cached. */
  resourceOf(this: void, kind: GroupVersionKind): Promise<Resource | undefined>
}

/** An admission request. Everything in it is frozen. */
export interface Admission<T extends KubeObject> extends AdmissionAccess {
  readonly operation: AdmissionOperation
  /** The object to store; for a DELETE the live object. */
  readonly object: T
  /** The live object; undefined for a CREATE. */
  readonly old: T | undefined
  /** Empty until the API server has generated it from `generateName`. */
  readonly name: string
  readonly namespace: string | undefined
  /** `status`, `scale`; empty for the object itself. */
  readonly subresource: string
  readonly user: AdmissionUser
  /** The request is a dry run. */
  readonly dryRun: boolean
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Undefined admits the object. Causes (`invalidValue('spec.size', 2, 'must be odd')`) reject it, warnings do not. */
export type AdmissionVerdict =
  | void
  | readonly Cause[]
  | { readonly refusals?: readonly Cause[]; readonly warnings?: readonly string[] }

export interface WebhookOptions<T extends KubeObject> {
  readonly for: TypedResource<T>
  /** Its name within the operator: a DNS label. @default the plural of the kind */
  readonly name?: string
  /** The operations it is called for. `mutate` is never called for a DELETE. @default CREATE and UPDATE */
  readonly operations?: readonly AdmissionOperation[]
  /** Subresources: `status`. The object itself is always included. @default none */
  readonly subresources?: readonly string[]
  /** CEL, evaluated by the API server: all must hold for the webhook to be called. */
  readonly matchConditions?: readonly MatchCondition[]
  readonly objectSelector?: LabelSelector
  readonly namespaceSelector?: LabelSelector
  /** What happens to a write if the webhook does not answer: rejected or admitted. @default 'Fail' */
  readonly failurePolicy?: 'Fail' | 'Ignore'
  /** `NoneOnDryRun`: it has side effects, but not in a dry run. @default 'None' */
  readonly sideEffects?: 'None' | 'NoneOnDryRun'
  /** The API server's time-out, from 1 to 30. @default 10 */
  readonly timeoutSeconds?: number
  /** Its functions ask what the user of a request may do (`may`): the manager then needs the right to ask. @default false */
  readonly access?: boolean
  /** Whether `mutate` is called again when another webhook changed the object after it. @default 'Never' */
  readonly reinvocation?: 'Never' | 'IfNeeded'
  validate?(this: void, admission: Admission<T>): AdmissionVerdict | Promise<AdmissionVerdict>
  /** Returns the object to store, or nothing to leave it. Only the difference is sent. */
  mutate?(this: void, admission: Admission<T>): T | void | Promise<T | void>
}

/** An admission webhook, without the type of its objects. */
export interface Webhook extends Required<Omit<WebhookOptions<KubeObject>, 'validate' | 'mutate'>> {
  readonly validate: ((admission: Admission<KubeObject>) => AdmissionVerdict | Promise<AdmissionVerdict>) | undefined
  readonly mutate: ((admission: Admission<KubeObject>) => KubeObject | void | Promise<KubeObject | void>) | undefined
}

/** @throws InvalidWebhook for options that the API server would reject, or a webhook that would never be called */
export function defineWebhook<T extends KubeObject>(options: WebhookOptions<T>): Webhook {
  const {
    validate,
    mutate,
    name = options.for.plural,
    timeoutSeconds = 10,
    operations = ['CREATE', 'UPDATE'],
  } = options
  const refuse = (why: string): never => {
    throw new MusterError(
      operatorErrors.InvalidWebhook,
      `the webhook ${name} for ${formatResource(options.for)} ${why}.`,
    )
  }
  const [problem] = checkDnsLabel(name)
  if (problem !== undefined) refuse(`has a name that is not a DNS label: ${problem}`)
  if (!validate && !mutate) refuse('neither validates nor mutates')
  if (!validate && operations.every((operation) => operation === 'DELETE'))
    refuse('mutates, but is called for no operation')
  // These subresources have objects of another kind.
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
    access: options.access ?? false,
    // The API server sends only objects of the kind in `for`, and the review is checked, so the cast is safe.
    validate: validate as Webhook['validate'],
    mutate: mutate as Webhook['mutate'],
  }
}
