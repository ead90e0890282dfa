import { describe, expect, it } from 'vitest'
import type { Json } from '../json.ts'
import { celAuthorizer, celRequestResource, authorizerType, resourceCheckType } from './library/authorizer.ts'
import type { CelAuthorizerQuestion } from './library/authorizer.ts'
import { type CelBudget, type CelVariables, compileCel } from './compile.ts'
import { celTypeOfSchema } from './check/environment.ts'
import { CelCompileError, CelCostError, CelRuntimeError } from './value/error.ts'
import { type CelType, dynType, intType, objectTypeOf, optionalOf, stringType } from './value/type.ts'
import { CelOptional, type CelValue, optionalNone } from './value/value.ts'

const run = (
  text: string,
  types: Readonly<Record<string, CelType>> = {},
  values: CelVariables = {},
  budget?: CelBudget,
): CelValue => compileCel(text, { variables: types }).evaluate(values, budget)

describe('a compiled expression', () => {
  it('reports its variables and its type', () => {
    const program = compileCel('self + 1 > oldSelf', { variables: { self: intType, oldSelf: intType, other: intType } })
    expect([...program.references]).toEqual(['self', 'oldSelf'])
    expect(program.resultType.kind).toBe('bool')
  })

  it('is rejected with every error, its location and its line', () => {
    const issues = [
      "ERROR: <input>:1:1: undeclared reference to 'x' (in container '')\n | x ==\n | ^",
      "ERROR: <input>:2:3: undeclared reference to 'y' (in container '')\n |   y.z\n | ..^",
    ]
    expect(() => compileCel('x ==\n  y.z', { variables: {} })).toThrow(new CelCompileError(issues))
  })

  it('takes its variables from an object or a Map, and fails when one is missing', () => {
    expect(run('x + 1', { x: intType }, { x: 1 })).toBe(2)
    expect(run('x + 1', { x: intType }, new Map([['x', 1]]))).toBe(2)
    expect(() => run('x + 1', { x: intType }, {})).toThrow('no such attribute(s): x')
    expect(() => run('constructor', { constructor: stringType }, {})).toThrow(CelRuntimeError)
  })

  it('takes optional variables as values', () => {
    const types = { oldSelf: optionalOf(stringType) }
    expect(run('oldSelf.hasValue()', types, { oldSelf: optionalNone })).toBe(false)
    expect(run('oldSelf.value()', types, { oldSelf: new CelOptional('a') })).toBe('a')
  })

  it('can be evaluated repeatedly, including nested loops', () => {
    const program = compileCel('xs.map(x, xs.filter(y, y < x).map(y, x * 10 + y))', { variables: { xs: dynType } })
    const show = (): string => JSON.stringify(flat(program.evaluate({ xs: [1, 2, 3] })))
    expect(show()).toBe('[[],[21],[31,32]]')
    expect(show()).toBe(show())
  })
})

function flat(value: CelValue): unknown {
  return typeof value === 'object' && value !== null && Symbol.iterator in value
    ? Array.from(value as Iterable<CelValue>, flat)
    : value
}

describe('data without a schema', () => {
  const object: Json = {
    metadata: { name: 'a', labels: { 'x/y': 'z' } },
    spec: { replicas: 3, ratio: 1.5, big: 9_007_199_254_740_993n, items: [1, 'two', null] },
    ['__proto__']: 'own',
  }
  const ask = (text: string): CelValue => run(text, { object: dynType }, { object })

  it('is used unchanged', () => {
    expect(ask('object.spec.replicas + 1')).toBe(4)
    expect(ask('type(object.spec.ratio) == double')).toBe(true)
    expect(ask('object.spec.big == 9007199254740993')).toBe(true)
    expect(ask("object.metadata.labels['x/y']")).toBe('z')
    expect(ask("object.spec.items[1] == 'two' && object.spec.items[2] == null")).toBe(true)
    expect(ask('has(object.spec.nope) || object.?spec.?nope.hasValue()')).toBe(false)
    expect(() => ask('object.spec.nope')).toThrow('no such key: nope')
  })

  it('has its own keys, and none of JavaScript', () => {
    expect(ask('has(object.constructor) || has(object.spec.toString)')).toBe(false)
    expect(ask("'hasOwnProperty' in object")).toBe(false)
  })

  it('is unequal to values of another type', () => {
    expect(ask('object.spec.items == 1')).toBe(false)
    expect(ask('object.spec == object.metadata')).toBe(false)
    expect(ask("object.spec.items == [dyn(1), dyn('two'), dyn(null)]")).toBe(true)
  })
})

describe('data with a schema', () => {
  const self = celTypeOfSchema({ type: 'object', properties: { count: { type: 'integer' } } }, { isRoot: true })!

  it('contains the root fields of every object', () => {
    const object = { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a', uid: 'u' }, count: 1 }
    expect(run("self.kind == 'Thing' && self.metadata.name == 'a'", { self }, { self: object })).toBe(true)
    expect(() => run('self.metadata.uid', { self }, { self: object })).toThrow("undefined field 'uid'")
  })

  it('fails where it does not match the schema', () => {
    expect(() => run('self.count', { self }, { self: { count: 'x' } })).toThrow(
      'invalid data, expected int, got string',
    )
  })

  it('is not accessible where the schema does not describe it', () => {
    expect(celTypeOfSchema({ 'x-kubernetes-preserve-unknown-fields': true })).toBeUndefined()
    expect(celTypeOfSchema({ type: 'array', items: { 'x-kubernetes-preserve-unknown-fields': true } })).toBeUndefined()
  })

  it('follows references', () => {
    const definitions = {
      Part: { type: 'object', properties: { next: { $ref: '#/definitions/Part' }, leaf: { type: 'string' } } },
    } as const
    const type = celTypeOfSchema({ $ref: '#/definitions/Part' }, { definitions })!
    expect(run('self.next.next.leaf', { self: type }, { self: { next: { next: { leaf: 'end' } } } })).toBe('end')
  })
})

describe('an object type', () => {
  it('declares variables without a schema', () => {
    const request = objectTypeOf('kubernetes.AdmissionRequest', { operation: stringType, dryRun: dynType })
    expect(run("request.operation == 'CREATE'", { request }, { request: { operation: 'CREATE' } })).toBe(true)
    expect(() => run('request.nope', { request })).toThrow("undefined field 'nope'")
  })
})

describe('the authorizer', () => {
  const asked: CelAuthorizerQuestion[] = []
  const authorizer = celAuthorizer((question) => {
    asked.push(question)
    return { allowed: question.verb === 'get', reason: `for ${question.verb}` }
  })
  const ask = (text: string): CelValue => run(text, { authorizer: authorizerType }, { authorizer })

  it('checks resources, paths and service accounts', () => {
    expect(
      ask(
        "authorizer.group('apps').resource('deployments').subresource('scale').namespace('n').name('d').check('get').allowed()",
      ),
    ).toBe(true)
    expect(asked.pop()).toEqual({
      verb: 'get',
      resource: {
        group: 'apps',
        resource: 'deployments',
        subresource: 'scale',
        namespace: 'n',
        name: 'd',
        fieldSelector: '',
        labelSelector: '',
      },
    })
    expect(ask("authorizer.serviceAccount('ns', 'sa').path('/healthz').check('post').allowed()")).toBe(false)
    expect(asked.pop()).toEqual({ verb: 'post', path: '/healthz', serviceAccount: { namespace: 'ns', name: 'sa' } })
    expect(ask("authorizer.path('/a').check('get').reason()")).toBe('for get')
    expect(ask("authorizer.path('/a').check('get').errored()")).toBe(false)
  })

  it('rejects checks without a resource or path', () => {
    expect(() => ask("authorizer.group('').resource(' ').check('get').allowed()")).toThrow('resource must not be empty')
    expect(() => ask("authorizer.serviceAccount('ns', 'A B').path('/').check('get').allowed()")).toThrow(
      'Invalid service account name',
    )
  })

  it('knows the resource of the request', () => {
    const resource = celRequestResource(({ resource: about }) => ({ allowed: about?.name === 'x' }), {
      resource: 'pods',
      name: 'x',
    })
    const types = { 'authorizer.requestResource': resourceCheckType }
    expect(
      run("authorizer.requestResource.check('get').allowed()", types, { 'authorizer.requestResource': resource }),
    ).toBe(true)
  })

  it('may be called twice, not three times', () => {
    const check = "authorizer.path('/a').check('get').allowed()"
    expect(ask(`${check} && ${check}`)).toBe(true)
    expect(() => ask(`${check} && ${check} && ${check}`)).toThrow(CelCostError)
  })
})

describe('cost', () => {
  it('is subtracted from the budget', () => {
    const budget = { remaining: 1000 }
    run('x + 1 < 5', { x: intType }, { x: 1 }, budget)
    expect(budget.remaining).toBe(997)
  })

  it('ends an evaluation at its limit, even if the expression handles errors', () => {
    const budget = { remaining: 10_000_000 }
    const many = 'lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))'
    expect(() => run(`${many} || true`, {}, {}, budget)).toThrow('operation cancelled: actual cost limit exceeded')
    expect(budget.remaining).toBeLessThan(9_000_001)
  })
})
