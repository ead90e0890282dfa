/** Admission webhooks: whom the server asks about what, what it takes for an answer, and what it makes of it. */
import { describe, expect, it } from 'vitest'
import { type Json, type JsonObject, parseJson } from '../../src/kube/json.ts'
import {
  type Answerer,
  bundle,
  configMapRule,
  hooked,
  patch,
  putCluster,
  receiver,
  registration,
  said,
  until,
} from './admission.ts'
import { at, openServer } from './server.ts'

const server = openServer()

/** A request without who owns which field, which other cases are about. */
function shown(request: JsonObject): Json {
  const text = JSON.stringify(request, (key, value: unknown) => (key === 'managedFields' ? undefined : value))
  return server.maskedJson(parseJson(text))
}

const merge = 'application/merge-patch+json'

describe('a validating webhook', () => {
  it('receives the whole request', async () => {
    const { path, asked } = await hooked(server, 'validating')
    await server.must('POST', `${path}?fieldManager=me`, { body: { metadata: { name: 'a' }, data: { x: '1' } } })
    await server.must('PUT', `${path}/a?dryRun=All`, { body: { metadata: { name: 'a' }, data: { x: '2' } } })
    await server.must('PATCH', `${path}/a`, { type: merge, body: { data: { x: '3' } } })
    await server.must('DELETE', `${path}/a`, { body: { propagationPolicy: 'Background' } })
    expect(asked.map(shown)).toMatchSnapshot()
  })

  it('receives the generated name', async () => {
    const { path, asked } = await hooked(server, 'validating')
    const made = await server.must('POST', path, { body: { metadata: { generateName: 'a-' } } })
    expect(at(asked[0], 'name')).toBe(at(made, 'metadata', 'name'))
  })

  it.each<readonly [string, Answerer]>([
    ['without a message', () => ({ allowed: false })],
    ['with a message', () => ({ allowed: false, status: { message: 'no way' } })],
    ['with a reason', () => ({ allowed: false, status: { reason: 'Gone' } })],
    ['with a code', () => ({ allowed: false, status: { code: 418, message: 'no way', reason: 'Teapot' } })],
    ['with an invalid code', () => ({ allowed: false, status: { code: 200, status: 'Success' } })],
    [
      'with details',
      () => ({ allowed: false, status: { message: 'no', details: { causes: [{ field: 'data', message: 'why' }] } } }),
    ],
    ['with warnings', () => ({ allowed: false, warnings: ['first', 'second "quoted"'] })],
  ])('rejects %s', async (_how, answerer) => {
    const { path, behave } = await hooked(server, 'validating')
    behave(answerer)
    expect(said(server, await server.call('POST', path, { body: { metadata: { name: 'a' } } }))).toMatchSnapshot(
      'refusal',
    )
    expect((await server.call('GET', `${path}/a`)).status).toBe(404)
  })

  it('warns', async () => {
    const { path, behave } = await hooked(server, 'validating')
    behave(() => ({ allowed: true, warnings: ['beware'], auditAnnotations: { a: 'b' } }))
    expect(said(server, await server.call('POST', path, { body: { metadata: { name: 'a' } } }))).toMatchSnapshot()
    const gone = await server.call('DELETE', `${path}/a`)
    expect(gone.headers['warning']).toBe('299 - "beware"')
  })

  it.each<readonly [string, Answerer]>([
    ['another uid', () => ({ uid: 'other', allowed: true })],
    ['another version', () => ({ raw: { apiVersion: 'admission.k8s.io/v2', kind: 'AdmissionReview' } })],
    ['no response', () => ({ raw: { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' } })],
    ['a patch', () => patch({ op: 'add', path: '/data', value: {} })],
    ['an error', () => ({ status: 500, text: 'out of order' })],
    ['a missing path', () => ({ status: 404, text: 'not here' })],
  ])('that responds with %s fails', async (_what, answerer) => {
    const { path, behave } = await hooked(server, 'validating')
    behave(answerer)
    expect(said(server, await server.call('POST', path, { body: { metadata: { name: 'a' } } }))).toMatchSnapshot(
      'failure',
    )
  })

  it('may be skipped if it fails, with failurePolicy Ignore', async () => {
    const { path, behave } = await hooked(server, 'validating', { failurePolicy: 'Ignore' })
    behave(() => ({ status: 500, text: 'out of order' }))
    await server.must('POST', path, { body: { metadata: { name: 'a' } } })
    behave(() => ({ allowed: false }))
    expect((await server.call('POST', path, { body: { metadata: { name: 'b' } } })).status).toBe(400)
  })

  it('must be reachable', async () => {
    const { path } = await hooked(server, 'validating', {
      clientConfig: { url: 'https://127.0.0.1:1/admit', caBundle: bundle },
    })
    expect(said(server, await server.call('POST', path, { body: { metadata: { name: 'a' } } }))).toMatchSnapshot()
  })

  it('must have an existing service', async () => {
    const { path } = await hooked(server, 'validating', {
      clientConfig: { service: { namespace: 'default', name: 'nobody', path: '/admit' }, caBundle: bundle },
    })
    expect(said(server, await server.call('POST', path, { body: { metadata: { name: 'a' } } }))).toMatchSnapshot()
  })

  it('receives dry runs', async () => {
    const { path, asked } = await hooked(server, 'validating', { sideEffects: 'NoneOnDryRun' })
    await server.must('POST', `${path}?dryRun=All`, { body: { metadata: { name: 'a' } } })
    expect(at(asked[0], 'dryRun')).toBe(true)
  })
})

describe('a mutating webhook', () => {
  it('changes the stored object, without field ownership', async () => {
    const { path, behave } = await hooked(server, 'mutating')
    behave(() => patch({ op: 'add', path: '/data', value: { by: 'hook' } }))
    const made = await server.must('POST', path, { body: { metadata: { name: 'a' } } })
    expect(server.maskedJson(made)).toMatchSnapshot('first')
    behave(() => patch({ op: 'add', path: '/metadata/labels', value: { by: 'hook' } }))
    const changed = await server.must('PATCH', `${path}/a`, { type: merge, body: { data: { x: '1' } } })
    expect(server.maskedJson(changed)).toMatchSnapshot('second')
  })

  it('runs before validation: its patch is pruned, defaulted and validated', async () => {
    const rule = { ...configMapRule, resources: ['configmaps', 'services'] }
    const { namespace, behave } = await hooked(server, 'mutating', { rules: [rule] })
    const path = `/api/v1/namespaces/${namespace}/services`
    const body = { metadata: { name: 'a' }, spec: { ports: [{ port: 80 }] } }
    behave(() =>
      patch(
        { op: 'add', path: '/spec/ports/-', value: { port: 81, name: 'x', unknown: 1 } },
        { op: 'add', path: '/spec/ports/0/name', value: 'y' },
        { op: 'add', path: '/other', value: true },
      ),
    )
    const made = await server.must('POST', `${path}?fieldValidation=Strict`, { body })
    expect(at(made, 'spec', 'ports')).toMatchSnapshot('first')
    expect(made['other']).toBeUndefined()
    behave(() => patch({ op: 'replace', path: '/spec/ports/0/port', value: 0 }))
    const refused = await server.call('POST', path, { body: { ...body, metadata: { name: 'b' } } })
    expect(said(server, refused)).toMatchSnapshot('second')
  })

  it.each<readonly [string, Answerer]>([
    ['a patch without its type', () => ({ allowed: true, patch: Buffer.from('[]').toString('base64') })],
    ['a type without a patch', () => ({ allowed: true, patchType: 'JSONPatch' })],
    [
      'another type',
      () => ({ allowed: true, patchType: 'Other', patch: Buffer.from('[{"op":"remove"}]').toString('base64') }),
    ],
    ['an empty patch', () => ({ allowed: true, patchType: 'JSONPatch', patch: Buffer.from('[]').toString('base64') })],
  ])('handles %s as the real server does', async (_what, answerer) => {
    const { path, behave } = await hooked(server, 'mutating')
    behave(answerer)
    expect(said(server, await server.call('POST', path, { body: { metadata: { name: 'a' } } }))).toMatchSnapshot()
  })

  it('is called for a deletion, but cannot change it', async () => {
    const { path, behave, asked } = await hooked(server, 'mutating')
    await server.must('POST', path, { body: { metadata: { name: 'a' } } })
    behave(() => patch({ op: 'add', path: '/data', value: {} }))
    expect(said(server, await server.call('DELETE', `${path}/a`))).toMatchSnapshot()
    expect(asked.at(-1)!['operation']).toBe('DELETE')
    behave(() => ({ allowed: true }))
    await server.must('DELETE', `${path}/a`)
  })

  it('sees earlier changes, in the order of configuration names, and is reinvoked after later ones', async () => {
    const hook = await receiver()
    const namespace = await server.namespace()
    const prefix = server.unique('order')
    const steps: string[] = []
    hook.behave((request) => {
      const { data } = request['object'] as { readonly data?: { readonly seen?: string } }
      const seen = data?.seen ?? ''
      steps.push(seen)
      return seen.length >= 4 ? { allowed: true } : patch({ op: 'add', path: '/data', value: { seen: `${seen}x` } })
    })
    const given = { receiver: hook, namespace }
    await hooked(server, 'mutating', { reinvocationPolicy: 'IfNeeded' }, { ...given, name: `${prefix}-b` })
    const { path } = await hooked(server, 'mutating', {}, { ...given, name: `${prefix}-a` })
    const made = await server.must('POST', path, { body: { metadata: { name: 'a' } } })
    expect([steps, made['data']]).toMatchSnapshot('first')
    await hooked(server, 'mutating', {}, { ...given, name: `${prefix}-c` })
    steps.length = 0
    const more = await server.must('POST', path, { body: { metadata: { name: 'b' } } })
    expect([steps, more['data']]).toMatchSnapshot('second')
  })
})

describe('a webhook is called for', () => {
  const body = { metadata: { name: 'a', labels: { color: 'red' } }, data: { x: '1' } }
  const asksFor = async (webhook: object): Promise<number> => {
    const { path, asked } = await hooked(server, 'validating', webhook)
    await server.must('POST', path, { body })
    return asked.length
  }

  it.each<readonly [string, object, number]>([
    ['its operations', { rules: [{ ...configMapRule, operations: ['UPDATE'] }] }, 0],
    ['its groups', { rules: [{ ...configMapRule, apiGroups: ['apps'] }] }, 0],
    ['any resource', { rules: [{ ...configMapRule, resources: ['*'] }] }, 1],
    ['any subresource', { rules: [{ ...configMapRule, resources: ['*/*'] }] }, 1],
    ['subresources only', { rules: [{ ...configMapRule, resources: ['configmaps/status'] }] }, 0],
    ['its scope', { rules: [{ ...configMapRule, scope: 'Namespaced' }] }, 1],
    ['no other scope', { rules: [{ ...configMapRule, scope: 'Cluster' }] }, 0],
    ['objects with its labels', { objectSelector: { matchLabels: { color: 'red' } } }, 1],
    ['no objects with other labels', { objectSelector: { matchLabels: { color: 'blue' } } }, 0],
    ['objects that match its conditions', { matchConditions: [{ name: 'x', expression: "object.data.x == '1'" }] }, 1],
    ['no other objects', { matchConditions: [{ name: 'x', expression: "object.data.x == '2'" }] }, 0],
    [
      'conditions on the request',
      {
        matchConditions: [
          { name: 'a', expression: "request.operation == 'CREATE' && request.userInfo.username == 'admin'" },
          {
            name: 'b',
            expression: "authorizer.group('').resource('pods').namespace('default').check('get').allowed()",
          },
          { name: 'c', expression: "authorizer.requestResource.check('create').allowed() && oldObject == null" },
          { name: 'd', expression: "request.resource.resource == 'configmaps' && request.kind.kind == 'ConfigMap'" },
        ],
      },
      1,
    ],
    [
      'no object whose condition fails, with failurePolicy Ignore',
      { failurePolicy: 'Ignore', matchConditions: [{ name: 'x', expression: 'object.spec.x == 1' }] },
      0,
    ],
  ])('%s', async (_what, webhook, times) => {
    expect(await asksFor(webhook)).toBe(times)
  })

  it('no object when its conditions fail, which rejects the request', async () => {
    const { path } = await hooked(server, 'validating', {
      matchConditions: [{ name: 'x', expression: "request.name == 'probe' || object.spec.x == 1" }],
    })
    expect(said(server, await server.call('POST', path, { body }))).toMatchSnapshot()
  })

  it('an object whose old or new labels match', async () => {
    const { path, asked } = await hooked(server, 'validating', {
      objectSelector: { matchLabels: { color: 'blue' } },
      rules: [configMapRule],
    })
    await server.must('POST', path, { body })
    await server.must('PATCH', `${path}/a`, { type: merge, body: { metadata: { labels: { color: 'blue' } } } })
    await server.must('PATCH', `${path}/a`, { type: merge, body: { metadata: { labels: { color: 'red' } } } })
    expect(asked.map((request) => request['operation'])).toEqual(['UPDATE', 'UPDATE'])
  })

  it('the version that it knows, with matchPolicy Equivalent', async () => {
    const rule = {
      operations: ['*'],
      apiGroups: ['autoscaling'],
      apiVersions: ['v1'],
      resources: ['horizontalpodautoscalers'],
    }
    const { namespace, asked } = await hooked(server, 'validating', { rules: [rule, configMapRule] })
    const path = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`
    const spec = {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
      maxReplicas: 3,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
      ],
    }
    await server.must('POST', path, { body: { metadata: { name: 'a' }, spec } })
    const { object, ...rest } = asked[0]!
    expect(server.maskedJson({ ...rest, spec: at(object, 'spec')! })).toMatchSnapshot()
  })

  it('no other version, with matchPolicy Exact', async () => {
    const rule = { operations: ['*'], apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['*'] }
    const { namespace, asked } = await hooked(server, 'validating', { rules: [rule], matchPolicy: 'Exact' })
    const path = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`
    const spec = { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }, maxReplicas: 3 }
    await server.must('POST', path, { body: { metadata: { name: 'a' }, spec } })
    expect(asked).toEqual([])
  })

  it('a Scale, which it may change', async () => {
    const rule = { operations: ['*'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments/scale'] }
    const { namespace, asked, behave } = await hooked(server, 'mutating', { rules: [rule] })
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const spec = { selector: { matchLabels: { a: 'b' } }, template }
    await server.must('POST', path, { body: { metadata: { name: 'a' }, spec } })
    behave(() => patch({ op: 'replace', path: '/spec/replicas', value: 7 }))
    const scaled = await server.must('PATCH', `${path}/a/scale`, { type: merge, body: { spec: { replicas: 3 } } })
    expect(at(scaled, 'spec', 'replicas')).toBe(7)
    expect(asked.map(shown)).toMatchSnapshot()
  })

  it('an eviction', async () => {
    const rule = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/eviction'] }
    const { namespace, asked, behave } = await hooked(server, 'validating', { rules: [rule] })
    const path = `/api/v1/namespaces/${namespace}/pods`
    await server.must('POST', path, {
      body: { metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    })
    behave(() => ({ allowed: false, status: { message: 'stay' } }))
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'a' } }
    expect(said(server, await server.call('POST', `${path}/a/eviction`, { body: eviction }))).toMatchSnapshot('first')
    expect(asked.map(shown)).toMatchSnapshot('second')
  })

  it('an eviction, if it is mutating', async () => {
    const rule = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/eviction'] }
    const { namespace, asked, behave } = await hooked(server, 'mutating', { rules: [rule] })
    const path = `/api/v1/namespaces/${namespace}/pods`
    await server.must('POST', path, {
      body: { metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    })
    behave(() => patch({ op: 'add', path: '/deleteOptions', value: { preconditions: { uid: 'another' } } }))
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'a' } }
    const { status } = await server.call('POST', `${path}/a/eviction`, { body: eviction })
    expect([status, (await server.call('GET', `${path}/a`)).status]).toMatchSnapshot('done')
    expect(asked.map(shown)).toMatchSnapshot('asked')
  })

  it.each(['mutating', 'validating'] as const)('a binding, if it is %s', async (which) => {
    const rule = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/binding'] }
    const { namespace, asked, behave } = await hooked(server, which, { rules: [rule] })
    const path = `/api/v1/namespaces/${namespace}/pods`
    const pod = { metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    await server.must('POST', path, { body: pod })
    const sent = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'a' }, target: { kind: 'Node', name: 'n' } }
    behave(() => ({ allowed: false, status: { message: 'not there' } }))
    expect(said(server, await server.call('POST', `${path}/a/binding`, { body: sent }))).toMatchSnapshot('refused')
    behave(() =>
      which === 'mutating' ? patch({ op: 'replace', path: '/target/name', value: 'm' }) : { allowed: true },
    )
    await server.must('POST', `${path}/a/binding`, { body: sent })
    const bound = await server.must('GET', `${path}/a`)
    expect(at(bound, 'spec', 'nodeName')).toBe(which === 'mutating' ? 'm' : 'n')
    expect(asked.map(shown)).toMatchSnapshot('asked')
  })

  it.each(['mutating', 'validating'] as const)('a token request, if it is %s', async (which) => {
    const rule = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['serviceaccounts/token'] }
    const { namespace, asked, behave } = await hooked(server, which, { rules: [rule] })
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts`
    await server.must('POST', path, { body: { metadata: { name: 'a' } } })
    const sent = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['x'] } }
    behave(() => ({ allowed: false, status: { message: 'no token' } }))
    expect(said(server, await server.call('POST', `${path}/a/token`, { body: sent }))).toMatchSnapshot('refused')
    behave(() =>
      which === 'mutating' ? patch({ op: 'replace', path: '/spec/expirationSeconds', value: 700 }) : { allowed: true },
    )
    const given = await server.must('POST', `${path}/a/token`, { body: sent })
    expect(at(given, 'spec', 'expirationSeconds')).toBe(which === 'mutating' ? 700 : 3600)
    expect(asked.map(shown)).toMatchSnapshot('asked')
  })

  it.each(['exec', 'attach', 'portforward', 'proxy'])('connections to %s of a pod', async (subresource) => {
    const rule = { operations: ['CONNECT'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/*'] }
    const { namespace, asked, behave } = await hooked(server, 'validating', { rules: [rule] })
    behave(() => ({ allowed: false, status: { message: 'stay out' } }))
    const query = { exec: '?command=ls&stdout=true&container=c', attach: '?stdin=true', portforward: '?ports=80' }
    const path = `/api/v1/namespaces/${namespace}/pods/none/${subresource}`
    const answer = await server.call('POST', `${path}${query[subresource as keyof typeof query] ?? ''}`)
    expect(said(server, answer)).toMatchSnapshot('refused')
    expect(asked.map(shown)).toMatchSnapshot('asked')
  })

  it('each object of a deleted collection', async () => {
    const { path, asked } = await hooked(server, 'validating')
    await server.must('POST', path, { body })
    asked.length = 0
    await server.must('DELETE', path)
    const request: JsonObject = asked[0]!
    expect([asked.length, request['name'] ?? null, at(request, 'oldObject', 'metadata', 'name')]).toMatchSnapshot()
  })

  it('neither webhooks nor policies', async () => {
    const hook = await receiver()
    const label = server.unique('label')
    await putCluster(server, `${registration}/validatingwebhookconfigurations`, {
      metadata: { name: server.unique('hooks') },
      webhooks: [
        {
          name: 'all.example.com',
          clientConfig: { url: hook.url, caBundle: bundle },
          rules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], scope: 'Cluster' }],
          objectSelector: { matchLabels: { only: label } },
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    })
    const probe = { metadata: { name: 'probe', labels: { only: label } }, provisioner: 'x' }
    await until(async () => {
      await server.call('POST', '/apis/storage.k8s.io/v1/storageclasses?dryRun=All', { body: probe })
      return hook.probes() > 0
    }, 'the webhook is asked')
    const metadata = { name: server.unique('other'), labels: { only: label } }
    for (const plural of ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']) {
      await server.must('POST', `${registration}/${plural}?dryRun=All`, { body: { metadata } })
    }
    const own = await server.call('POST', `/api/v1/namespaces?dryRun=All`, { body: { metadata } })
    expect([
      own.status,
      hook.asked.map((request) => [request['name'], request['namespace']].map((one) => server.maskedJson(one!))),
    ]).toMatchSnapshot()
  })
})
