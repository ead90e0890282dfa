import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { invalidValue } from '../../kube/validation/cause.ts'
import { managerErrors } from '../errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { type Json, type JsonObject, parseJson } from '../../kube/json.ts'
import { applyJsonPatch, parseJsonPatch } from '../../kube/patch/json-patch.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineConversion } from '../../operator/kind/conversion.ts'
import { defineKind, integer } from '../../operator/index.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { type Admission, defineWebhook, type AdmissionVerdict } from '../../operator/kind/webhook.ts'
import { inProcessWebhooks } from '../testing/in-process-webhooks.ts'
import { createWebhookHost, type WebhookFailure, type WebhookHost } from './webhook-host.ts'

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'n' }, data: { a: '1' } }

function admissionReview(request: object = {}): JsonObject {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u1',
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      name: 'c',
      namespace: 'n',
      operation: 'CREATE',
      userInfo: { username: 'jane', groups: ['dev'], extra: { scopes: ['x'] } },
      object: structuredClone(configMap),
      oldObject: null,
      dryRun: false,
      ...request,
    },
  }
}

interface Behaviour {
  readonly validate?: (admission: Admission<ConfigMap>) => unknown
  readonly mutate?: (admission: Admission<ConfigMap>) => unknown
}

function hosting({ validate, mutate }: Behaviour): {
  readonly clock: ReturnType<typeof virtualClock>
  readonly host: WebhookHost
  readonly failures: WebhookFailure[]
  readonly validated: (review?: Json) => Promise<JsonObject>
  readonly mutated: (review?: Json) => Promise<JsonObject>
} {
  const clock = virtualClock()
  const failures: WebhookFailure[] = []
  const host = createWebhookHost({ clock, onFailure: (failure) => failures.push(failure) })
  const webhook = defineWebhook({
    for: ConfigMap,
    ...(validate && { validate: validate as (admission: Admission<ConfigMap>) => AdmissionVerdict }),
    ...(mutate && { mutate: mutate as (admission: Admission<ConfigMap>) => ConfigMap }),
  })
  host.set('op', { webhooks: [webhook] })
  const ask =
    (act: string) =>
    async (review: Json = admissionReview()): Promise<JsonObject> =>
      (await host.answer(`/operators/op/${act}/configmaps`, review))['response'] as JsonObject
  return { clock, host, failures, validated: ask('validate'), mutated: ask('mutate') }
}

describe('an admission review', () => {
  it('passes the write, frozen, with user and time to the author', async () => {
    let seen: Admission<ConfigMap> | undefined
    const { clock, validated } = hosting({ validate: (admission) => void (seen = admission) })
    expect(await validated()).toEqual({ uid: 'u1', allowed: true })
    expect(seen).toEqual({
      may: expect.any(Function),
      resourceOf: expect.any(Function),
      operation: 'CREATE',
      object: configMap,
      old: undefined,
      name: 'c',
      namespace: 'n',
      subresource: '',
      user: { username: 'jane', uid: '', groups: ['dev'], extra: new Map([['scopes', ['x']]]) },
      dryRun: false,
      now: clock.now(),
    })
    expect(Object.isFrozen(seen!.object.data)).toBe(true)
  })

  it('of a delete contains the deleted object', async () => {
    let seen: Admission<ConfigMap> | undefined
    const { validated } = hosting({ validate: (admission) => void (seen = admission) })
    await validated(admissionReview({ operation: 'DELETE', object: null, oldObject: structuredClone(configMap) }))
    expect(seen).toMatchObject({ operation: 'DELETE', object: configMap, old: configMap })
  })

  it('is denied as a server rejects invalid objects, with each cause', async () => {
    const causes = [invalidValue('data.a', '1', 'must be 2'), { message: 'no reason at all' }]
    const { validated } = hosting({ validate: () => ({ refusals: causes, warnings: ['mind'] }) })
    expect(await validated()).toEqual({
      uid: 'u1',
      allowed: false,
      warnings: ['mind'],
      status: {
        status: 'Failure',
        code: 422,
        reason: 'Invalid',
        message: 'ConfigMap "c" is invalid: [data.a: Invalid value: "1": must be 2, no reason at all]',
        details: {
          name: 'c',
          group: '',
          kind: 'ConfigMap',
          causes: [causes[0], { reason: 'FieldValueInvalid', message: 'no reason at all', field: '' }],
        },
      },
    })
  })

  it('is answered with a patch from the input to the result', async () => {
    const data = fc.dictionary(fc.string(), fc.string())
    await fc.assert(
      fc.asyncProperty(data, data, async (before, after) => {
        const object = { ...configMap, data: before }
        const { mutated } = hosting({ mutate: (admission) => ({ ...admission.object, data: after, extra: undefined }) })
        const { patch, patchType } = await mutated(admissionReview({ object: structuredClone(object) }))
        const operations = patch === undefined ? [] : parseJsonPatch(parseJson(fromBase64(patch)))
        expect(applyJsonPatch(object, operations)).toEqual({ ...configMap, data: after })
        expect(patchType).toBe(patch === undefined ? undefined : 'JSONPatch')
      }),
    )
  })

  it('without a change is answered without a patch', async () => {
    for (const mutate of [() => undefined, ({ object }: Admission<ConfigMap>) => structuredClone(object)]) {
      expect(await hosting({ mutate }).mutated()).toEqual({ uid: 'u1', allowed: true })
    }
  })

  it.each<readonly [string, Json]>([
    ['not a JSON object', [1]],
    ['another kind of review', { ...admissionReview(), kind: 'TokenReview' }],
    ['an old review version', { ...admissionReview(), apiVersion: 'admission.k8s.io/v1beta1' }],
    ['no request', { ...admissionReview(), request: null }],
    ['no uid', admissionReview({ uid: '' })],
    ['a uid that is not a string', admissionReview({ uid: 7 })],
    ['another operation', admissionReview({ operation: 'CONNECT' })],
    ['another resource', admissionReview({ resource: { group: '', version: 'v1', resource: 'secrets' } })],
    ['another kind of object', admissionReview({ object: { ...configMap, kind: 'Secret' } })],
    ['an invalid object', admissionReview({ object: 'text' })],
    ['no object', admissionReview({ object: null })],
    ['no old object', admissionReview({ operation: 'UPDATE' })],
  ])('that is invalid does not reach the author: %s', async (_what, review) => {
    let calls = 0
    const { validated } = hosting({ validate: () => void calls++ })
    await expect(validated(review)).rejects.toSatisfy((error) => isMusterError(error, managerErrors.InvalidReview))
    expect(calls).toBe(0)
  })

  it.each<readonly [string, Behaviour]>([
    ['throws', { validate: () => crash() }],
    ['throws later', { validate: async () => crash() }],
    ['throws a value that is not an error', { validate: () => reject('the password is hunter2') }],
    ['changes its frozen input', { validate: ({ object }) => void Object.assign(object.data!, { a: 'hunter2' }) }],
    ['returns a boolean', { validate: () => true }],
    ['returns invalid denials', { validate: () => ['hunter2'] }],
    ['returns invalid warnings', { validate: () => ({ warnings: [{ hunter2: 1 }] }) }],
    ['returns another object', { mutate: ({ object }) => ({ ...object, metadata: { name: 'hunter2' } }) }],
    ['returns a value that is not an object', { mutate: () => 'hunter2' }],
    ['returns a cyclic object', { mutate: ({ object }) => circle(object) }],
  ])('whose author %s fails alone, and names the operator but not the cause', async (_what, behaviour) => {
    const { validated, mutated, failures } = hosting(behaviour)
    const act = behaviour.validate ? 'validate' : 'mutate'
    const error: unknown = await (behaviour.validate ? validated() : mutated()).catch((raised: unknown) => raised)
    expect(isMusterError(error, managerErrors.WebhookFailed)).toBe(true)
    expect((error as Error).message).toMatch(
      new RegExp(`^the webhook ${act}/configmaps of operator op failed \\(\\w+\\)\\.$`),
    )
    expect(failures).toMatchObject([{ operator: 'op', webhook: `${act}/configmaps` }])
  })

  it('whose author takes too long ends before the timeout of the API server', async () => {
    const { clock, validated } = hosting({ validate: () => new Promise(() => undefined) })
    const answered = validated().catch((error: unknown) => (error as Error).message)
    await clock.advance(8999)
    const state = await Promise.race([answered, Promise.resolve('waiting')])
    expect(state).toBe('waiting')
    await clock.advance(1)
    expect(await answered).toBe('the webhook validate/configmaps of operator op took longer than 9 seconds.')
  })
})

describe('a conversion review', () => {
  const v1 = { version: 'v1', spec: { size: integer() } } as const
  const Thing = defineKind({
    group: 'example.com',
    version: 'v2',
    kind: 'Thing',
    spec: { count: integer() },
    otherVersions: [v1],
  })
  const thing = (version: string, spec: object): UntypedObject => ({
    apiVersion: `example.com/${version}`,
    kind: 'Thing',
    metadata: { name: 't' },
    spec,
  })
  const review = (...objects: readonly UntypedObject[]): JsonObject => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    request: { uid: 'u1', desiredAPIVersion: 'example.com/v2', objects: objects as unknown as Json },
  })
  const convert = async (given: Json): Promise<JsonObject> => {
    const host = createWebhookHost({ clock: virtualClock() })
    const conversion = defineConversion(Thing, v1, {
      toStored: ({ spec }) => ({ spec: { count: spec.size === 13 ? crash() : spec.size } }),
      fromStored: ({ spec }) => ({ spec: { size: spec.count } }),
    })
    host.set('op', { conversions: [conversion] })
    return (await host.answer('/operators/op/convert/things.example.com', given))['response'] as JsonObject
  }

  it('is answered with all objects in order, including those that need no conversion', async () => {
    expect(await convert(review(thing('v1', { size: 1 }), thing('v2', { count: 2 })))).toEqual({
      uid: 'u1',
      result: { status: 'Success' },
      convertedObjects: [thing('v2', { count: 1 }), thing('v2', { count: 2 })],
    })
  })

  it('whose author throws is a failure that names the operator and omits the cause', async () => {
    expect(await convert(review(thing('v1', { size: 13 })))).toEqual({
      uid: 'u1',
      convertedObjects: [],
      result: {
        status: 'Failure',
        message: 'the webhook convert/things.example.com of operator op failed (TypeError).',
      },
    })
  })

  it('that is invalid does not reach the author', async () => {
    const bad = [
      { ...review(), kind: 'AdmissionReview' },
      { ...review(), request: { uid: '', desiredAPIVersion: 'x', objects: [] } },
      { ...review(), request: { uid: 'u', objects: [] } },
      { ...review(), request: { uid: 'u', desiredAPIVersion: 'x', objects: [1] } },
      review({ ...thing('v1', {}), kind: 'Other' }),
    ]
    for (const one of bad) await expect(convert(one)).rejects.toThrow('cannot be answered')
  })
})

describe('the webhook host', () => {
  const refusing = (message: string): ReturnType<typeof defineWebhook> =>
    defineWebhook({ for: ConfigMap, validate: () => [{ message }] })
  const words = async (host: WebhookHost): Promise<string> => {
    const { response } = await host.answer('/operators/op/validate/configmaps', admissionReview())
    return JSON.stringify(response)
  }

  it('serves earlier declarations until they are removed: API servers may still call them', async () => {
    const host = createWebhookHost({ clock: virtualClock() })
    host.set('op', { webhooks: [refusing('one')] })
    host.set('op', { webhooks: [refusing('two')] })
    expect(await words(host)).toContain('two')
    host.delete('op')
    expect(await words(host)).toContain('two')
    host.forget('op')
    await expect(words(host)).rejects.toSatisfy((error) => isMusterError(error, managerErrors.WebhookUnknown))
  })

  it('rejects unknown paths, including prototype names', async () => {
    const { host } = hosting({ validate: () => undefined })
    for (const path of [
      '/',
      '/operators/op/validate',
      '/operators/op/mutate/configmaps',
      '/operators/__proto__/validate/x',
    ]) {
      await expect(host.answer(path, admissionReview())).rejects.toThrow('no hosted operator')
    }
  })

  it('rejects two webhooks of one name, and two conversions of one kind', () => {
    const host = createWebhookHost({ clock: virtualClock() })
    const conversion = { for: { plural: 'things', group: 'g' }, version: 'v1' } as never
    expect(() => host.set('op', { webhooks: [refusing('a'), refusing('b')] })).toThrow('two webhooks called configmaps')
    expect(() => host.set('op', { conversions: [conversion, conversion] })).toThrow(
      'two conversions of things.g from v1',
    )
    host.set('a', { conversions: [conversion] })
    expect(() => host.set('b', { conversions: [conversion] })).toThrow('operators a and b both convert things.g')
  })

  it('is called in process by its own address only', async () => {
    const { host } = hosting({ validate: () => [{ message: 'no' }] })
    const body = admissionReview()
    const path = '/operators/op/validate/configmaps'
    const asked = inProcessWebhooks(host, { url: 'https://here' })
    expect(await asked({ url: `https://here${path}` }, body, 1000)).toMatchObject({ response: { allowed: false } })
    expect(Object.isFrozen((body['request'] as JsonObject)['object'])).toBe(false)
    await expect(asked({ url: `https://elsewhere${path}` }, body, 1000)).rejects.toThrow('not in this process')
    const service = { namespace: 'n', name: 's' }
    const served = inProcessWebhooks(host, { service })
    expect(await served({ service: { ...service, path } }, body, 1000)).toMatchObject({ response: { allowed: false } })
    await expect(served({ service: { ...service, name: 'x', path } }, body, 1000)).rejects.toThrow(
      'not in this process',
    )
  })
})

function crash(): never {
  throw new TypeError('the password is hunter2')
}

function reject(value: string): Promise<never> {
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors
  return Promise.reject(value)
}

function circle(object: object): object {
  const round: Record<string, unknown> = { ...object }
  round['self'] = round
  return round
}

function fromBase64(text: Json): string {
  return Buffer.from(text as string, 'base64').toString()
}
