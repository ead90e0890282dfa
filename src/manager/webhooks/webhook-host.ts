/**
 * The webhooks of all hosted operators behind one function: a path and a review in, a review out. Called by the HTTPS
 * server and, in tests, by an embedded API server in the same process.
 *
 * Author code that throws, returns an invalid value or times out affects its own review only. The response names the
 * webhook that failed; the cause, which may quote a Secret, goes to `onFailure` only.
 */
import type { Clock } from '../../clock/clock.ts'
import { managerErrors } from '../errors.ts'
import { operatorErrors } from '../../operator/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { formatResource } from '../../kube/kind.ts'
import { type Conversion, conversionName } from '../../operator/kind/conversion.ts'
import type { Webhook } from '../../operator/kind/webhook.ts'
import type { ThreadWatch } from '../threads/thread-watch.ts'
import type { AccessReviewer } from './access-reviews.ts'
import { answerMutation, answerValidation, readAdmission } from './admission-review.ts'
import { answerConversion, failedConversion, readConversion } from './conversion-review.ts'

/** The declarations of one operator. */
export interface OperatorWebhooks {
  readonly webhooks?: readonly Webhook[]
  readonly conversions?: readonly Conversion[]
  /** Answers what users may do in its cluster. @default no cluster is asked */
  readonly reviewer?: AccessReviewer | undefined
}

interface KnownWebhooks extends OperatorWebhooks {
  readonly webhooks: readonly Webhook[]
  readonly conversions: readonly Conversion[]
}

export interface WebhookHost {
  /**
   * Adds an operator, or replaces its declarations. @throws InvalidWebhook for contradictions, also with another
   * operator
   */
  set(operator: string, declared: OperatorWebhooks): void
  delete(operator: string): void
  /**
   * Stops serving an operator's earlier declarations: they are served for a while, since API servers notice a change
   * late.
   */
  forget(operator: string): void
  readonly operators: ReadonlyMap<string, OperatorWebhooks>
  /**
   * The response to a review; `timeoutMs` is the time-out of the API server. The host takes over the review and freezes
   * it. @throws WebhookUnknown, InvalidReview, WebhookFailed
   */
  answer(path: string, review: Json, timeoutMs?: number): Promise<JsonObject>
}

interface WebhookHostOptions {
  readonly clock: Clock
  /** Notified when author code holds the thread. @default not watched */
  readonly thread?: ThreadWatch | undefined
  /** Receives the causes of failures. @default ignored */
  readonly onFailure?: ((failure: WebhookFailure) => void) | undefined
}

export interface WebhookFailure {
  readonly operator: string
  /** As in the path: `validate/memcacheds`, `convert/memcacheds.cache.example.com`. */
  readonly webhook: string
  readonly error: unknown
}

export type WebhookAct = 'validate' | 'mutate' | 'convert'

/** The path of a webhook on the server. */
export function webhookPath(operator: string, act: WebhookAct, name: string): string {
  return `/operators/${operator}/${act}/${name}`
}

const pathPattern = /^\/operators\/([^/]+)\/(validate|mutate|convert)\/([^/]+)$/

/** Our time-out is shorter than the API server's, since our response names the webhook. */
const shareOfTime = 0.9

/** The API server's time-out of a conversion. */
const conversionMs = 30_000

export function createWebhookHost({ clock, thread, onFailure = () => undefined }: WebhookHostOptions): WebhookHost {
  const operators = new Map<string, OperatorWebhooks>()
  const former = new Map<string, OperatorWebhooks>()

  const retire = (operator: string): void => {
    const declared = [operators.get(operator), former.get(operator)].filter((one) => one !== undefined)
    if (declared.length === 0) return
    former.set(operator, {
      webhooks: declared.flatMap(({ webhooks = [] }) => webhooks),
      conversions: declared.flatMap(({ conversions = [] }) => conversions),
      reviewer: declared[0]?.reviewer,
    })
  }
  /** The current and the earlier declarations of an operator. */
  const known = (operator: string): KnownWebhooks => {
    const [now = {}, before = {}] = [operators.get(operator), former.get(operator)]
    return {
      webhooks: [...(now.webhooks ?? []), ...(before.webhooks ?? [])],
      conversions: [...(now.conversions ?? []), ...(before.conversions ?? [])],
      reviewer: now.reviewer ?? before.reviewer,
    }
  }

  const answer: WebhookHost['answer'] = async (path, review, timeoutMs = Infinity) => {
    const [, operator = '', act = '', name = ''] = pathPattern.exec(path) ?? []
    const { webhooks, conversions, reviewer } = known(operator)
    const failed = (error: unknown): MusterError => {
      onFailure({ operator, webhook: `${act}/${name}`, error })
      const why = isMusterError(error, managerErrors.WebhookFailed) ? error.message : `failed (${classOf(error)}).`
      return new MusterError(managerErrors.WebhookFailed, `the webhook ${act}/${name} of operator ${operator} ${why}`)
    }
    const within = async (limitMs: number, work: () => Promise<JsonObject>): Promise<JsonObject> => {
      const marks = thread?.enter({ operator, controller: name, key: 'a review' })
      marks?.at(act)
      try {
        const answering = limited(clock, Math.min(limitMs, timeoutMs) * shareOfTime, work)
        marks?.away()
        return await answering
      } catch (error) {
        throw failed(error)
      } finally {
        marks?.leave()
      }
    }
    if (act === 'convert') {
      const ways = conversions.filter((conversion) => conversionName(conversion) === name)
      if (!ways[0]) throw unknown(path)
      const question = readConversion(review, ways[0].for.kind)
      try {
        return await within(conversionMs, () => answerConversion(ways, question))
      } catch (error) {
        return failedConversion(question, (error as Error).message)
      }
    }
    const give = act === 'validate' ? answerValidation : answerMutation
    const webhook = webhooks.find((one) => one.name === name && (act === 'validate' ? one.validate : one.mutate))
    if (!webhook) throw unknown(path)
    const question = readAdmission(review, webhook, clock.now(), reviewer)
    return await within(webhook.timeoutSeconds * 1000, () => give(webhook, question))
  }

  return {
    operators,
    set(operator, declared) {
      checkNames(operator, declared)
      checkOthers(operators, operator, declared)
      retire(operator)
      operators.set(operator, declared)
    },
    delete(operator) {
      retire(operator)
      operators.delete(operator)
    },
    forget: (operator) => void former.delete(operator),
    answer,
  }
}

function checkNames(operator: string, { webhooks = [], conversions = [] }: OperatorWebhooks): void {
  const names = [
    ...webhooks.map(({ name, for: own }) => ({
      name,
      what: `webhooks called ${name} (one is for ${formatResource(own)})`,
    })),
    ...conversions.map((one) => ({
      name: `${conversionName(one)}/${one.version}`,
      what: `conversions of ${conversionName(one)} from ${one.version}`,
    })),
  ]
  const seen = new Set<string>()
  for (const { name, what } of names) {
    if (seen.has(name)) throw new MusterError(operatorErrors.InvalidWebhook, `operator ${operator} has two ${what}.`)
    seen.add(name)
  }
}

/** A CRD has one conversion. The same operator on another cluster (`name.cluster`) converts another CRD. */
function checkOthers(
  operators: WebhookHost['operators'],
  operator: string,
  { conversions = [] }: OperatorWebhooks,
): void {
  const own = new Set(conversions.map(conversionName))
  for (const [other, declared] of operators) {
    if (baseName(other) === baseName(operator)) continue
    const both = declared.conversions?.map(conversionName).find((name) => own.has(name))
    if (both === undefined) continue
    throw new MusterError(operatorErrors.InvalidWebhook, `operators ${other} and ${operator} both convert ${both}.`)
  }
}

/** Names of operators contain no dot. */
function baseName(operator: string): string {
  return operator.split('.', 1)[0]!
}

function unknown(path: string): MusterError {
  return new MusterError(managerErrors.WebhookUnknown, `no hosted operator has a webhook at ${JSON.stringify(path)}.`)
}

/** The class of an error is harmless; its message may contain anything. */
function classOf(error: unknown): string {
  const name = error instanceof Error ? error.name : typeof error
  return /^\w{1,64}$/.test(name) ? name : 'Error'
}

async function limited<T>(clock: Clock, limitMs: number, work: () => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = clock.after(limitMs, () =>
    reject(new MusterError(managerErrors.WebhookFailed, `took longer than ${limitMs / 1000} seconds.`)),
  )
  try {
    return await Promise.race([work(), late])
  } finally {
    timer.cancel()
  }
}

/**
 * The address of the webhook server for API servers: a Service of their cluster, or a URL (`https://10.0.0.1:9443`).
 */
export type WebhookAddress =
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port?: number } }
  | { readonly url: string }
