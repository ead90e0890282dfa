/**
 * Webhooks and conversions of an operator that runs elsewhere: an API server waits for an answer, the manager asks the guest
 * for it, and looks at what it gets as it would at any author's answer.
 *
 * What travels is what the functions take and give, and not the reviews: an answer is made here, so a guest can refuse a write,
 * warn of it and change what it may change, and nothing else. One that does not answer has failed: the webhook's failure
 * policy decides, as it does when the author's code throws.
 */
import { freezeDeep } from '../../cache/intern.ts'
import type { Clock, Timer } from '../../clock/clock.ts'
import { MusterError } from '../../kube/errors.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { type Conversion, conversionName, convertObject } from '../../operator/conversion.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Admission, Webhook } from '../../operator/webhook.ts'
import { type Answer, decodeError } from './protocol.ts'
import { wireRecord, wrong } from './wire.ts'

export type Question =
  | { readonly what: 'validate' | 'mutate'; readonly webhook: string; readonly admission: WireAdmission }
  | {
      readonly what: 'convert'
      /** As the CRD is called. */
      readonly kind: string
      readonly objects: readonly UntypedObject[]
      readonly wanted: string
    }

/** Resolves to whatever the guest says. */
export type Consult = (question: Question) => Promise<unknown>

type WireAdmission = Omit<Admission<KubeObject>, 'user'> & {
  readonly user: Omit<Admission<KubeObject>['user'], 'extra'> & {
    readonly extra: readonly (readonly [string, readonly string[]])[]
  }
}

interface AskedFunctions {
  readonly validate: NonNullable<Webhook['validate']>
  readonly mutate: NonNullable<Webhook['mutate']>
}

/** The functions of a webhook that are somewhere else. Its answers are judged where every author's are. */
export function askedWebhook(name: string, consult: Consult): AskedFunctions {
  const ask = async (what: 'validate' | 'mutate', admission: Admission<KubeObject>): Promise<unknown> => {
    const { user } = admission
    return await consult({
      what,
      webhook: name,
      admission: { ...admission, user: { ...user, extra: [...user.extra] } },
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
    throw new MusterError('ConversionMissing', `The functions for ${kind.kind} ${version} are not in this thread.`)
  }
  const name = conversionName({ for: kind })
  return {
    for: kind,
    version,
    toStored: notHere,
    fromStored: notHere,
    async elsewhere(objects, wanted) {
      const told = await consult({ what: 'convert', kind: name, objects, wanted })
      if (!Array.isArray(told) || told.length !== objects.length) return wrong('a conversion')
      return told.map((each) => wireRecord(each, 'a conversion') as unknown as UntypedObject)
    },
  }
}

/** In the guest: what the operator's own functions say. @throws whatever they do */
export async function opinionOf({ webhooks, conversions }: Operator, question: Question): Promise<unknown> {
  if (question.what === 'convert') {
    const { kind, objects, wanted } = question
    const ways = conversions.filter((way) => conversionName(way) === kind)
    return frozen(objects).map((object) => convertObject(ways, object, wanted))
  }
  const webhook = webhooks.find(({ name }) => name === question.webhook)
  const { user, ...rest } = frozen(question.admission)
  return await webhook?.[question.what]?.({ ...rest, old: rest.old, user: { ...user, extra: new Map(user.extra) } })
}

/** What came as JSON, as author code sees everything. */
function frozen<T>(told: T): T {
  return freezeDeep(told as unknown as JsonObject) as unknown as T
}

/** The questions that one guest has not answered yet. */
export interface Consultations {
  readonly size: number
  /** `send` asks; whoever does not answer in time is waited for no longer. */
  ask(id: number, send: () => void): Promise<unknown>
  /** False when nobody waits for it. */
  answer(id: number, told: unknown, secretless: (error: unknown) => unknown): boolean
  /** There will be no answers. */
  fail(error: unknown): void
}

/** Longer than any API server waits. */
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
      const cause = new MusterError('OperatorUnresponsive', `No answer to a webhook within ${mostMs} ms.`)
      const deadline = clock.after(mostMs, () => take(id)?.reject(cause))
      const asked = { ...Promise.withResolvers<unknown>(), deadline }
      open.set(id, asked)
      send()
      return asked.promise
    },
    answer(id, told, secretless) {
      const asked = take(id)
      if (!asked) return false
      const answer = wireRecord(told, 'an answer') as unknown as Answer
      if ('error' in answer) asked.reject(secretless(decodeError(answer.error)))
      else asked.resolve(answer.value)
      return true
    },
    fail(error) {
      for (const id of open.keys()) take(id)?.reject(error)
    },
  }
}
