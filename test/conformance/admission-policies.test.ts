/** Admission policies: expressions that must hold for what is written. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { putCluster, registration, said, until } from './admission.ts'
import { at, openServer } from './server.ts'

const server = openServer()
const merge = 'application/merge-patch+json'

const rule = {
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  apiGroups: [''],
  apiVersions: ['v1'],
  resources: ['configmaps'],
}

interface Policy {
  readonly namespace: string
  readonly path: string
  /** What becomes of a config map. */
  readonly write: (data?: JsonObject, name?: string) => Promise<Json>
}

interface Given {
  readonly spec: object
  readonly binding?: object
  readonly namespace?: string
}

/** A policy and its binding in a namespace of their own, known to the server. */
async function policy({ spec, binding, namespace: given }: Given): Promise<Policy> {
  const namespace = given ?? (await server.namespace())
  const name = server.unique('policy')
  const inNamespace = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } }
  const marker = server.unique('marker')
  // The probe is one more policy, made last: what knows it knows the others.
  const put = async (policyName: string, policySpec: object, bindingSpec: object): Promise<void> => {
    await putCluster(server, `${registration}/validatingadmissionpolicies`, {
      metadata: { name: policyName },
      spec: { matchConstraints: { resourceRules: [rule] }, ...policySpec },
    })
    await putCluster(server, `${registration}/validatingadmissionpolicybindings`, {
      metadata: { name: `${policyName}-binding` },
      spec: { policyName, validationActions: ['Deny'], matchResources: inNamespace, ...bindingSpec },
    })
  }
  await put(name, spec, binding ?? {})
  const probe = { validations: [{ expression: `request.name != 'probe'`, message: marker }] }
  await put(server.unique('probe'), probe, { validationActions: ['Warn'] })
  const path = `/api/v1/namespaces/${namespace}/configmaps`
  await until(async () => {
    const body = { metadata: { name: 'probe' }, data: { x: '1' } }
    const { headers } = await server.call('POST', `${path}?dryRun=All`, { body })
    return headers['warning']?.includes(marker) ?? false
  }, 'the policy is known')
  return {
    namespace,
    path,
    write: async (data = {}, objectName = 'a') =>
      said(server, await server.call('POST', `${path}?dryRun=All`, { body: { metadata: { name: objectName }, data } })),
  }
}

const isProbe = "request.name == 'probe'"

describe('a validating policy', () => {
  it.each<readonly [string, object]>([
    ['the expression', { expression: `${isProbe} || object.data.x == '2'` }],
    ['a message', { expression: `${isProbe} || false`, message: ' must not be ' }],
    [
      'a message expression',
      { expression: `${isProbe} || false`, message: 'other', messageExpression: "'x is ' + object.data.x" },
    ],
    [
      'a message expression that fails',
      { expression: `${isProbe} || false`, message: 'other', messageExpression: 'string(object.data.nothing)' },
    ],
    ['a message of several lines', { expression: `${isProbe} || false`, messageExpression: "'a\\nb'" }],
    ['a reason', { expression: `${isProbe} || false`, reason: 'Forbidden' }],
    ['another reason', { expression: `${isProbe} || false`, reason: 'RequestEntityTooLarge' }],
    ['the evaluation error', { expression: `${isProbe} || object.spec.x == 1` }],
  ])('rejects with %s', async (_what, validation) => {
    const { write } = await policy({ spec: { validations: [validation] } })
    expect(await write({ x: '1' })).toMatchSnapshot()
  })

  it('admits valid objects, and objects that it cannot evaluate with failurePolicy Ignore', async () => {
    const { write } = await policy({
      spec: {
        failurePolicy: 'Ignore',
        validations: [{ expression: "object.data.x == '1'" }, { expression: 'object.spec.x == 1' }],
      },
    })
    expect([await write({ x: '1' }), await write({ x: '2' })]).toMatchSnapshot()
  })

  it('only warns or audits, where its binding says so', async () => {
    const spec = { validations: [{ expression: `${isProbe} || false`, message: 'so so' }] }
    const { write } = await policy({ spec, binding: { validationActions: ['Warn', 'Audit'] } })
    expect(await write()).toMatchSnapshot('first')
    const quiet = await policy({ spec, binding: { validationActions: ['Audit'] } })
    expect(await quiet.write()).toMatchSnapshot('second')
  })

  it('evaluates variables lazily', async () => {
    const { write } = await policy({
      spec: {
        variables: [
          { name: 'size', expression: 'size(object.data)' },
          { name: 'double', expression: 'variables.size * 2' },
          { name: 'broken', expression: 'object.spec.x' },
        ],
        validations: [
          {
            expression: `${isProbe} || variables.double < 4`,
            messageExpression: "'double is ' + string(variables.double)",
          },
          { expression: '!has(object.data.y) || variables.broken == 1' },
        ],
      },
    })
    expect([await write({ x: '1' }), await write({ x: '1', z: '2' }), await write({ y: '1' })]).toMatchSnapshot()
  })

  it('applies to objects that match its conditions', async () => {
    const { write } = await policy({
      spec: {
        matchConditions: [{ name: 'red', expression: "object.data.color == 'red'" }],
        validations: [{ expression: 'false' }],
        failurePolicy: 'Ignore',
      },
    })
    expect([await write({ color: 'red' }), await write({ color: 'blue' }), await write()]).toMatchSnapshot()
  })

  it('sees the request, the namespace and the authorizer', async () => {
    const { write, path, namespace } = await policy({
      spec: {
        validations: [
          { expression: "request.operation in ['CREATE', 'UPDATE', 'DELETE']" },
          { expression: `${isProbe} || namespaceObject.metadata.name == request.namespace` },
          { expression: "namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == request.namespace" },
          { expression: "authorizer.group('').resource('pods').namespace('default').check('delete').allowed()" },
          { expression: "authorizer.path('/healthz').check('get').allowed()" },
          { expression: "authorizer.requestResource.check('create').allowed()" },
          {
            expression: "!authorizer.serviceAccount('default', 'x').group('').resource('pods').check('get').allowed()",
          },
          { expression: "request.operation == 'DELETE' ? object == null : object.kind == 'ConfigMap'" },
          { expression: "request.operation == 'CREATE' ? oldObject == null : oldObject.metadata.name == request.name" },
          { expression: "'system:masters' in request.userInfo.groups && request.userInfo.username == 'admin'" },
          { expression: "request.dryRun || request.options.kind != ''" },
        ],
      },
    })
    expect(await write()).toMatchSnapshot()
    await server.must('POST', path, { body: { metadata: { name: 'a' } } })
    await server.must('PATCH', `${path}/a`, { type: merge, body: { data: { x: '1' } } })
    await server.must('DELETE', `${path}/a`)
    expect(namespace).not.toBe('')
  })

  it('takes parameters', async () => {
    const namespace = await server.namespace()
    const configs = `/api/v1/namespaces/${namespace}/configmaps`
    for (const [name, most] of [
      ['low', '1'],
      ['high', '3'],
    ] as const) {
      await server.must('POST', configs, { body: { metadata: { name, labels: { limits: 'yes' } }, data: { most } } })
    }
    const spec = {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      validations: [
        {
          expression: `${isProbe} || params == null || size(object.data) <= int(params.data.most)`,
          messageExpression: "'at most ' + params.data.most + ' by ' + params.metadata.name + ' of ' + params.kind",
        },
      ],
    }
    const one = await policy({
      spec,
      namespace,
      binding: { paramRef: { name: 'high', parameterNotFoundAction: 'Deny' } },
    })
    expect([await one.write({ a: '', b: '' }), await one.write({ a: '', b: '', c: '', d: '' })]).toMatchSnapshot()
  })

  it('without its parameters rejects or is skipped', async () => {
    const spec = {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      validations: [{ expression: 'false' }],
    }
    const binding = (parameterNotFoundAction: string): object => ({
      paramRef: { name: 'nothing', parameterNotFoundAction },
    })
    const allowed = await policy({ spec, binding: binding('Allow') })
    expect(await allowed.write()).toMatchSnapshot('first')
    const denied = await policy({ spec, binding: binding('Deny') })
    expect(await denied.write()).toMatchSnapshot('second')
  })

  it('rejects when the kind of its parameters is missing', async () => {
    const { write } = await policy({
      spec: { paramKind: { apiVersion: 'example.com/v1', kind: 'Nothing' }, validations: [{ expression: 'true' }] },
      binding: { paramRef: { name: 'x', parameterNotFoundAction: 'Allow' } },
    })
    expect(await write()).toMatchSnapshot()
  })

  it('excludes resources by its rules and resource names', async () => {
    const excluded = await policy({
      spec: {
        matchConstraints: { resourceRules: [rule], excludeResourceRules: [{ ...rule, resourceNames: ['b'] }] },
        validations: [{ expression: `${isProbe} || false` }],
      },
    })
    expect([await excluded.write({}, 'a'), await excluded.write({}, 'b')]).toMatchSnapshot('first')
    const named = await policy({
      spec: {
        matchConstraints: { resourceRules: [{ ...rule, resourceNames: ['b'] }] },
        validations: [{ expression: 'false' }],
      },
    })
    expect([await named.write({}, 'a'), await named.write({}, 'b')]).toMatchSnapshot('second')
  })
})

describe('expressions are compiled on write', () => {
  const constraints = { matchConstraints: { resourceRules: [rule] } }
  const tryPolicy = async (spec: object): Promise<Json> => {
    const body = { metadata: { name: 'a' }, spec: { ...constraints, ...spec } }
    const { status, body: told } = await server.call('POST', `${registration}/validatingadmissionpolicies?dryRun=All`, {
      body,
    })
    return { status, message: at(told, 'message') ?? null }
  }

  it.each<readonly [string, object]>([
    ['a validation', { validations: [{ expression: 'object.' }] }],
    ['an unknown variable', { validations: [{ expression: 'self.x == 1' }] }],
    ['another type', { validations: [{ expression: "'a'" }] }],
    ['any type', { validations: [{ expression: 'object.x' }] }],
    ['undeclared parameters', { validations: [{ expression: 'params.x == 1' }] }],
    ['a field that requests do not have', { validations: [{ expression: "request.uid == ''" }] }],
    ['a message', { validations: [{ expression: 'true', messageExpression: '1' }] }],
    [
      'a message with an authorizer',
      { validations: [{ expression: 'true', messageExpression: "authorizer.path('x')" }] },
    ],
    ['a variable', { variables: [{ name: 'x', expression: 'y' }], validations: [{ expression: 'true' }] }],
    [
      'a variable of a type',
      { variables: [{ name: 'x', expression: '1' }], validations: [{ expression: "variables.x == ''" }] },
    ],
    [
      'a missing variable',
      { variables: [{ name: 'x', expression: '1' }], validations: [{ expression: 'variables.y == 1' }] },
    ],
    ['a condition', { matchConditions: [{ name: 'x', expression: '1' }], validations: [{ expression: 'true' }] }],
    ['an annotation', { auditAnnotations: [{ key: 'x', valueExpression: '1' }] }],
    [
      'a valid policy',
      { validations: [{ expression: 'true' }], auditAnnotations: [{ key: 'x', valueExpression: "'1'" }] },
    ],
  ])('%s', async (_what, spec) => {
    expect(await tryPolicy(spec)).toMatchSnapshot()
  })

  it('a match condition of a webhook', async () => {
    const webhook = {
      name: 'hook.example.com',
      clientConfig: { url: 'https://127.0.0.1:1/x' },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      matchConditions: [
        { name: 'x', expression: 'object.' },
        { name: 'y', expression: 'params == null' },
      ],
    }
    const body = { metadata: { name: 'a' }, webhooks: [webhook] }
    for (const kind of ['validating', 'mutating']) {
      const { body: told } = await server.call('POST', `${registration}/${kind}webhookconfigurations?dryRun=All`, {
        body,
      })
      expect(at(told, 'message')).toMatchSnapshot()
    }
  })
})

describe('a mutating policy', () => {
  const rules = { resourceRules: [{ ...rule, operations: ['CREATE', 'UPDATE'] }] }
  const apply = (expression: string): object => ({
    patchType: 'ApplyConfiguration',
    applyConfiguration: { expression },
  })
  const jsonPatch = (expression: string): object => ({ patchType: 'JSONPatch', jsonPatch: { expression } })

  /** A namespace where mutations happen. The probe is a label that one more policy sets. */
  const mutating = async (spec: object, resources: object = rules): Promise<Policy> => {
    const namespace = await server.namespace()
    const inNamespace = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } }
    const put = async (name: string, policySpec: object): Promise<void> => {
      await putCluster(server, `${registration}/mutatingadmissionpolicies`, { metadata: { name }, spec: policySpec })
      await putCluster(server, `${registration}/mutatingadmissionpolicybindings`, {
        metadata: { name: `${name}-binding` },
        spec: { policyName: name, matchResources: inNamespace },
      })
    }
    await put(server.unique('policy'), {
      matchConstraints: resources,
      reinvocationPolicy: 'Never',
      matchConditions: [{ name: 'no-probe', expression: `!(${isProbe})` }],
      ...spec,
    })
    await put(server.unique('probe'), {
      matchConstraints: { resourceRules: [rules.resourceRules[0]] },
      reinvocationPolicy: 'Never',
      matchConditions: [{ name: 'probe', expression: isProbe }],
      mutations: [apply("Object{metadata: Object.metadata{labels: {'probe': 'yes'}}}")],
    })
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    await until(async () => {
      const { body } = await server.call('POST', `${path}?dryRun=All`, { body: { metadata: { name: 'probe' } } })
      return at(body, 'metadata', 'labels', 'probe') === 'yes'
    }, 'the policy is known')
    return {
      namespace,
      path,
      write: async (data = {}, objectName = 'a') =>
        said(
          server,
          await server.call('POST', `${path}?dryRun=All`, { body: { metadata: { name: objectName }, data } }),
        ),
    }
  }

  it.each<readonly [string, readonly object[]]>([
    ['merges an object', [apply("Object{data: {'by': 'policy', 'old': string(size(object.data))}}")]],
    [
      'sees earlier mutations',
      [
        apply("Object{data: {'by': 'policy'}}"),
        apply("Object{metadata: Object.metadata{labels: {'size': string(size(object.data))}}}"),
      ],
    ],
    ['removes optional fields', [apply('Object{?data: optional.none()}')]],
    [
      'patches',
      [
        jsonPatch("[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a/b'), value: 'x'}]"),
        jsonPatch("[JSONPatch{op: 'add', path: '/metadata/labels', value: {'x': 'y'}}]"),
      ],
    ],
    [
      'patches if its test holds',
      [
        jsonPatch(
          "[JSONPatch{op: 'test', path: '/data/x', value: '2'}, JSONPatch{op: 'add', path: '/data/y', value: '2'}]",
        ),
      ],
    ],
    ['rejects when it fails', [apply("Object{data: {'x': string(object.spec.x)}}")]],
    ['rejects an unknown field', [apply('Object{nothing: 1}')]],
    ['rejects a type of another field', [apply("Object{metadata: Object.other{labels: {'a': 'b'}}}")]],
  ])('%s', async (_what, mutations) => {
    const { write } = await mutating({ mutations })
    expect(await write({ x: '1' })).toMatchSnapshot('outcome')
  })

  it('ignores failures with failurePolicy Ignore', async () => {
    const { write } = await mutating({
      failurePolicy: 'Ignore',
      mutations: [apply("Object{data: {'x': string(object.spec.x)}}")],
    })
    expect(await write({ x: '1' })).toMatchSnapshot()
  })

  it('adds to lists by key, and does not change atomic lists', async () => {
    const pods = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }
    const sidecar = "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'side', image: 'i'}]}}"
    const { namespace } = await mutating({ mutations: [apply(sidecar)] }, { resourceRules: [pods] })
    const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`
    const body = { metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const made = await server.must('POST', path, { body })
    const containers = at(made, 'spec', 'containers') as readonly JsonObject[]
    expect(containers.map(({ name, terminationMessagePath }) => [name, terminationMessagePath])).toMatchSnapshot(
      'first',
    )
    const atomic = "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', args: ['x']}]}}"
    const other = await mutating({ mutations: [apply(atomic)] }, { resourceRules: [pods] })
    const refused = await server.call('POST', `/api/v1/namespaces/${other.namespace}/pods?dryRun=All`, { body })
    expect(said(server, refused)).toMatchSnapshot('second')
  })

  it.each<readonly [string, object]>([
    ['a value that is not an object', apply('1')],
    ['an undeclared field', apply('Object{data: x}')],
    ['another kind of object', apply('Other{}')],
    ['a value that is not a patch', jsonPatch("[{'op': 'add'}]")],
    ['a patch of other types', jsonPatch('[JSONPatch{op: 1}]')],
  ])('must not return %s', async (_what, mutation) => {
    const spec = { matchConstraints: rules, reinvocationPolicy: 'Never', mutations: [mutation] }
    const body = { metadata: { name: 'a' }, spec }
    const { body: told } = await server.call('POST', `${registration}/mutatingadmissionpolicies?dryRun=All`, { body })
    expect(at(told, 'message')).toMatchSnapshot('message')
  })
})
