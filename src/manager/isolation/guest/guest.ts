/**
 * A guest: an operator in isolation. It loads the operator's module, sends its declarations, and runs reconciles with a
 * view whose reads are requests to the manager, and waves that the manager executes.
 *
 * Reads are cached until the next wave: reading twice costs one round trip, and the view does not change between two
 * waves.
 */
import { pathToFileURL } from 'node:url'
import { freezeDeep } from '../../../cache/decode/intern.ts'
import type { Clock } from '../../../clock/clock.ts'
import { systemClock } from '../../../clock/system-clock.ts'
import { managerErrors } from '../../errors.ts'
import { operatorErrors } from '../../../operator/errors.ts'
import { MusterError } from '../../../kube/muster-error.ts'
import { type Json, parseJson, stringifyJson } from '../../../kube/json.ts'
import type { Resource } from '../../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../../kube/object.ts'
import type { HttpAnswer, Live } from '../../../operator/live.ts'
import { offline } from '../../../operator/live.ts'
import type { Operator } from '../../../operator/operator.ts'
import type { MutationOutcome, Wave } from '../../../operator/plan.ts'
import { reconcile, type Situation } from '../../../operator/reconcile.ts'
import { withSecretReads } from '../../../operator/view/secret-redaction.ts'
import type { View } from '../../../operator/view/view.ts'
import { fasten, leaksOf } from './sandbox-self-check.ts'
import { opinionOf } from '../protocol/consultation.ts'
import { describeOperator } from '../protocol/description.ts'
import { operatorIn } from '../protocol/module-name.ts'
import {
  type Answer,
  decodeError,
  encodeError,
  type FromGuest,
  type LiveCall,
  plainResource,
  type ReadRequest,
  type ToGuest,
  type WireOutcome,
} from '../protocol/protocol.ts'
import { encodeConclusion, encodeWave, memoryOf } from '../protocol/wire.ts'

/** The guest's connection to its manager. */
export interface Channel {
  send(text: string): void
  /** Handles each incoming message from now on. */
  receive(handle: (text: string) => void): void
  /** Sends a read, and blocks until the answer arrives. */
  read(text: string): string
}

interface GuestOptions {
  readonly channel: Channel
  /** The manager's limit of a message. */
  readonly mostBytes: number
}

/** One reconcile in progress. */
interface Running {
  now: number
  readonly outcomes: ((outcomes: readonly MutationOutcome[]) => void)[]
  readonly calls: Map<number, { resolve(value: unknown): void; reject(error: Error): void }>
}

export function serveGuest({ channel, mostBytes }: GuestOptions): void {
  let operator: Operator | undefined
  const running = new Map<number, Running>()

  const say = (message: FromGuest): void => {
    const text = stringifyJson(message)
    if (text.length > mostBytes) {
      const size = `${Math.ceil(text.length / 2 ** 20)} MiB`
      throw new MusterError(managerErrors.GuestMisbehaved, `Its message takes ${size}; ${mostBytes} bytes are allowed.`)
    }
    channel.send(text)
  }

  async function load({ file, exported, canary, tolerant }: Extract<ToGuest, { say: 'load' }>): Promise<void> {
    fasten()
    const leaks = await leaksOf(canary)
    if (leaks.length > 0) say({ say: 'unconfined', leaks })
    if (leaks.length > 0 && !tolerant) return
    try {
      const module = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>
      operator = operatorIn(module, { file, exported })
      say({ say: 'ready', operator: describeOperator(operator) })
    } catch (error) {
      say({ say: 'unloaded', error: encodeError(error) })
    }
  }

  async function consult({ id, question }: Extract<ToGuest, { say: 'consult' }>): Promise<void> {
    try {
      if (!operator) throw new MusterError(operatorErrors.InvalidController, 'There is no operator yet.')
      const value = await opinionOf(operator, question)
      say({ say: 'opinion', id, answer: { value } })
    } catch (error) {
      say({ say: 'opinion', id, answer: { error: encodeError(error) } })
    }
  }

  async function run(request: Extract<ToGuest, { say: 'run' }>): Promise<void> {
    const { id } = request
    const it: Running = { now: request.now, outcomes: [], calls: new Map() }
    running.set(id, it)
    try {
      const { view, forget } = remoteView(id, channel)
      const walk = reconcile(situationOf(request, it, view))
      let step = await walk.next([])
      while (!step.done) {
        const outcomes = await carryOut(it, id, step.value)
        forget()
        step = await walk.next(outcomes)
      }
      if (running.has(id)) say({ say: 'done', id, conclusion: encodeConclusion(step.value) })
    } catch (error) {
      if (running.has(id)) say({ say: 'threw', id, error: encodeError(error) })
    } finally {
      running.delete(id)
    }
  }

  function situationOf(request: Extract<ToGuest, { say: 'run' }>, it: Running, view: View): Situation<KubeObject> {
    const controller = operator?.controllers.find(({ name }) => name === request.controller)
    if (!operator || !controller)
      throw new MusterError(operatorErrors.InvalidController, `There is no ${request.controller}.`)
    // The manager sends the current time, which may be simulated. Durations are real.
    const clock: Clock = { ...systemClock, now: () => it.now }
    return {
      operator: operator.name,
      controller,
      cr: freezeDeep(request.cr) as unknown as KubeObject,
      view: withSecretReads(view),
      clock,
      config: freezeDeep((request.config ?? null) as Json),
      live: request.live ? remoteLive(it, request.id) : offline,
      memory: memoryOf(request.memory),
    }
  }

  async function carryOut(it: Running, id: number, wave: Wave): Promise<readonly MutationOutcome[]> {
    const answered = new Promise<readonly MutationOutcome[]>((resolve) => void it.outcomes.push(resolve))
    say({ say: 'wave', id, wave: encodeWave(wave) })
    return await answered
  }

  function remoteLive(it: Running, id: number): Live {
    let calls = 0
    const ask = (call: LiveCall): Promise<unknown> =>
      new Promise((resolve, reject) => {
        it.calls.set(++calls, { resolve, reject })
        say({ say: 'call', id, call: calls, ...call })
      })
    return {
      available: true,
      exec: async (pod, command, options) =>
        (await ask({ what: 'exec', pod, command, options })) as Awaited<ReturnType<Live['exec']>>,
      http: async (http) => {
        const answer = (await ask({ what: 'http', http })) as Omit<HttpAnswer, 'json'>
        return { ...answer, json: () => JSON.parse(answer.body) as unknown }
      },
    }
  }

  channel.receive((text) => {
    const message = parseJson(text) as unknown as ToGuest
    switch (message.say) {
      case 'load':
        void load(message)
        break
      case 'run':
        void run(message)
        break
      case 'consult':
        void consult(message)
        break
      case 'outcomes': {
        const it = running.get(message.id)
        if (!it) break
        it.now = message.now
        it.outcomes.shift()?.(message.outcomes.map(decodeOutcome))
        break
      }
      case 'answer': {
        const call = running.get(message.id)?.calls.get(message.call)
        running.get(message.id)?.calls.delete(message.call)
        if ('error' in message.answer) call?.reject(decodeError(message.answer.error))
        else call?.resolve(message.answer.value)
        break
      }
      case 'drop':
        running.delete(message.id)
        break
      default:
        say({ say: 'pong', count: message.count })
    }
  })
}

function decodeOutcome(received: WireOutcome): MutationOutcome {
  if (received.result === 'failed') return { result: 'failed', error: decodeError(received.error) }
  const object = received.object && (freezeDeep(received.object) as unknown as UntypedObject)
  return object ? { result: received.result, object } : { result: 'done' }
}

/** Objects are frozen, as at every level; reading twice returns the same object. */
function remoteView(id: number, channel: Channel): { readonly view: View; readonly forget: () => void } {
  const known = new Map<string, unknown>()
  const read = (request: ReadRequest): unknown => {
    const text = stringifyJson(request)
    if (known.has(text)) return known.get(text)
    const answer = parseJson(channel.read(text)) as unknown as Answer
    if ('error' in answer) throw decodeError(answer.error)
    const value = answer.value === undefined ? undefined : freezeDeep(answer.value as Json)
    known.set(text, value)
    return value
  }
  const at = (resource: Resource): { readonly id: number; readonly resource: Resource } => ({
    id,
    resource: plainResource(resource),
  })
  return {
    forget: () => known.clear(),
    view: {
      get: (resource, name) => read({ ...at(resource), what: 'get', name }) as never,
      list: (resource, selection = {}) => read({ ...at(resource), what: 'list', selection }) as never,
      ownedBy: (resource, { metadata }) => read({ ...at(resource), what: 'owned', uid: metadata.uid ?? '' }) as never,
      serves: (resource) => read({ ...at(resource), what: 'serves' }) === true,
    },
  }
}
