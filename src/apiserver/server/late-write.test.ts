/** Writes that wait for a webhook: their namespace, CRD or object may be deleted meanwhile. */
import { describe, expect, it } from 'vitest'
import { configMap, type Embedded, embedded, widget, widgetCrd } from '../../../test/embedded.ts'
import type { Json, JsonObject } from '../../kube/json.ts'

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const definition = `${crds}/widgets.example.com`
const widgets = '/apis/example.com/v1/namespaces/home/widgets'
const configMaps = '/api/v1/namespaces/home/configmaps'
const pods = '/api/v1/namespaces/home/pods'
const merge = { 'content-type': 'application/merge-patch+json' }
const apply = { 'content-type': 'application/apply-patch+yaml' }

interface Held extends Embedded {
  /** Resolves when the webhook is being called. */
  readonly asked: () => Promise<void>
  /** Lets the webhook respond to its first call; it responds to all others at once. */
  readonly answer: () => void
  /** The objects it was called with. */
  readonly about: JsonObject[]
}

const kinds = ['mutating', 'validating'] as const

/** A cluster with the namespace `home`, the kind Widget, and a webhook that blocks the first write to it. */
async function held(kind: (typeof kinds)[number]): Promise<Held> {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const about: JsonObject[] = []
  const webhooks = async (_config: unknown, body: Json): Promise<Json> => {
    const { request } = body as { readonly request: JsonObject }
    about.push((request['object'] ?? request['oldObject']) as JsonObject)
    asked.resolve()
    if (about.length === 1) await answer.promise
    return {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: request['uid']!, allowed: true },
    }
  }
  const made = embedded({ webhooks })
  const { raw } = made
  await raw('POST', '/api/v1/namespaces', { body: { metadata: { name: 'home' } } })
  await raw('POST', crds, { body: widgetCrd() })
  await raw('POST', configMaps, { body: configMap('old', {}, { namespace: 'home' }) })
  await raw('POST', widgets, { body: widget('old', {}, { namespace: 'home' }) })
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  await raw('POST', pods, { body: { metadata: { name: 'old' }, spec } })
  const { status } = await raw('POST', `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`, {
    body: {
      metadata: { name: 'slow' },
      webhooks: [
        {
          name: 'slow.example.com',
          clientConfig: { url: 'https://127.0.0.1:1/' },
          rules: [
            {
              operations: ['*'],
              apiGroups: ['', 'example.com'],
              apiVersions: ['*'],
              resources: ['configmaps', 'widgets', 'widgets/*', 'pods/eviction'],
            },
          ],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    },
  })
  expect(status).toBe(201)
  return { ...made, asked: () => asked.promise, answer: () => answer.resolve(), about }
}

/** Whether nothing is stored in a missing namespace, or of a kind that is not served. */
async function isConsistent({ raw }: Embedded): Promise<boolean> {
  const names = async (path: string): Promise<readonly unknown[]> => {
    const { items = [] } = (await raw('GET', path)).json as { readonly items?: readonly JsonObject[] }
    return items.map(({ metadata }) => (metadata as JsonObject)['name'])
  }
  if ((await raw('GET', '/api/v1/namespaces/home')).status === 404) {
    if ((await names(configMaps)).length > 0 || (await names(pods)).length > 0) return false
    await raw('POST', '/api/v1/namespaces', { body: { metadata: { name: 'home' } } })
  }
  if ((await raw('GET', definition)).status === 200) return true
  await raw('POST', crds, { body: widgetCrd() })
  return (await names(widgets)).length === 0
}

const newConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'late' }, data: { a: 'b' } }
const newWidget = { ...widget('late'), metadata: { name: 'late' } }

const writesToConfigMaps = [
  ['a create', 'POST', configMaps, newConfigMap, {}],
  ['an apply of a new object', 'PATCH', `${configMaps}/late?fieldManager=me`, newConfigMap, apply],
  ['an update', 'PUT', `${configMaps}/old`, { ...newConfigMap, metadata: { name: 'old' } }, {}],
  ['a patch', 'PATCH', `${configMaps}/old`, { data: { a: 'b' } }, merge],
  ['a delete', 'DELETE', `${configMaps}/old`, undefined, {}],
  ['a delete of a collection', 'DELETE', configMaps, undefined, {}],
  ['an eviction', 'POST', `${pods}/old/eviction`, { metadata: { name: 'old' } }, {}],
] as const

const writesToWidgets = [
  ['a create', 'POST', widgets, newWidget, {}],
  ['an apply of a new object', 'PATCH', `${widgets}/late?fieldManager=me`, newWidget, apply],
  ['an apply', 'PATCH', `${widgets}/old?fieldManager=me`, { ...newWidget, metadata: { name: 'old' } }, apply],
  ['a patch', 'PATCH', `${widgets}/old`, { spec: { replicas: 3 } }, merge],
  ['a patch of the status', 'PATCH', `${widgets}/old/status`, { status: { x: 1 } }, merge],
  ['a scale', 'PATCH', `${widgets}/old/scale`, { spec: { replicas: 3 } }, merge],
  ['a delete', 'DELETE', `${widgets}/old`, undefined, {}],
] as const

describe.each(kinds)('during the call of a %s webhook', (kind) => {
  it.each(writesToConfigMaps)(
    '%s notices the deletion of its namespace',
    async (_what, method, path, body, headers) => {
      const cluster = await held(kind)
      const { raw, asked, answer, clock } = cluster
      const writing = raw(method, path, { headers, ...(body && { body }) })
      await asked()
      await raw('DELETE', '/api/v1/namespaces/home')
      await clock.settle()
      expect((await raw('GET', '/api/v1/namespaces/home')).status).toBe(404)
      answer()
      const isOfAll = method === 'DELETE' && path === configMaps
      // A deletecollection returns the objects as they were.
      expect(await writing).toMatchObject(isOfAll ? { status: 200 } : { status: 404, json: { reason: 'NotFound' } })
      expect(await isConsistent(cluster)).toBe(true)
    },
  )

  it.each(writesToWidgets)('%s notices the deletion of its CRD', async (_what, method, path, body, headers) => {
    const cluster = await held(kind)
    const { raw, asked, answer, clock } = cluster
    const writing = raw(method, path, { headers, ...(body && { body }) })
    await asked()
    await raw('DELETE', definition)
    await clock.settle()
    expect((await raw('GET', definition)).status).toBe(404)
    answer()
    expect(await writing).toMatchObject({ status: 404, json: { reason: 'NotFound' } })
    expect(await isConsistent(cluster)).toBe(true)
  })

  it.each(writesToWidgets)(
    '%s notices that its CRD was deleted and recreated',
    async (_what, method, path, body, headers) => {
      const { raw, asked, answer, clock } = await held(kind)
      const writing = raw(method, path, { headers, ...(body && { body }) })
      await asked()
      await raw('DELETE', definition)
      await clock.settle()
      await raw('POST', crds, { body: widgetCrd() })
      await clock.settle()
      answer()
      expect(await writing).toMatchObject({ status: 404, json: { reason: 'NotFound' } })
      expect((await raw('GET', widgets)).json).toMatchObject({ items: [] })
    },
  )
})

describe('a delete', () => {
  it('repeats admission for an object that changed meanwhile', async () => {
    const { raw, asked, answer, about } = await held('validating')
    const deleting = raw('DELETE', `${configMaps}/old`)
    await asked()
    await raw('PATCH', `${configMaps}/old`, { headers: merge, body: { data: { changed: 'yes' } } })
    answer()
    expect((await deleting).status).toBe(200)
    expect((await raw('GET', `${configMaps}/old`)).status).toBe(404)
    // The first call, that of the patch, and the repeated one for the deleted object.
    expect(about.map((object) => object['data'])).toEqual([undefined, { changed: 'yes' }, { changed: 'yes' }])
  })

  it('repeats admission for another object of the same name', async () => {
    const { raw, asked, answer, about } = await held('validating')
    const deleting = raw('DELETE', `${configMaps}/old`)
    await asked()
    await raw('DELETE', `${configMaps}/old`)
    await raw('POST', configMaps, { body: configMap('old', { second: 'yes' }, { namespace: 'home' }) })
    answer()
    expect((await deleting).status).toBe(200)
    expect(about.at(-1)).toMatchObject({ data: { second: 'yes' } })
  })
})

describe('an eviction', () => {
  it('does not restore a Pod that was deleted during a webhook call', async () => {
    const { raw, asked, answer } = await held('validating')
    const evicting = raw('POST', `${pods}/old/eviction`, { body: { metadata: { name: 'old' } } })
    await asked()
    await raw('DELETE', `${pods}/old`, { body: { gracePeriodSeconds: 0 } })
    answer()
    expect(await evicting).toMatchObject({ status: 404, json: { message: 'pods "old" not found' } })
    expect((await raw('GET', pods)).json).toMatchObject({ items: [] })
  })
})
