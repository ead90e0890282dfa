/** The life of a CustomResourceDefinition: its names are taken, it is served, it changes, it goes with its objects. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { crds, defineKind, definition, kindOf, object, outcome, withSpec } from './custom-kind.ts'
import { type Answer, at, openServer, type WatchEvent } from './server.ts'

const server = openServer()

const string = { type: 'string' }
const plain = withSpec({ a: string })
const mergePatch = 'application/merge-patch+json'

function conditionsOf(body: Json | undefined): readonly JsonObject[] {
  return (at(body, 'status', 'conditions') ?? []) as unknown as readonly JsonObject[]
}
function conditionOf(body: Json | undefined, type: string): JsonObject | undefined {
  return conditionsOf(body).find((one) => one['type'] === type)
}
const isEstablished = ({ body }: Answer): boolean => conditionOf(body, 'Established')?.['status'] === 'True'

async function crdWith(names: object, group: string, options: object = {}): Promise<Answer> {
  const { plural = 'things' } = names as { readonly plural?: string }
  const body = definition(group, plain, { spec: { names: { plural: 'things', kind: 'Thing', ...names } }, ...options })
  const sent = { ...body, metadata: { name: `${plural}.${group}` } }
  server.cleanUp(`${crds}/${plural}.${group}`)
  return await server.call('POST', crds, { body: sent })
}

describe('a definition', () => {
  it('is returned as sent, with defaults', async () => {
    const group = `${server.unique('group')}.example.com`
    expect(server.masked(await crdWith({}, group))).toMatchSnapshot()
  })

  it('becomes accepted and established', async () => {
    const group = `${server.unique('group')}.example.com`
    await crdWith({ shortNames: ['tt'], categories: ['all', 'some'] }, group)
    const crd = await server.until(`${crds}/things.${group}`, isEstablished)
    expect(server.maskedJson(at(crd.body, 'status') ?? null)).toMatchSnapshot()
    expect(at(crd.body, 'metadata', 'generation')).toBe(1)
    expect(at(crd.body, 'metadata', 'finalizers')).toBeUndefined()
  })

  it('is discovered in both formats', async () => {
    const { group, path } = await defineKind(
      server,
      object({ spec: object({ n: { type: 'integer' } }), status: object({ n: { type: 'integer' } }) }),
      {
        version: {
          subresources: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
        },
        spec: { names: { plural: 'things', kind: 'Thing', shortNames: ['tg'], categories: ['all'] } },
      },
    )
    expect(path()).toContain(group)
    const list = await server.until(`/apis/${group}/v1`, ({ status }) => status === 200)
    const { resources } = list.body as unknown as {
      readonly resources: readonly { name: string; verbs: string[]; storageVersionHash?: string }[]
    }
    const sorted = resources
      .map(({ storageVersionHash: _hash, verbs, ...one }) => Object.assign(one, { verbs: verbs.toSorted() }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    expect(server.maskedJson(sorted)).toMatchSnapshot('resources')
    expect(server.masked(await server.until(`/apis/${group}`, ({ status }) => status === 200))).toMatchSnapshot('group')
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    for (;;) {
      const { body } = await server.call('GET', '/apis', { accept })
      const items = (at(body, 'items') ?? []) as unknown as readonly JsonObject[]
      const own = items.find((one) => at(one, 'metadata', 'name') === group)
      if (!own) {
        await new Promise((resolve) => setImmediate(resolve))
        continue
      }
      const verbs = at(own, 'versions', 0, 'resources', 0, 'verbs') as unknown as string[]
      verbs.sort()
      expect(server.maskedJson(own)).toMatchSnapshot('aggregated')
      return
    }
  })

  it('shows every condition to its watchers', async () => {
    const group = `${server.unique('group')}.example.com`
    const name = `things.${group}`
    const watching = await server.watch(`${crds}?watch=1&fieldSelector=metadata.name=${name}`)
    await crdWith({}, group)
    const steps: string[] = []
    for (;;) {
      const event = (await watching.next())!
      const states = conditionsOf(event.object).map(
        ({ type, status, reason }) => `${type as string}=${status as string} ${reason as string}`,
      )
      steps.push(`${event.type} ${states.join(', ')}`)
      if (isEstablished({ status: 200, headers: {}, body: event.object })) break
    }
    watching.stop()
    expect(steps).toMatchSnapshot()
  })

  it.each([
    ['plural', { plural: 'others', singular: 'other', kind: 'Other', shortNames: ['things'] }],
    ['singular', { plural: 'others', singular: 'thing', kind: 'Other' }],
    ['short names', { plural: 'others', singular: 'other', kind: 'Other', shortNames: ['ab', 'tg', 'th'] }],
    ['kind', { plural: 'others', singular: 'other', kind: 'Thing' }],
    ['list kind', { plural: 'others', singular: 'other', kind: 'Other', listKind: 'ThingList' }],
    ['everything', { plural: 'others', singular: 'thing', kind: 'Thing', shortNames: ['tg'] }],
  ])('is not served when another one has its %s', async (_what, names) => {
    const group = `${server.unique('group')}.example.com`
    await crdWith({ shortNames: ['tg', 'th'] }, group)
    await server.until(`${crds}/things.${group}`, isEstablished)
    await crdWith(names, group)
    const crd = await server.until(`${crds}/others.${group}`, ({ body }) => conditionsOf(body).length > 0)
    expect(server.maskedJson(at(crd.body, 'status') ?? null)).toMatchSnapshot('refused')
    expect((await server.call('GET', `/apis/${group}/v1/others`)).status).toBe(404)
    // With the other gone, its names are free.
    await server.must('DELETE', `${crds}/things.${group}`)
    const freed = await server.until(`${crds}/others.${group}`, isEstablished)
    expect(server.maskedJson(at(freed.body, 'status', 'acceptedNames') ?? null)).toMatchSnapshot('freed')
  })

  it('keeps its old names while new ones conflict', async () => {
    const group = `${server.unique('group')}.example.com`
    await crdWith({ shortNames: ['tg'] }, group)
    await crdWith({ plural: 'others', kind: 'Other', shortNames: ['ot'] }, group)
    await server.until(`${crds}/things.${group}`, isEstablished)
    await server.until(`${crds}/others.${group}`, isEstablished)
    await server.must('PATCH', `${crds}/others.${group}`, {
      type: mergePatch,
      body: { spec: { names: { shortNames: ['tg', 'new'] } } },
    })
    const crd = await server.until(
      `${crds}/others.${group}`,
      ({ body }) => conditionOf(body, 'NamesAccepted')?.['status'] === 'False',
    )
    expect(server.maskedJson(at(crd.body, 'status') ?? null)).toMatchSnapshot()
    await server.until(`/apis/${group}/v1/others`, ({ status }) => status === 200)
  })

  it('reports whether a protected group was approved', async () => {
    const group = `${server.unique('group')}.k8s.io`
    const body = definition(group, plain)
    const annotations = { 'api-approved.kubernetes.io': 'unapproved, a test' }
    server.cleanUp(`${crds}/things.${group}`)
    await server.must('POST', crds, { body: { ...body, metadata: { name: `things.${group}`, annotations } } })
    const crd = await server.until(
      `${crds}/things.${group}`,
      (answer) =>
        isEstablished(answer) && conditionOf(answer.body, 'KubernetesAPIApprovalPolicyConformant') !== undefined,
    )
    expect(
      server.maskedJson((conditionOf(crd.body, 'KubernetesAPIApprovalPolicyConformant') ?? null) as Json),
    ).toMatchSnapshot()
  })

  it.each([
    ['the scope', { scope: 'Cluster' }],
    ['the kind', { names: { kind: 'Other' } }],
    ['the plural', { names: { plural: 'others' } }],
    ['the group', { group: 'other.example.com' }],
    [
      'the storage version to another',
      { versions: [{ name: 'v2', served: true, storage: true, schema: { openAPIV3Schema: plain } }] },
    ],
    ['preserveUnknownFields', { preserveUnknownFields: true }],
    [
      'the schema to a non-structural one',
      { versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: {} } }] },
    ],
    ['short names and categories', { names: { shortNames: ['zz'], categories: ['all'] } }],
    [
      'the certificate of a webhook to an invalid one',
      {
        conversion: {
          strategy: 'Webhook',
          webhook: {
            conversionReviewVersions: ['v1'],
            clientConfig: { url: 'https://example.com', caBundle: 'bm9uc2Vuc2U=' },
          },
        },
      },
    ],
  ])('may change %s', async (_what, spec) => {
    const group = `${server.unique('group')}.example.com`
    await crdWith({}, group)
    await server.until(`${crds}/things.${group}`, isEstablished)
    const answer = await server.call('PATCH', `${crds}/things.${group}?dryRun=All`, {
      type: mergePatch,
      body: { spec },
    })
    expect(outcome(server, answer)).toMatchSnapshot('answer')
  })

  it('counts generations of its spec, and records stored versions', async () => {
    const group = `${server.unique('group')}.example.com`
    await crdWith({}, group)
    await server.until(`${crds}/things.${group}`, isEstablished)
    const v1 = { name: 'v1', served: true, storage: false, schema: { openAPIV3Schema: plain } }
    const v2 = { name: 'v2', served: true, storage: true, schema: { openAPIV3Schema: plain } }
    const changed = await server.must('PATCH', `${crds}/things.${group}`, {
      type: mergePatch,
      body: { spec: { versions: [v1, v2] } },
    })
    expect(at(changed, 'metadata', 'generation')).toBe(2)
    expect(at(changed, 'status', 'storedVersions')).toEqual(['v1', 'v2'])
    const dropped = await server.call('PATCH', `${crds}/things.${group}`, {
      type: mergePatch,
      body: { spec: { versions: [v2] } },
    })
    expect(outcome(server, dropped)).toMatchSnapshot()
    const migrated = await server.must('PATCH', `${crds}/things.${group}/status`, {
      type: mergePatch,
      body: { status: { storedVersions: ['v2'] } },
    })
    expect(at(migrated, 'status', 'storedVersions')).toEqual(['v2'])
    expect(
      (await server.call('PATCH', `${crds}/things.${group}`, { type: mergePatch, body: { spec: { versions: [v2] } } }))
        .status,
    ).toBe(200)
  })

  it('is served as changed', async () => {
    const { group, path, crd } = await defineKind(server, plain)
    const versions = [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: plain } },
      { name: 'v2', served: true, storage: false, schema: { openAPIV3Schema: plain } },
    ]
    await server.must('PATCH', `${crds}/${crd}`, { type: mergePatch, body: { spec: { versions } } })
    await server.until(path('v2'), ({ status }) => status === 200)
    await server.must('PATCH', `${crds}/${crd}`, {
      type: mergePatch,
      body: { spec: { versions: [{ ...versions[0], served: false }, versions[1]] } },
    })
    await server.until(path('v1'), ({ status }) => status === 404)
    const left = await server.until(`/apis/${group}/v2/things`, ({ status }) => status === 200)
    expect(at(left.body, 'items')).toEqual([])
  })

  it('warns clients of deprecated versions', async () => {
    const kind = await defineKind(server, plain, {
      versions: [
        { name: 'v1', served: true, storage: true, deprecated: true, schema: { openAPIV3Schema: plain } },
        {
          name: 'v2',
          served: true,
          storage: false,
          deprecated: true,
          deprecationWarning: 'use v3, "please"',
          schema: { openAPIV3Schema: plain },
        },
        { name: 'v3', served: true, storage: false, schema: { openAPIV3Schema: plain } },
      ],
    })
    const warnings = await Promise.all(
      ['v1', 'v2', 'v3'].map(
        async (version) => (await server.call('GET', kind.path(version))).headers['warning'] ?? null,
      ),
    )
    expect(server.maskedJson(warnings)).toMatchSnapshot('warnings')
    const created = await server.call('POST', kind.path('v2'), {
      query: { dryRun: 'All' },
      body: kind.object({ spec: { x: 1 } }, 'v2'),
    })
    expect(outcome(server, created)).toMatchSnapshot('created')
  })

  it('is deleted at once without objects', async () => {
    const { crd, path } = await defineKind(server, plain)
    const deleted = await server.call('DELETE', `${crds}/${crd}`)
    expect(server.maskedJson((conditionOf(deleted.body, 'Terminating') ?? null) as Json)).toMatchSnapshot()
    expect(at(deleted.body, 'metadata', 'finalizers')).toEqual(['customresourcecleanup.apiextensions.k8s.io'])
    await server.until(`${crds}/${crd}`, ({ status }) => status === 404)
    await server.until(path(), ({ status }) => status === 404)
  })

  it('is deleted with its objects, and waits for their finalizers', async () => {
    const { crd, path, object: make } = await defineKind(server, plain)
    await server.must('POST', path(), { body: make({ metadata: { name: 'free' } }) })
    await server.must('POST', path(), { body: make({ metadata: { name: 'held', finalizers: ['example.com/hold'] } }) })
    await server.must('DELETE', `${crds}/${crd}`)
    await server.until(`${path()}/free`, ({ status }) => status === 404)
    const held = await server.until(
      `${path()}/held`,
      ({ body }) => at(body, 'metadata', 'deletionTimestamp') !== undefined,
    )
    expect(held.status).toBe(200)
    const refused = await server.call('POST', path(), { body: make({ metadata: { name: 'late' } }) })
    expect(outcome(server, refused)).toMatchSnapshot('refused')
    const waiting = await server.until(
      `${crds}/${crd}`,
      ({ body }) => conditionOf(body, 'Terminating')?.['reason'] === 'InstanceDeletionInProgress',
    )
    expect(server.maskedJson((conditionOf(waiting.body, 'Terminating') ?? null) as Json)).toMatchSnapshot('waiting')
    await server.must('PATCH', `${path()}/held`, { type: mergePatch, body: { metadata: { finalizers: null } } })
    await server.until(`${crds}/${crd}`, ({ status }) => status === 404)
  }, 60_000)

  it('may be created again', async () => {
    const { crd, group, path, object: make } = await defineKind(server, plain)
    await server.must('POST', path(), { body: make({}) })
    await server.must('DELETE', `${crds}/${crd}`)
    await server.until(`${crds}/${crd}`, ({ status }) => status === 404)
    await server.must('POST', crds, { body: definition(group, plain) })
    const list = await server.until(path(), ({ status }) => status === 200)
    expect(at(list.body, 'items')).toEqual([])
  })

  it('ends the watches of its objects', async () => {
    const { crd, path, object: make } = await defineKind(server, plain)
    const watching = await server.watch(`${path()}?watch=1`)
    await server.must('POST', path(), { body: make({}) })
    await server.must('DELETE', `${crds}/${crd}`)
    const events: string[] = []
    for (let event: WatchEvent | undefined = await watching.next(); event; event = await watching.next())
      events.push(event.type)
    expect(events).toEqual(['ADDED', 'DELETED'])
  })

  it('is rejected a second time', async () => {
    const { group } = await defineKind(server, plain)
    expect(kindOf(group).crd).toContain('things')
    expect(outcome(server, await server.call('POST', crds, { body: definition(group, plain) }))).toMatchSnapshot()
  })
})
