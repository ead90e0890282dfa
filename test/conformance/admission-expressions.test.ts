/** Expressions of policies and webhooks: which are refused when they are written, at every place that has some. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { registration } from './admission.ts'
import { at, openServer } from './server.ts'

const server = openServer()

const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }]
const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }

interface Told {
  readonly reason: string
  readonly field: string
  readonly message: string
}

/** By field, what the server has against a configuration of admission; nothing where it accepts it. */
async function refused(kind: string, content: object): Promise<Json> {
  const body = { metadata: { name: 'expressions' }, ...content }
  const { body: answer, status } = await server.call('POST', `${registration}/${kind}?dryRun=All`, { body })
  if (status < 300) return 'accepted'
  const causes = (at(answer, 'details', 'causes') ?? []) as unknown as readonly Told[]
  return causes.map(({ reason, field, message }) => `${reason} ${field}: ${message}`)
}

const validating = (spec: object): Promise<Json> =>
  refused('validatingadmissionpolicies', { spec: { matchConstraints: { resourceRules }, ...spec } })

const mutating = (spec: object): Promise<Json> =>
  refused('mutatingadmissionpolicies', {
    spec: { matchConstraints: { resourceRules }, reinvocationPolicy: 'Never', ...spec },
  })

/** Each expression is a validation of one policy: the server reports the errors of all at once. */
async function validations(expressions: readonly string[], more: object = {}): Promise<JsonObject> {
  const told = await validating({ validations: expressions.map((expression) => ({ expression })), ...more })
  const all = typeof told === 'string' ? [] : (told as readonly string[])
  return Object.fromEntries(
    expressions.map((expression, index) => [
      expression,
      all.filter((text) => text.includes(` spec.validations[${index}].`)).join('\n') || 'accepted',
    ]),
  )
}

describe('a validation', () => {
  it('has a dynamically typed object', async () => {
    expect(
      await validations([
        'true',
        '  true  ',
        '',
        ' ',
        'object',
        'object.spec',
        'object.spec == oldObject.spec',
        'object.spec.replicas > 3',
        "object.metadata.name == 'a'",
        'has(object.spec.replicas)',
        'has(object)',
        'object.items.all(x, x.a > 1)',
        'object.items.all(x)',
        'object.items.map(x, x)',
        'object.?spec.?replicas.orValue(1) == 1',
        'oldObject == null',
        'self == 1',
        'object.spec.',
        'object..spec',
        "object.name == 'a",
        '1 +',
        '1',
        "'text'",
        'null',
        '[true]',
        '{1: true}',
        'dyn(true)',
        'object.a ? true : false',
        'object.a ? 1 : 2',
        "1 == 'a'",
        "object.a == 1 || object.a == 'a'",
        "[1, 'a'].size() == 1",
        'unknown(object)',
        'object.unknown()',
        'size(1) == 1',
        'size(object) == 1',
        "object.name.matches('[')",
        "duration('x') == duration('1s')",
        "timestamp('x') < timestamp('2024-01-01T00:00:00Z')",
        "'%d'.format(['a']) == ''",
        "'%s'.format([object.a]) == ''",
        "quantity('x').isInteger()",
        "url('::').getHost() == ''",
        "ip('x').family() == 4",
        '{1: 1, 1: 2}.size() == 1',
        'int(9223372036854775807) + 1 == 1',
        'int("x") == 1',
        '1 / 0 == 1',
        'type(object) == map',
        'type(object.at) == timestamp',
        'type(object.at) == duration',
        'true &&\n object.x == y',
        "object.name == 'ä' && nothing",
        'true // a comment',
        'object.namespace == "a" && object.for == 1',
        'Object{}.a == 1',
        'object.spec{a: 1} == 1',
        'JSONPatch{op: "add"} == 1',
        'cel.bind(x, 1, x == 1)',
        'optional.of(1).hasValue()',
        'sets.contains([1], [1])',
        'object.list.sum() == 1',
        'lists.range(3).size() == 3',
        'math.greatest(1, 2) == 2',
        'base64.encode(b"a") == ""',
        'format.dns1123Label().validate(object.name).hasValue()',
        "semver('1.2.3').major() == 1",
        "jsonpatch.escapeKey('a/b') == ''",
      ]),
    ).toMatchSnapshot()
  })

  it('has a typed request, namespace and authorizer', async () => {
    expect(
      await validations([
        "request.operation == 'CREATE'",
        'request.operation == 1',
        'request.dryRun',
        "request.kind.kind == 'ConfigMap' && request.kind.group == '' && request.kind.version == 'v1'",
        "request.resource.resource == 'configmaps'",
        "request.resource.kind == 'configmaps'",
        "request.requestKind.kind == '' && request.requestResource.resource == ''",
        "request.subResource == '' && request.requestSubResource == ''",
        "request.name == '' && request.namespace == ''",
        "'a' in request.userInfo.groups",
        '1 in request.userInfo.groups',
        "request.userInfo.extra['a'].exists(x, x == 'b')",
        "request.userInfo.username == '' && request.userInfo.uid == ''",
        'request.userInfo.name == 1',
        'request.options.dryRun',
        'request.options == null',
        'request.object == 1',
        'request.uid == 1',
        'request == null',
        'request',
        'has(request.unknown)',
        "namespaceObject.metadata.name == 'a'",
        "namespaceObject.metadata.labels['a'] == 'b'",
        'namespaceObject.metadata.labels.a == 1',
        "namespaceObject.metadata.annotations.exists(k, k == 'a')",
        "namespaceObject.metadata.creationTimestamp < timestamp('2024-01-01T00:00:00Z')",
        'namespaceObject.metadata.managedFields.size() == 1',
        'namespaceObject.metadata.ownerReferences.size() == 1',
        "namespaceObject.metadata.uid == ''",
        "namespaceObject.metadata.UID == ''",
        "namespaceObject.spec.finalizers.exists(x, x == 'a')",
        "namespaceObject.status.phase == 'Active'",
        "namespaceObject.status.conditions.exists(c, c.type == 'a' && c.status == 'b' && c.reason == 'c')",
        'namespaceObject.status.conditions.exists(c, c.lastTransitionTime == 1)',
        'namespaceObject == null',
        'namespaceObject.kind == 1',
        "authorizer.group('').resource('pods').check('get').allowed()",
        "authorizer.group('').resource('pods').namespace('a').name('b').subresource('c').check('get').reason() == ''",
        "authorizer.path('/healthz').check('get').allowed()",
        "authorizer.serviceAccount('a', 'b').group('').resource('pods').check('get').errored()",
        "authorizer.requestResource.check('get').allowed()",
        "authorizer.requestResource.name('a').check('get').allowed()",
        "authorizer.requestResource.fieldSelector('a=b').labelSelector('c=d').check('get').allowed()",
        "authorizer.check('get').allowed()",
        "authorizer.group('').check('get')",
        'authorizer.requestResource',
        "authorizer.path('/healthz').check('get')",
        "authorizer.path(1).check('get').allowed()",
        'params == null',
        'params.data.a == 1',
        'variables.x == 1',
      ]),
    ).toMatchSnapshot()
  })

  it('has parameters where the policy declares their kind', async () => {
    expect(
      await validations(['params == null', 'params.data.a == 1', 'params', 'parameters.a == 1'], { paramKind }),
    ).toMatchSnapshot()
  })

  it('has the variables of its policy', async () => {
    const variables = Object.entries({
      int: '1',
      text: "'a'",
      any: 'object.a',
      list: '[1, 2]',
      anyList: 'object.items.map(x, x)',
      map: "{'a': 1}",
      nested: "{'a': [{'b': 1}]}",
      optional: 'optional.of(1)',
      time: "timestamp('2024-01-01T00:00:00Z')",
      span: "duration('1s')",
      quantity: "quantity('1')",
      user: 'request.userInfo',
      sum: 'variables.int + 1',
      allowed: "authorizer.requestResource.check('get')",
      nothing: 'null',
      kind: 'type(1)',
      bytes: "b'a'",
      double: '1.5',
      uint: '1u',
      truth: 'true',
    }).map(([name, expression]) => ({ name, expression }))
    expect(
      await validations(
        [
          'variables.int == 1',
          "variables.int == 'a'",
          'variables.text == 1',
          "variables.any == 1 || variables.any == 'a'",
          'variables.list.all(x, x > 1)',
          "variables.list.all(x, x == 'a')",
          "variables.anyList.all(x, x == 'a')",
          'variables.map.a == 1',
          "variables.map.a == 'a'",
          "variables.nested.a[0].b == 'a'",
          'variables.optional.hasValue()',
          "variables.optional.orValue('a') == 1",
          'variables.time.getFullYear() == 2024',
          'variables.time == 1',
          'variables.span > duration("1h")',
          "variables.quantity.isGreaterThan(quantity('1'))",
          'variables.quantity == 1',
          "variables.user.username == 'a'",
          'variables.user.unknown == 1',
          'variables.user.groups.all(x, x == 1)',
          "variables.sum == 'a'",
          'variables.allowed.allowed()',
          'variables.allowed',
          'variables.nothing == null',
          'variables.nothing == 1',
          'variables.kind == int',
          "variables.bytes == 'a'",
          "variables.double == 'a'",
          "variables.uint == 'a'",
          'variables.truth',
          'variables.unknown == 1',
          'has(variables.int)',
          'has(variables.unknown)',
          'variables',
          'variables == null',
          "variables['int'] == 1",
          'variables.?int.hasValue()',
        ],
        { variables },
      ),
    ).toMatchSnapshot()
  })
})

describe('a variable', () => {
  const valid = { validations: [{ expression: 'true' }] }
  it.each<readonly [string, readonly (readonly [string, string])[]]>([
    [
      'must compile',
      [
        ['a', 'object.'],
        ['b', 'unknown'],
        ['c', "1 + 'a'"],
      ],
    ],
    [
      'sees earlier variables',
      [
        ['a', '1'],
        ['b', "variables.a + 'x'"],
        ['c', 'variables.d'],
      ],
    ],
    ['does not see itself', [['a', 'variables.a']]],
    [
      'is undefined if it is invalid',
      [
        ['a', 'unknown'],
        ['b', 'variables.a + 1'],
      ],
    ],
    [
      'requires a name and an expression',
      [
        ['', '1'],
        [' ', '1'],
        ['a', ''],
        ['b', ' '],
      ],
    ],
    [
      'has a CEL identifier as name',
      [
        ['a-b', '1'],
        ['1a', '1'],
        ['in', '1'],
        ['true', '1'],
        ['namespace', '1'],
        ['for', '1'],
        ['_a', '1'],
        ['self', '1'],
      ],
    ],
    [
      'may be redefined',
      [
        ['a', '1'],
        ['a', "'x'"],
        ['b', 'variables.a + 1'],
        ['c', "variables.a + 'y'"],
      ],
    ],
    [
      'has neither parameters nor its own scope',
      [
        ['a', 'params'],
        ['b', 'authorizer'],
        ['c', 'namespaceObject'],
      ],
    ],
    [
      'may be of any type',
      [
        ['a', 'object'],
        ['b', 'request'],
        ['c', 'variables'],
      ],
    ],
  ])('%s', async (_name, given) => {
    const variables = given.map(([name, expression]) => ({ name, expression }))
    expect([
      await validating({ variables, ...valid }),
      await validating({ variables, ...valid, paramKind }),
    ]).toMatchSnapshot()
  })
})

describe('a message', () => {
  it('is a string without an authorizer', async () => {
    const messages = [
      "'a' + object.metadata.name",
      'object.metadata.name',
      '1',
      'null',
      "'a",
      ' ',
      'string(object.a)',
      'string(params.data.a)',
      "authorizer.requestResource.check('get').reason()",
      'string(request.userInfo.username)',
      'namespaceObject.metadata.name',
      'variables.a',
      'variables.b',
      "'%s'.format([variables.a])",
      "true ? 'a' : object.a",
    ]
    const spec = {
      variables: [{ name: 'a', expression: "'x'" }],
      validations: messages.map((messageExpression) => ({ expression: 'true', messageExpression })),
    }
    expect([await validating(spec), await validating({ ...spec, paramKind })]).toMatchSnapshot()
  })
})

describe('an annotation', () => {
  it('is a string or null', async () => {
    const values = [
      "'a'",
      'null',
      '1',
      'object.a',
      "object.a ? 'a' : null",
      "object.a == 1 ? 'a' : 'b'",
      "  'a' + ",
      'string(params.a)',
      "authorizer.requestResource.check('get').reason()",
      '',
      ' ',
      'variables.a',
    ]
    const spec = {
      variables: [{ name: 'a', expression: "'x'" }],
      auditAnnotations: values.map((valueExpression, index) => ({ key: `key-${index}`, valueExpression })),
    }
    expect([await validating(spec), await validating({ ...spec, paramKind })]).toMatchSnapshot()
  })
})

const conditions = [
  'true',
  'object.a',
  "object.metadata.name == 'a'",
  "request.userInfo.username == 'a'",
  'request.operation == 1',
  "authorizer.requestResource.check('get').allowed()",
  'params.a == 1',
  'variables.a == 1',
  "namespaceObject.metadata.name == 'a'",
  "'a'",
  'object.',
  '{1: 1, 1: 2}.size() == 1',
].map((expression, index) => ({ name: `c${index}`, expression }))

describe('a match condition', () => {
  const variables = [{ name: 'a', expression: '1' }]
  it('of a validating policy', async () => {
    const spec = { variables, matchConditions: conditions, validations: [{ expression: 'true' }] }
    expect([await validating(spec), await validating({ ...spec, paramKind })]).toMatchSnapshot()
  })

  it('of a mutating policy', async () => {
    const mutations = [{ patchType: 'JSONPatch', jsonPatch: { expression: '[]' } }]
    const spec = { variables, matchConditions: conditions, mutations }
    expect([await mutating(spec), await mutating({ ...spec, paramKind })]).toMatchSnapshot()
  })

  it.each(['validating', 'mutating'])('of a %s webhook', async (kind) => {
    const webhook = {
      name: 'hook.example.com',
      clientConfig: { url: 'https://127.0.0.1:1/x' },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      matchConditions: conditions,
    }
    expect(await refused(`${kind}webhookconfigurations`, { webhooks: [webhook] })).toMatchSnapshot()
  })
})

describe('a mutation', () => {
  const apply = (expression: string): object => ({
    patchType: 'ApplyConfiguration',
    applyConfiguration: { expression },
  })
  const patch = (expression: string): object => ({ patchType: 'JSONPatch', jsonPatch: { expression } })

  it('returns an object, or a list of patches', async () => {
    const mutations = [
      apply('Object{}'),
      apply("Object{metadata: Object.metadata{labels: {'a': 'b'}}}"),
      apply('Object{spec: Object.spec{replicas: 1}}'),
      apply('Object{spec: Object.other{replicas: 1}}'),
      apply('has(object.a) ? Object{} : Object{spec: Object.spec{a: object.a}}'),
      apply('object'),
      apply('{}'),
      apply("{'metadata': {}}"),
      apply('1'),
      apply('Object{'),
      apply('Object.spec{a: 1}'),
      apply('unknown'),
      apply('Object{spec: variables.spec}'),
      apply('Object{metadata: Object.metadata{name: params.name}}'),
      patch('[]'),
      patch('[JSONPatch{op: "add", path: "/a", value: 1}]'),
      patch('[JSONPatch{op: "add", path: "/a", value: Object.spec{a: 1}}]'),
      patch('[JSONPatch{op: 1, path: "/a"}]'),
      patch('[JSONPatch{unknown: 1}]'),
      patch('JSONPatch{op: "remove", path: "/a"}'),
      patch('[1]'),
      patch('[object.a]'),
      patch('object.a'),
      patch('object.items.map(x, JSONPatch{op: "remove", path: "/" + jsonpatch.escapeKey(x)})'),
      patch('object.a ? [JSONPatch{op: "remove", path: "/a"}] : []'),
      patch('[JSONPatch{op: "test", path: "/a", value: variables.b}]'),
      patch('[JSONPatch{op: "move", from: "/a", path: "/b"}, JSONPatch{op: "copy", from: object.x, path: "/b"}]'),
      patch(''),
      patch('['),
    ]
    const variables = [{ name: 'spec', expression: 'object.spec' }]
    expect([await mutating({ mutations, variables }), await mutating({ mutations, paramKind })]).toMatchSnapshot()
  })
})
