/**
 * `authorizer.group('').resource('pods').check('create').allowed()`: authorization checks. The decision is made elsewhere: the
 * variable `authorizer` is created by {@link celAuthorizer} from a function that decides one check.
 */
import { checkDnsLabel, checkDnsSubdomain } from '../../meta/name.ts'
import { CelRuntimeError } from '../value/error.ts'
import { type CelFunction, fixedCost, functionNamed } from './function.ts'
import { type CelType, boolType, objectTypeNamed, stringType } from '../value/type.ts'
import { CelOpaque, type CelValue, codePoints } from '../value/value.ts'

export const authorizerType: CelType = objectTypeNamed('kubernetes.authorization.Authorizer')
const pathCheckType = objectTypeNamed('kubernetes.authorization.PathCheck')
const groupCheckType = objectTypeNamed('kubernetes.authorization.GroupCheck')
/** The type of the variable `authorizer.requestResource`. */
export const resourceCheckType: CelType = objectTypeNamed('kubernetes.authorization.ResourceCheck')
const decisionType = objectTypeNamed('kubernetes.authorization.Decision')

interface CelResourceAttributes {
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly fieldSelector: string
  readonly labelSelector: string
}

export interface CelAuthorizerQuestion {
  readonly verb: string
  /** Undefined: the user of the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
  /** One of the two. */
  readonly path?: string
  readonly resource?: CelResourceAttributes
}

interface CelAuthorizerDecision {
  readonly allowed: boolean
  readonly reason?: string
  readonly error?: string
}

export type CelAuthorizer = (question: CelAuthorizerQuestion) => CelAuthorizerDecision

interface Asker {
  readonly decide: CelAuthorizer
  readonly serviceAccount?: CelAuthorizerQuestion['serviceAccount']
}

interface PathCheck extends Asker {
  readonly path: string
}

interface GroupCheck extends Asker {
  readonly group: string
}

interface ResourceCheck extends Asker {
  readonly resource: CelResourceAttributes
}

/** The value of the variable `authorizer`. */
export function celAuthorizer(decide: CelAuthorizer): CelValue {
  return new CelOpaque(authorizerType, { decide } satisfies Asker)
}

/** The value of the variable `authorizer.requestResource`: the resource of the request. */
export function celRequestResource(decide: CelAuthorizer, resource: Partial<CelResourceAttributes>): CelValue {
  return new CelOpaque(resourceCheckType, { decide, resource: { ...noResource, ...resource } } satisfies ResourceCheck)
}

const noResource: CelResourceAttributes = {
  group: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  fieldSelector: '',
  labelSelector: '',
}

const read = (value: CelValue | undefined): unknown => (value as CelOpaque).content
const nominal = fixedCost(1)
/** The cost of a check: an expression can afford two. */
const checkCost = fixedCost(350_000)

const refine = (
  name: 'subresource' | 'namespace' | 'name' | 'fieldSelector' | 'labelSelector',
  id: string,
): CelFunction =>
  functionNamed(name, [
    {
      id,
      member: true,
      params: [resourceCheckType, stringType],
      result: resourceCheckType,
      call: ([value, text]) => {
        const check = read(value) as ResourceCheck
        return new CelOpaque(resourceCheckType, { ...check, resource: { ...check.resource, [name]: text as string } })
      },
      cost: name.endsWith('Selector') ? ([, text]) => selectorCost(text as string) : nominal,
    },
  ])

/** A list of requirements, in the worst case one per two characters, each a structure and a list. */
function selectorCost(text: string): number {
  const length = codePoints(text)
  return 10 + Math.ceil(length * 0.1) + Math.ceil(Math.ceil(length * 0.5) * 50)
}

const notEmpty = (text: string, what: string): string => {
  if (text.trim() === '') throw new CelRuntimeError(`${what} must not be empty`)
  return text
}

function answer(asker: Asker, question: Omit<CelAuthorizerQuestion, 'serviceAccount'>): CelValue {
  const { serviceAccount } = asker
  return new CelOpaque(decisionType, asker.decide(serviceAccount ? { ...question, serviceAccount } : question))
}

const ask = (
  name: string,
  id: string,
  result: CelType,
  get: (decision: CelAuthorizerDecision) => CelValue,
): CelFunction =>
  functionNamed(name, [
    {
      id,
      member: true,
      params: [decisionType],
      result,
      call: ([value]) => get(read(value) as CelAuthorizerDecision),
      cost: nominal,
    },
  ])

export const authorizerFunctions: readonly CelFunction[] = [
  functionNamed('path', [
    {
      id: 'authorizer_path',
      member: true,
      params: [authorizerType, stringType],
      result: pathCheckType,
      call: ([value, text]) =>
        new CelOpaque(pathCheckType, { ...(read(value) as Asker), path: notEmpty(text as string, 'path') }),
      cost: nominal,
    },
  ]),
  functionNamed('group', [
    {
      id: 'authorizer_group',
      member: true,
      params: [authorizerType, stringType],
      result: groupCheckType,
      call: ([value, text]) => new CelOpaque(groupCheckType, { ...(read(value) as Asker), group: text as string }),
      cost: nominal,
    },
  ]),
  functionNamed('serviceAccount', [
    {
      id: 'authorizer_serviceaccount',
      member: true,
      params: [authorizerType, stringType, stringType],
      result: authorizerType,
      call: ([value, namespace, name]) => {
        if (checkDnsSubdomain(name as string).length > 0) throw new CelRuntimeError('Invalid service account name')
        if (checkDnsLabel(namespace as string).length > 0)
          throw new CelRuntimeError('Invalid service account namespace')
        const serviceAccount = { namespace: namespace as string, name: name as string }
        return new CelOpaque(authorizerType, { decide: (read(value) as Asker).decide, serviceAccount } satisfies Asker)
      },
      cost: nominal,
    },
  ]),
  functionNamed('resource', [
    {
      id: 'groupcheck_resource',
      member: true,
      params: [groupCheckType, stringType],
      result: resourceCheckType,
      call: ([value, text]) => {
        const { group, ...asker } = read(value) as GroupCheck
        const resource = { ...noResource, group, resource: notEmpty(text as string, 'resource') }
        return new CelOpaque(resourceCheckType, { ...asker, resource } satisfies ResourceCheck)
      },
      cost: nominal,
    },
  ]),
  refine('subresource', 'resourcecheck_subresource'),
  refine('namespace', 'resourcecheck_namespace'),
  refine('name', 'resourcecheck_name'),
  refine('fieldSelector', 'authorizer_fieldselector'),
  refine('labelSelector', 'authorizer_labelselector'),
  functionNamed('check', [
    {
      id: 'pathcheck_check',
      member: true,
      params: [pathCheckType, stringType],
      result: decisionType,
      call: ([value, verb]) =>
        answer(read(value) as Asker, { verb: verb as string, path: (read(value) as PathCheck).path }),
      cost: checkCost,
    },
    {
      id: 'resourcecheck_check',
      member: true,
      params: [resourceCheckType, stringType],
      result: decisionType,
      call: ([value, verb]) =>
        answer(read(value) as Asker, { verb: verb as string, resource: (read(value) as ResourceCheck).resource }),
      cost: checkCost,
    },
  ]),
  ask('allowed', 'decision_allowed', boolType, ({ allowed }) => allowed),
  ask('reason', 'decision_reason', stringType, ({ reason }) => reason ?? ''),
  ask('errored', 'decision_errored', boolType, ({ error }) => error !== undefined),
  ask('error', 'decision_error', stringType, ({ error }) => error ?? ''),
]
