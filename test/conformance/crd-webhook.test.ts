/** Conversion by webhook: what the server asks, what it takes for an answer, and what it says when there is none. */
import { createServer } from 'node:https'
import { describe, expect, it } from 'vitest'
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../src/kube/json.ts'
import { ca, listen, serverPair } from '../loopback.ts'
import { defineKind, type Kind, object, outcome } from './custom-kind.ts'
import { at, openServer } from './server.ts'

const server = openServer()

const string = { type: 'string' }
const bundle = Buffer.from(ca.cert).toString('base64')

type Answerer = (review: JsonObject, objects: readonly JsonObject[], wanted: string) => Json

/** v1 has one text, v2 the same in two parts. */
function converted(one: JsonObject, wanted: string): JsonObject {
  const spec = (one['spec'] ?? {}) as { readonly host?: string; readonly name?: string; readonly port?: string }
  const own =
    wanted.endsWith('/v2') && spec.host !== undefined
      ? { name: spec.host.split(':')[0] ?? '', port: spec.host.split(':')[1] ?? '' }
      : spec.name === undefined
        ? spec
        : { host: `${spec.name}:${spec.port}` }
  return { ...one, apiVersion: wanted, spec: own }
}

const wellBehaved: Answerer = (review, objects, wanted) =>
  answer(
    review,
    objects.map((one) => converted(one, wanted)),
  )

function answer(review: JsonObject, convertedObjects: Json, result: Json = { status: 'Success' }): Json {
  const uid = at(review, 'request', 'uid') ?? ''
  return { apiVersion: review['apiVersion']!, kind: 'ConversionReview', response: { uid, convertedObjects, result } }
}

interface Webhook {
  readonly kind: Kind
  /** What it was asked. */
  readonly asked: JsonObject[]
  /** How it answers; may be changed. */
  readonly behave: (answerer: Answerer) => void
}

async function webhook(reviewVersions: readonly string[] = ['v1']): Promise<Webhook> {
  const asked: JsonObject[] = []
  let answerer = wellBehaved
  const hook = createServer({ cert: serverPair.cert, key: serverPair.key }, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => void chunks.push(chunk))
    request.on('end', () => {
      const review = parseJson(Buffer.concat(chunks).toString()) as JsonObject
      asked.push(review)
      const { objects, desiredAPIVersion } = review['request'] as unknown as {
        readonly objects: readonly JsonObject[]
        readonly desiredAPIVersion: string
      }
      response.setHeader('content-type', 'application/json')
      response.end(stringifyJson(answerer(review, objects, desiredAPIVersion)))
    })
  })
  const port = await listen(hook)
  const version = (name: string, storage: boolean, properties: object): object => ({
    name,
    storage,
    served: true,
    schema: { openAPIV3Schema: object({ spec: object(properties) }) },
  })
  const kind = await defineKind(server, object({}), {
    versions: [version('v1', true, { host: string }), version('v2', false, { name: string, port: string })],
    spec: {
      conversion: {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: reviewVersions,
          clientConfig: { url: `https://127.0.0.1:${port}/convert`, caBundle: bundle },
        },
      },
    },
  })
  asked.length = 0
  return { kind, asked, behave: (next) => void (answerer = next) }
}

/** The real server reads out of etcd, and says so; the reason is the same. */
function withoutStorage(told: Json): Json {
  const text = stringifyJson(told)
  return parseJson(
    text.replace(/StorageError: corrupt object[^:]*: [^:]*: [^:]*: [^:]*: object not decodable revision=\d+: /, ''),
  )
}

describe('conversion by webhook', () => {
  it('is requested for the objects that need it, and its result is returned', async () => {
    const { kind, asked } = await webhook()
    const written = await server.must('POST', kind.path('v2'), {
      body: kind.object({ metadata: { name: 'a' }, spec: { name: 'h', port: '1' } }, 'v2'),
    })
    expect(at(written, 'spec')).toEqual({ name: 'h', port: '1' })
    const { body } = await server.call('GET', `${kind.path('v1')}/a`)
    expect(at(body, 'spec')).toEqual({ host: 'h:1' })
    const read = await server.must('GET', `${kind.path('v2')}/a`)
    expect(at(read, 'spec')).toEqual({ name: 'h', port: '1' })
    const [review] = asked
    const { objects: _objects, ...request } = review!['request'] as JsonObject
    expect(server.maskedJson({ ...review, request })).toMatchSnapshot()
    const list = await server.must('GET', kind.path('v2'))
    expect(at(list, 'items', 0, 'spec')).toEqual({ name: 'h', port: '1' })
  })

  it('applies to patches and watches too', async () => {
    const { kind } = await webhook()
    const watching = await server.watch(`${kind.path('v2')}?watch=1`)
    await server.must('POST', kind.path('v1'), {
      body: kind.object({ metadata: { name: 'a' }, spec: { host: 'h:1' } }),
    })
    const patched = await server.must('PATCH', `${kind.path('v2')}/a`, {
      type: 'application/merge-patch+json',
      body: { spec: { port: '2' } },
    })
    expect(at(patched, 'spec')).toEqual({ name: 'h', port: '2' })
    const events = [await watching.next(), await watching.next()]
    watching.stop()
    expect(events.map((event) => [event!.type, at(event!.object, 'spec')])).toEqual([
      ['ADDED', { name: 'h', port: '1' }],
      ['MODIFIED', { name: 'h', port: '2' }],
    ])
    expect(at(await server.must('GET', `${kind.path('v1')}/a`), 'spec')).toEqual({ host: 'h:2' })
  })

  it('lets a webhook change labels and annotations, and no other metadata', async () => {
    const { kind, behave } = await webhook()
    await server.must('POST', kind.path('v1'), {
      body: kind.object({ metadata: { name: 'a', labels: { x: 'y' } }, spec: {} }),
    })
    behave((review, objects, wanted) =>
      answer(
        review,
        objects.map((one) => ({
          ...converted(one, wanted),
          metadata: {
            ...(one['metadata'] as JsonObject),
            labels: { other: 'label' },
            finalizers: ['example.com/x'],
            generation: 77,
          },
        })),
      ),
    )
    const read = await server.must('GET', `${kind.path('v2')}/a`)
    expect(at(read, 'metadata', 'labels')).toEqual({ other: 'label' })
    expect(at(read, 'metadata', 'finalizers')).toBeUndefined()
    expect(at(read, 'metadata', 'generation')).toBe(1)
  })

  it.each<readonly [string, Answerer]>([
    ['a failure with a reason', (review) => answer(review, [], { status: 'Failure', message: 'no way' })],
    ['a failure without one', (review) => answer(review, [], { status: 'Failure' })],
    ['too few objects', (review) => answer(review, [])],
    [
      'another uid',
      (review, objects) => {
        const { response, ...rest } = answer(review, objects) as JsonObject
        return { ...rest, response: { ...(response as JsonObject), uid: 'other' } }
      },
    ],
    ['no response', (review) => ({ apiVersion: review['apiVersion']!, kind: 'ConversionReview' })],
    ['an object of the old version', (review, objects) => answer(review, objects)],
    [
      'an object of another kind',
      (review, objects, wanted) =>
        answer(
          review,
          objects.map((one) => ({ ...converted(one, wanted), kind: 'Other' })),
        ),
    ],
    [
      'an object of another name',
      (review, objects, wanted) =>
        answer(
          review,
          objects.map((one) => ({
            ...converted(one, wanted),
            metadata: { ...(one['metadata'] as JsonObject), name: 'other' },
          })),
        ),
    ],
    [
      'an object of another uid',
      (review, objects, wanted) =>
        answer(
          review,
          objects.map((one) => ({
            ...converted(one, wanted),
            metadata: { ...(one['metadata'] as JsonObject), uid: 'other' },
          })),
        ),
    ],
    [
      'an object without metadata',
      (review, objects, wanted) =>
        answer(
          review,
          objects.map((one) => ({ apiVersion: wanted, kind: one['kind']!, spec: {} })),
        ),
    ],
  ])('rejects %s as a response', async (_what, answerer) => {
    const { kind, behave } = await webhook()
    await server.must('POST', kind.path('v1'), {
      body: kind.object({ metadata: { name: 'a' }, spec: { host: 'h:1' } }),
    })
    behave(answerer)
    expect(withoutStorage(outcome(server, await server.call('GET', `${kind.path('v2')}/a`)))).toMatchSnapshot()
    expect((await server.call('GET', `${kind.path('v1')}/a`)).status).toBe(200)
  })

  it('uses the first review version that it knows', async () => {
    const { kind, asked } = await webhook(['v9', 'v1beta1', 'v1'])
    await server.must('POST', kind.path('v1'), {
      body: kind.object({ metadata: { name: 'a' }, spec: { host: 'h:1' } }),
    })
    expect(at(await server.must('GET', `${kind.path('v2')}/a`), 'spec')).toEqual({ name: 'h', port: '1' })
    expect(
      asked.every((review) => isJsonObject(review) && review['apiVersion'] === 'apiextensions.k8s.io/v1beta1'),
    ).toBe(true)
  })

  it('fails with the cause when the webhook is unreachable', async () => {
    const kind = await defineKind(server, object({ spec: object({}) }), {
      spec: {
        conversion: {
          strategy: 'Webhook',
          webhook: {
            conversionReviewVersions: ['v1'],
            clientConfig: { url: 'https://127.0.0.1:1/convert', caBundle: bundle },
          },
        },
      },
      versions: ['v1', 'v2'].map((name) => ({
        name,
        served: true,
        storage: name === 'v1',
        schema: { openAPIV3Schema: object({ spec: object({ [name]: string }) }) },
      })),
    })
    await server.must('POST', kind.path('v1'), { body: kind.object({ metadata: { name: 'a' } }) })
    expect(withoutStorage(outcome(server, await server.call('GET', `${kind.path('v2')}/a`)))).toMatchSnapshot()
  })
})
