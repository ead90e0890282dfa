/**
 * Webhooks and conversions of an isolated operator: an API server calls, the manager asks the guest, and validates the
 * result like that of any author.
 *
 * Arguments and results of the functions travel, not the reviews: the response is built here, so a guest can deny a
 * write, warn about it and mutate the object within its rights, and nothing else. A guest that does not answer has
 * failed: the webhook's failure policy applies, as when author code throws.
 */
import { freezeDeep } from '../../../cache/decode/intern.ts'
import type { Clock, Timer } from '../../../clock/clock.ts'
import { operatorErrors } from '../../../operator/errors.ts'
import { managerErrors } from '../../errors.ts'
import { MusterError } from '../../../kube/muster-error.ts'
import type { JsonObject } from '../../../kube/json.ts'
import type { KubeObject, UntypedObject } from '../../../kube/object.ts'
import { type Conversion, conversionName, convertObject } from '../../../operator/kind/conversion.ts'
import type { Operator } from '../../../operator/operator.ts'
import type { Admission, AdmissionAccess, Webhook } from '../../../operator/kind/webhook.ts'
import { accessFor } from '../../webhooks/access-reviews.ts'
import { type Answer, decodeError } from './protocol.ts'
import { wireRecord, wrong } from './wire.ts'

export type Question =
  | { readonly what: 'validate' | 'mutate'; readonly webhook: string; readonly admission: WireAdmission }
  | {
      readonly what: 'convert'
      /** The name of the CRD. */
      readonly kind: string
      readonly objects: readonly UntypedObject[]
      readonly wanted: string
    }

/** Resolves to the guest's unvalidated answer. */
export type Consult = (question: Question) => Promise<unknown>

type WireAdmission = Omit<Admission<KubeObject>, 'user' | keyof AdmissionAccess> & {
  readonly user: Omit<Admission<KubeObject>['user'], 'extra'> & {
    readonly extra: readonly (readonly [string, readonly string[]])[]
  }
}

interface AskedFunctions {
  readonly validate: NonNullable<Webhook['validate']>
  readonly mutate: NonNullable<Webhook['mutate']>
}

/** The functions of a remote webhook. Their results are validated where those of every author are. */
export function askedWebhook(name: string, consult: Consult): AskedFunctions {
  const ask = async (what: 'validate' | 'mutate', admission: Admission<KubeObject>): Promise<unknown> => {
    // A guest asks nothing: such webhooks are refused with it.
    const { user, may: _may, resourceOf: _resourceOf, ...rest } = admission
    return await consult({
      what,
      webhook: name,
      admission: { ...rest, user: { ...user, extra: [...user.extra] } },
    })
  }
  return {
    validate: (admission) => ask('validate', admission) as ReturnType<AskedFunctions['validate']>,
    mutate: (admission) => ask('mutate', admission) as ReturnType<AskedFunctions['mutate']>,
  }
}

export function askedConversion(
  { for: kind, version }: Pick<Conversion, 'for' | 'version'>,
  consult: Consult,
): Conversion {
  const notHere = (): never => {
    throw new MusterError(
      operatorErrors.ConversionMissing,
      `The functions for ${kind.kind} ${version} are not in this thread.`,
    )
  }
  const name = conversionName({ for: kind })
  return {
    for: kind,
    version,
    toStored: notHere,
    fromStored: notHere,
    async elsewhere(objects, wanted) {
      const received = await consult({ what: 'convert', kind: name, objects, wanted })
      if (!Array.isArray(received) || received.length !== objects.length) return wrong('a conversion')
      return received.map((each) => wireRecord(each, 'a conversion') as unknown as UntypedObject)
    },
  }
}

/** In the guest: the result of the operator's own functions. @throws their errors */
export async function opinionOf({ webhooks, conversions }: Operator, question: Question): Promise<unknown> {
  if (question.what === 'convert') {
    const { kind, objects, wanted } = question
    const ways = conversions.filter((way) => conversionName(way) === kind)
    return frozen(objects).map((object) => convertObject(ways, object, wanted))
  }
  const webhook = webhooks.find(({ name }) => name === question.webhook)
  const { user, ...rest } = frozen(question.admission)
  const known = { ...rest, old: rest.old, user: { ...user, extra: new Map(user.extra) } }
  return await webhook?.[question.what]?.({
    ...known,
    ...accessFor({ name: question.webhook, access: false }, known.user, undefined),
  })
}

/** Frozen, like all objects that author code gets. */
function frozen<T>(received: T): T {
  return freezeDeep(received as unknown as JsonObject) as unknown as T
}

/** The unanswered questions of one guest. */
interface Consultations {
  readonly size: number
  /** `send` sends the question. Rejects when the answer is late. */
  ask(id: number, send: () => void): Promise<unknown>
  /** False when no caller waits for it. */
  answer(id: number, received: unknown, secretless: (error: unknown) => unknown): boolean
  /** The guest has ended. */
  fail(error: unknown): void
}

/** Longer than the time-out of any API server. */
const mostMs = 30_000

export function createConsultations(clock: Clock): Consultations {
  const open = new Map<number, PromiseWithResolvers<unknown> & { readonly deadline: Timer }>()
  const take = (id: number): PromiseWithResolvers<unknown> | undefined => {
    const asked = open.get(id)
    asked?.deadline.cancel()
    open.delete(id)
    return asked
  }
  return {
    get size() {
      return open.size
    },
    ask(id, send) {
      const cause = new MusterError(managerErrors.OperatorUnresponsive, `No answer to a webhook within ${mostMs} ms.`)
      const deadline = clock.after(mostMs, () => take(id)?.reject(cause))
      const asked = { ...Promise.withResolvers<unknown>(), deadline }
      open.set(id, asked)
      send()
      return asked.promise
    },
    answer(id, received, secretless) {
      const asked = take(id)
      if (!asked) return false
      const answer = wireRecord(received, 'an answer') as unknown as Answer
      if ('error' in answer) asked.reject(secretless(decodeError(answer.error)))
      else asked.resolve(answer.value)
      return true
    },
    fail(error) {
      for (const id of open.keys()) take(id)?.reject(error)
    },
  }
}
