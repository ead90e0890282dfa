import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../clock/system-clock.ts'
import { clientErrors } from '../../../client/errors.ts'
import { managerErrors } from '../../errors.ts'
import { isMusterError, MusterError } from '../../../kube/muster-error.ts'
import { type JsonObject, parseJson, stringifyJson } from '../../../kube/json.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { defineController } from '../../../operator/controller.ts'
import { ConfigMap, Secret } from '../../../kube/kinds.ts'
import { type HttpCall, offline } from '../../../operator/live.ts'
import type { Wave } from '../../../operator/plan.ts'
import { type Conclusion, noMemory, type Situation } from '../../../operator/reconcile.ts'
import { openView } from '../../../operator/view/view.ts'
import { app, App } from '../../../../test/app-operator.ts'
import { answerCall, answerRead } from '../guest-rpc.ts'
import { decodeError, encodeError } from './protocol.ts'
import { decodeConclusion, decodeWave, encodeConclusion, encodeWave } from './wire.ts'

const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hidden', namespace: 'default' } }
const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shown', namespace: 'default' }, data: { a: 'b' } }

const controller = defineController({ for: App, writes: [ConfigMap] })
const situation = {
  operator: 'kit',
  controller,
  cr: app('one') as unknown as KubeObject,
  view: openView({
    reader: 'kit',
    inputs: controller.inputs,
    source: {
      get: (resource) => (resource.kind === 'Secret' ? secret : map),
      list: () => [map],
      byOwner: () => [map],
      serves: () => true,
    },
  }),
  clock: systemClock,
  config: {},
  live: offline,
  memory: noMemory,
} as unknown as Situation<KubeObject>

/** Over the wire. */
const sent = (value: unknown): unknown => parseJson(stringifyJson(value))

const wave: Wave = [
  {
    verb: 'apply',
    subject: 'configMap',
    resource: ConfigMap,
    object: map,
    why: 'drifted',
    fields: ['data.a'],
    force: true,
  },
  { verb: 'delete', subject: 'configMap', resource: ConfigMap, name: { name: 'x' }, uid: 'u', why: 'pruned' },
  { verb: 'status', subject: 'cr', resource: App, object: app('one') },
]

describe('the mutations of a guest', () => {
  it('arrive unchanged, with the declared resources instead of those it names', () => {
    const decoded = decodeWave(sent(encodeWave(wave)), situation)
    expect(decoded).toEqual(wave)
    expect(decoded[0]!.resource).toBe(ConfigMap)
    expect(decoded[2]!.resource).toBe(App)
  })

  it('never contain the status or the finalizers of another object', () => {
    const other = [{ verb: 'status', subject: 'cr', resource: App, object: app('two') } as const]
    expect(() => decodeWave(sent(encodeWave(other)), situation)).toThrow('the status of two')
  })

  it('cannot address another path by the name of a resource', () => {
    const crooked = [{ ...wave[1]!, resource: { ...ConfigMap, plural: 'configmaps/x/../../secrets' } }]
    expect(() => decodeWave(sent(encodeWave(crooked)), situation)).toThrow('a resource that makes no sense')
  })

  it('are rejected as misbehaviour with a clear error, whatever they contain', () => {
    const [apply, remove] = encodeWave(wave)
    const crooked = fc.oneof(
      fc.jsonValue(),
      fc.array(fc.record(fields(apply), { requiredKeys: [] })),
      fc.array(fc.record(fields(remove), { requiredKeys: [] })),
    )
    fc.assert(fc.property(crooked, (told) => isRefusedOrFine(() => decodeWave(told, situation))))
    fc.assert(fc.property(fc.jsonValue(), (told) => isRefusedOrFine(() => decodeConclusion(told, situation, 0))))
  })
})

/** Each member as it should be, or anything. */
function fields(object: object | undefined): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(
    Object.entries(object ?? {}).map(([name, value]) => [name, fc.oneof(fc.constant(value), fc.jsonValue())]),
  )
}

function isRefusedOrFine(run: () => unknown): boolean {
  try {
    run()
    return true
  } catch (error) {
    return isMusterError(error, managerErrors.GuestMisbehaved)
  }
}

describe('the conclusion of a guest', () => {
  const conclusion: Conclusion = {
    ledger: {
      operator: 'kit',
      controller: 'app',
      key: 'default/one',
      generation: 0,
      path: ['CRGetter', 'Updater'],
      entries: [
        {
          step: 'Updater',
          subject: 'configMap',
          operation: 'created',
          kind: 'v1 ConfigMap',
          name: { name: 'a', namespace: 'b' },
        },
      ],
      health: new Map([['configMap', { status: 'Current', reason: 'Ready', message: '' }]]),
      failure: {
        step: 'Updater',
        subject: 'cr',
        reason: 'Forbidden',
        message: 'no',
        retry: 'terminal',
        gaveUp: false,
        afterMs: undefined,
      },
      isFinalizing: false,
      startedAt: 7,
      requeueAfterMs: 50,
    },
    memory: {
      failures: new Map([['Updater cr Forbidden', 2]]),
      settled: new Map([['configMap', { hash: 'h', resourceVersion: '1' }]]),
      refused: new Map([
        [
          'x',
          { hash: 'h', resourceVersion: '1', crVersion: '2', error: new MusterError(clientErrors.Invalid, 'not so') },
        ],
      ]),
    },
  }

  it('arrives unchanged', () => {
    expect(decodeConclusion(sent(encodeConclusion(conclusion)), situation, 7)).toEqual(conclusion)
  })

  it('is about the current object, whatever it contains', () => {
    const forged = { ...conclusion, ledger: { ...conclusion.ledger, key: 'kube-system/other', operator: 'admin' } }
    const { ledger } = decodeConclusion(sent(encodeConclusion(forged)), situation, 7)
    expect(ledger).toMatchObject({ operator: 'kit', key: 'default/one' })
  })

  it('has a requeue delay if it is a valid duration', () => {
    for (const [asked, told] of [
      [Infinity, undefined],
      [-5, 0],
    ]) {
      const odd = { ...conclusion, ledger: { ...conclusion.ledger, requeueAfterMs: asked! } }
      expect(decodeConclusion(sent(encodeConclusion(odd)), situation, 7).ledger.requeueAfterMs).toBe(told)
    }
  })
})

describe('the reads of a guest', () => {
  const ask = (request: object): unknown =>
    parseJson(answerRead(stringifyJson({ id: 1, ...request }), () => situation, { messageBytes: 1000 }))

  it('are answered from its view, and recorded there', () => {
    const name = { name: 'shown', namespace: 'default' }
    expect(ask({ what: 'get', resource: ConfigMap, name })).toEqual({ value: map })
    expect(ask({ what: 'list', resource: ConfigMap, selection: { labels: 'a=b' } })).toEqual({ value: [] })
    expect(ask({ what: 'owned', resource: ConfigMap, uid: 'u' })).toEqual({ value: [map] })
    expect(ask({ what: 'serves', resource: ConfigMap })).toEqual({ value: true })
    const { reads } = situation.view as ReturnType<typeof openView>
    expect(reads.map(({ what }) => what)).toEqual(['object', 'list', 'owned', 'kind'])
  })

  it('are rejected where undeclared', () => {
    const answer = ask({ what: 'get', resource: Secret, name: { name: 'hidden' } })
    expect(answer).toMatchObject({ error: { name: 'UndeclaredInput' } })
  })

  it('are always answered, because the guest is blocked until then', () => {
    const resource = fc.oneof(fc.constant(ConfigMap), fc.jsonValue())
    const what = fc.oneof(fc.constantFrom('get', 'list', 'owned', 'serves'), fc.jsonValue())
    const request = fc.record({ resource, what, name: fc.jsonValue(), selection: fc.jsonValue(), uid: fc.jsonValue() })
    fc.assert(
      fc.property(request, (asked) => {
        expect(ask(asked as object)).toBeTypeOf('object')
      }),
    )
    expect(answerRead('{', () => situation, { messageBytes: 10 })).toContain('error')
  })
})

describe('the live calls of a guest', () => {
  it('are made only where allowed', async () => {
    const called: HttpCall[] = []
    const live = {
      ...offline,
      http: (call: HttpCall) => {
        called.push(call)
        return Promise.resolve({ status: 200, headers: {}, body: '', json: () => undefined })
      },
    }
    const outside = ['https://app.example.com']
    const ask = (url: string, more: JsonObject = {}): Promise<unknown> =>
      answerCall({ what: 'http', http: { url, ...more } }, live, outside)
    await expect(ask('http://169.254.169.254/token?key=secret')).resolves.toEqual({
      error: { name: 'OutsideRefused', message: 'A call to http://169.254.169.254 is not allowed.' },
    })
    await expect(ask('https://app.example.com.evil.org/')).resolves.toMatchObject({ error: { name: 'OutsideRefused' } })
    await expect(ask('https://app.example.com/healthz')).resolves.toMatchObject({ value: { status: 200 } })
    expect(called).toEqual([{ url: 'https://app.example.com/healthz', redirectTo: outside }])
    // Where redirects may lead is not for the guest to say, nor is anything else that is no part of a call.
    const more = { method: 'PUT', headers: { a: 'b' }, redirectTo: ['http://169.254.169.254'], dispatcher: {} }
    await ask('https://app.example.com/', more)
    expect(called[1]).toEqual({
      url: 'https://app.example.com/',
      method: 'PUT',
      headers: { a: 'b' },
      redirectTo: outside,
    })
    for (const wrong of [{ method: 'CONNECT' }, { headers: { a: 1 } }, { retries: -1 }, { timeoutMs: 'x' }]) {
      await expect(ask('https://app.example.com/', wrong)).resolves.toMatchObject({
        error: { name: 'GuestMisbehaved' },
      })
    }
  })
})

describe('an error', () => {
  it('keeps its name, message and class; its cause is not transferred', () => {
    const error = new MusterError(clientErrors.Conflict, 'too late', { retryAfterMs: 5, cause: new Error('secret') })
    const told = encodeError(error)
    expect(stringifyJson(told)).not.toContain('secret')
    expect(decodeError(sent(told))).toMatchObject({
      name: 'Conflict',
      message: 'too late',
      retry: 'conflict',
      retryAfterMs: 5,
    })
    expect(decodeError(sent(encodeError(new TypeError('x'))))).toMatchObject({ name: 'TypeError', message: 'x' })
    expect(decodeError({ name: '__proto__', message: 1 })).toMatchObject({ message: 'no message' })
  })
})
