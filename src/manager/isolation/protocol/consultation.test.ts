/** Webhooks of an operator that runs elsewhere: the same questions, asked of the same operator inline and in a worker. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { events, here, slowTest } from '../../../../test/misbehaving-guests.ts'
import { type VirtualClock, virtualClock } from '../../../clock/virtual-clock.ts'
import type { JsonObject } from '../../../kube/json.ts'
import { createWebhookHost, type WebhookFailure, type WebhookHost } from '../../webhooks/webhook-host.ts'
import { createConsultations } from './consultation.ts'
import { operator as inline } from '../misbehaving-guest/misbehaving-webhooks.ts'
import { openRunner } from '../open-runner.ts'
import type { Runner } from '../runner.ts'

const gate = (spec: JsonObject, version = 'v1'): JsonObject => ({
  apiVersion: `test.example.com/${version}`,
  kind: 'Gate',
  metadata: { name: 'g', namespace: 'n', uid: 'own' },
  spec,
})

const admission = (spec: JsonObject, request: JsonObject = {}): JsonObject => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'u1',
    resource: { group: 'test.example.com', version: 'v1', resource: 'gates' },
    name: 'g',
    namespace: 'n',
    operation: 'CREATE',
    userInfo: { username: 'jane', groups: ['dev'], extra: { scopes: ['x', 'y'] } },
    object: gate(spec),
    ...request,
  },
})

const conversion = (wanted: string, ...objects: readonly JsonObject[]): JsonObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'ConversionReview',
  request: { uid: 'u2', desiredAPIVersion: `test.example.com/${wanted}`, objects },
})

const validate = '/operators/misbehaving-webhooks/validate/gates'
const mutate = '/operators/misbehaving-webhooks/mutate/gates'
const convert = '/operators/misbehaving-webhooks/convert/gates.test.example.com'

const questions: readonly (readonly [name: string, path: string, review: JsonObject])[] = [
  ['a valid object', validate, admission({ size: 1 })],
  ['an invalid object', validate, admission({ size: 11 })],
  ['an update', validate, admission({ size: 2 }, { operation: 'UPDATE', oldObject: gate({ size: 1 }), dryRun: true })],
  ['a delete', validate, admission({}, { operation: 'DELETE', object: null, oldObject: gate({ size: 3 }) })],
  ['an invalid verdict', validate, admission({ size: 1, how: 'nonsense' })],
  ['a handler that throws', validate, admission({ size: 1, how: 'throw' })],
  ['a change', mutate, admission({ size: 4 })],
  ['no change', mutate, admission({ size: 0 })],
  ['another object than the input', mutate, admission({ size: 1, how: 'rename' })],
  ['an older version', convert, conversion('v1', gate({ amount: 5 }, 'v1beta1'), gate({ size: 6 }))],
  ['a conversion back by a handler that changes immutable fields', convert, conversion('v1beta1', gate({ size: 7 }))],
  ['an unknown version', convert, conversion('v9', gate({ size: 7 }))],
  ['a conversion that throws', convert, conversion('v1', gate({ amount: 1, how: 'throw' }, 'v1beta1'))],
]

describe('webhooks of an operator in a worker', slowTest, () => {
  const clock = virtualClock()
  const watching: VirtualClock = virtualClock()
  const lines = events<JsonObject>()
  const failures: WebhookFailure[] = []
  let runner: Runner
  let host: WebhookHost

  beforeAll(async () => {
    runner = await openRunner('worker', {
      module: here('misbehaving-guest/misbehaving-webhooks.ts'),
      clock: watching,
      log: (line) => lines.push(line),
    })
    host = createWebhookHost({ clock, onFailure: (failure) => failures.push(failure) })
    host.set('misbehaving-webhooks', runner.operator)
  })
  afterAll(async () => await runner.close())

  const asked = async (of: WebhookHost, path: string, review: JsonObject): Promise<unknown> => {
    try {
      return await of.answer(path, structuredClone(review))
    } catch (error) {
      return String(error)
    }
  }

  it('are declared as inline', () => {
    const plain = (operator: typeof inline): unknown =>
      JSON.parse(JSON.stringify([operator.webhooks, operator.conversions]))
    expect(plain(runner.operator)).toEqual(plain(inline))
  })

  it.each(questions)('answer as inline: %s', async (_name, path, review) => {
    const own = createWebhookHost({ clock })
    own.set('misbehaving-webhooks', inline)
    expect(await asked(host, path, review)).toEqual(await asked(own, path, review))
  })

  it('keep the identity of an object, whatever they return', async () => {
    const answer = await host.answer(convert, conversion('v1beta1', gate({ size: 7 })))
    expect(answer).toMatchObject({
      response: { convertedObjects: [{ metadata: { name: 'g', uid: 'own', annotations: { stored: 'v1' } } }] },
    })
  })

  it('fail during an endless loop, and answer again after the restart', async () => {
    const hanging = asked(host, validate, admission({ size: 1, how: 'spin' }))
    // It is asked for a sign of life, and asked again: then it is given up.
    const ended = lines.first((line) => line['level'] === 'warn')
    for (let beat = 0; beat < 4; beat++) await watching.advance(5000)
    expect(await ended).toMatchObject({ error: expect.stringMatching(/blocks its event loop/) as unknown })
    expect(await hanging).toMatch(/the webhook validate\/gates of operator misbehaving-webhooks failed/)
    expect(await asked(host, validate, admission({ size: 1 }))).toMatch(/failed/)
    expect(String(failures.at(-1)!.error)).toMatch(/is being started again/)
    await watching.advance(2000)
    const again = admission({ size: 1 })
    while (typeof (await asked(host, validate, again)) === 'string') {
      await new Promise((resolve) => void setImmediate(resolve))
    }
    expect(await host.answer(validate, admission({ size: 1 }))).toMatchObject({ response: { allowed: true } })
  })
})

describe('a consultation', () => {
  it('ends without an answer, is answered once, and fails with the guest', async () => {
    const clock = virtualClock()
    const open = createConsultations(clock)
    const plain = (error: unknown): unknown => error
    const [late, told, left] = [1, 2, 3].map((id) => open.ask(id, () => undefined))
    expect(open.answer(2, { value: 'yes' }, plain)).toBe(true)
    expect(open.answer(2, { value: 'no' }, plain)).toBe(false)
    expect(await told).toBe('yes')
    open.fail(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    await expect(late).rejects.toThrow('gone')
    const slow = open.ask(4, () => undefined).catch((error: unknown) => error)
    await clock.advance(30_000)
    expect(await slow).toMatchObject({ name: 'OperatorUnresponsive' })
    expect(open.size).toBe(0)
  })
})
