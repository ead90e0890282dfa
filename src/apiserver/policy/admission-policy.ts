/**
 * ValidatingAdmissionPolicy and MutatingAdmissionPolicy, and their bindings: defaults and validation. Their expressions
 * must compile.
 */
import type { UntypedObject } from '../../kube/object.ts'
import type {
  AuditAnnotation,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicySpec,
  Mutation,
  ParamKind,
  ParamRef,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicySpec,
  Validation,
  Variable,
} from '../../kube/types/admissionregistration/v1.ts'
import { reservedWords } from '../../kube/cel/value/escape.ts'
import { boolType, nullType, objectTypeOf, stringType } from '../../kube/cel/value/type.ts'
import { compileExpression, compileMutation, type ExpressionScope } from './expression.ts'
import { type CommonExpressions, compileCommon } from './policy.ts'
import { structForm } from '../codec/struct-form.ts'
import {
  checkConditions,
  checkRuleExpression,
  checkMatchResources,
  defaultMatchResources,
  expressionProblems,
  failurePolicies,
  reinvocationPolicies,
} from './admission-rule.ts'
import { draftOf, fillAbsent, finished, ensurePart, part } from '../kinds/strategy/draft.ts'
import type { KindRules } from '../kinds/strategy/kind-rules.ts'
import { checkLabelSelector } from '../kinds/values/label-selector.ts'
import {
  dns1035Label,
  dnsSubdomain,
  pathSegment,
  qualifiedNameProblems,
} from '../../kube/validation/name-validation.ts'
import {
  duplicate,
  eachInvalid,
  forbiddenField,
  invalidField,
  unsupportedField,
  type Problems,
  requiredField,
  unsupported,
} from '../../kube/validation/field-error.ts'
import type { SentObject } from '../kinds/strategy/sent.ts'
import { repeatedValues, repetitions } from '../../kube/validation/repetition.ts'

function defaults(object: UntypedObject): UntypedObject {
  const draft = draftOf(object)
  const spec = ensurePart(draft, 'spec')
  fillAbsent(spec, { failurePolicy: 'Fail' })
  defaultMatchResources(part(spec, 'matchConstraints'))
  return finished(draft)
}

type AnySpec = SentObject<ValidatingAdmissionPolicySpec> & SentObject<MutatingAdmissionPolicySpec>

/** Validation that both kinds of policy share. */
function* checkCommon(
  spec: AnySpec,
  { variables: compiled }: CommonExpressions,
  writes: boolean,
): Iterable<Problems[number]> {
  yield* unsupportedField('spec.failurePolicy', spec.failurePolicy, failurePolicies)
  if (spec.paramKind) yield* checkParamKind(spec.paramKind, 'spec.paramKind')
  const { matchConstraints: match } = spec
  if (match) {
    yield* checkMatchResources(match, 'spec.matchConstraints')
    if ((match.resourceRules ?? []).length === 0) yield requiredField('spec.matchConstraints.resourceRules')
    if (writes) yield* checkWritten(match.resourceRules ?? [], 'spec.matchConstraints.resourceRules.operations')
  } else yield requiredField('spec.matchConstraints')
  yield* checkConditions(spec.matchConditions ?? [], 'spec.matchConditions', Boolean(spec.paramKind))
  for (const [index, variable] of (spec.variables ?? []).entries()) {
    yield* checkVariable(variable, compiled.get(variable.name ?? '')?.problem ?? '', `spec.variables[${index}]`)
  }
}

/** Mutating policies may match only operations that write an object. */
function* checkWritten(
  rules: readonly { readonly operations?: readonly string[] }[],
  field: string,
): Iterable<Problems[number]> {
  const written = ['CREATE', 'UPDATE']
  for (const operation of rules.flatMap(({ operations = [] }) => operations)) {
    if (!written.includes(operation)) yield unsupported(field, operation, written)
  }
}

function* checkParamKind(
  { apiVersion = '', kind = '' }: SentObject<ParamKind>,
  at: string,
): Iterable<Problems[number]> {
  const field = `${at}.apiVersion`
  const parts = apiVersion.split('/')
  const version = parts.at(-1)!
  if (apiVersion === '') yield requiredField(field)
  else if (parts.length > 2) yield invalidField(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)
  else {
    const group = parts.length === 2 ? parts[0]! : ''
    const wrong = group === '' ? [] : dnsSubdomain(group)
    if (wrong.length > 0) yield invalidField(field, group, wrong.join(','))
    if (version === '') yield invalidField(field, apiVersion, 'version must be specified')
    else if (dns1035Label(version).length > 0) yield invalidField(field, version, dns1035Label(version).join(','))
  }
  const messages = dns1035Label(kind.toLowerCase())
  if (kind === '') yield requiredField(`${at}.kind`)
  else if (messages.length > 0) {
    yield invalidField(`${at}.kind`, kind, `may have mixed case, but should otherwise match: ${messages.join(',')}`)
  }
}

/** Compiles the variables of a policy, and the scope of the expressions that may refer to them. */
function compiledOf({ paramKind, variables = [] }: AnySpec): CommonExpressions {
  return compileCommon({
    ...(paramKind && { paramKind: paramKind }),
    variables: variables.map(({ name = '', expression = '' }) => ({ name, expression })),
  })
}

function* checkVariable(
  { name = '', expression = '' }: SentObject<Variable>,
  problem: string,
  at: string,
): Iterable<Problems[number]> {
  if (name.trim() === '') yield requiredField(`${at}.name`, 'name is not specified')
  else if (!/^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) || reservedWords.has(name)) {
    yield invalidField(`${at}.name`, name, 'must be a valid CEL identifier')
  }
  if (expression.trim() === '') yield requiredField(`${at}.expression`, 'expression is not specified')
  else yield* expressionProblems(`${at}.expression`, expression, problem)
}

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']

function* checkValidation(
  validation: SentObject<Validation>,
  scope: ExpressionScope,
  at: string,
): Iterable<Problems[number]> {
  const { expression = '', messageExpression = '', message = '', reason } = validation
  const blank = 'must be non-empty if specified'
  if (expression.trim() === '') yield requiredField(`${at}.expression`, 'expression is not specified')
  else yield* checkRuleExpression(expression, scope, [boolType], `${at}.expression`)
  if (messageExpression !== '' && messageExpression.trim() === '') {
    yield invalidField(`${at}.messageExpression`, messageExpression, blank)
  } else if (messageExpression !== '') {
    const own = { ...scope, hasAuthorizer: false }
    yield* checkRuleExpression(messageExpression, own, [stringType], `${at}.messageExpression`)
  }
  if (message !== '' && message.trim() === '') yield invalidField(`${at}.message`, message, blank)
  else if (/[\n\r]/.test(message.trim())) yield invalidField(`${at}.message`, message, 'must not contain line breaks')
  if (reason !== undefined && !reasons.includes(reason)) yield unsupported(`${at}.reason`, reason, reasons)
}

const longestValue = 5120
const maxAnnotations = 20

function* checkAnnotations(
  annotations: readonly SentObject<AuditAnnotation>[],
  scope: ExpressionScope,
  policy: string,
): Iterable<Problems[number]> {
  const at = 'spec.auditAnnotations'
  if (annotations.length > maxAnnotations) {
    const shown = annotations.map(({ key: Key, valueExpression: ValueExpression }) => ({ Key, ValueExpression }))
    yield invalidField(at, shown, `must not have more than ${maxAnnotations} auditAnnotations`)
  }
  const repeated = repetitions(annotations, ({ key }) => key)
  for (const [index, { key, valueExpression = '' }] of annotations.entries()) {
    const whole = `${policy}/${key}`
    yield* eachInvalid(`${at}[${index}].key`, whole, qualifiedNameProblems(whole))
    const value = valueExpression.trim()
    if (value === '') yield requiredField(`${at}[${index}].valueExpression`, 'valueExpression is not specified')
    else if (Buffer.byteLength(value) > longestValue) {
      yield requiredField(`${at}[${index}].valueExpression`, `must not exceed ${longestValue} bytes in length`)
    } else {
      const { problem } = compileExpression(value, scope, [stringType, nullType])
      yield* expressionProblems(`${at}[${index}].valueExpression`, valueExpression, problem)
    }
    if (repeated.has(index)) yield duplicate(`${at}[${index}].key`, key)
  }
}

function* checkValidating(object: UntypedObject): Iterable<Problems[number]> {
  const { spec = {} } = object as unknown as SentObject<ValidatingAdmissionPolicy>
  const { validations = [], auditAnnotations = [] } = spec
  const common = compiledOf(spec)
  yield* checkCommon(spec, common, false)
  if (validations.length + auditAnnotations.length === 0) {
    const why = 'validations or auditAnnotations must contain at least one item'
    yield* [requiredField('spec.validations', why), requiredField('spec.auditAnnotations', why)]
  }
  const { scope } = common
  for (const [index, validation] of validations.entries()) {
    yield* checkValidation(validation, scope, `spec.validations[${index}]`)
  }
  yield* checkAnnotations(auditAnnotations, scope, object.metadata.name ?? '')
}

export const validatingAdmissionPolicyRules: KindRules = {
  defaults,
  prepareCreate: structForm,
  validateCreate: (object) => [...checkValidating(object)],
  validateUpdate: (object) => [...checkValidating(object)],
}

/** By patch type, the member that holds the expression. */
const patches = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const

function* checkMutation(
  mutation: SentObject<Mutation>,
  scope: ExpressionScope,
  at: string,
): Iterable<Problems[number]> {
  const { patchType: type = '' } = mutation
  if (type !== 'ApplyConfiguration' && type !== 'JSONPatch') {
    yield* unsupportedField(`${at}.patchType`, type, Object.keys(patches))
    return
  }
  const member = patches[type]
  const other = type === 'JSONPatch' ? patches.ApplyConfiguration : patches.JSONPatch
  const own = mutation[member]
  if (!own) yield requiredField(`${at}.${member}`, `must be specified when patchType is ${type}`)
  else if ((own.expression ?? '').trim() === '') yield requiredField(`${at}.${member}.expression`)
  else {
    const { text, problem } = compileMutation({ ...mutation, patchType: type }, scope)
    yield* expressionProblems(`${at}.${member}.expression`, text, problem)
  }
  if (mutation[other])
    yield invalidField(`${at}.${other}`, `{${other}}`, `must not be specified when patchType is ${type}`)
}

function* checkMutating(object: UntypedObject): Iterable<Problems[number]> {
  const { spec = {} } = object as unknown as SentObject<MutatingAdmissionPolicy>
  const { mutations = [], reinvocationPolicy } = spec
  const common = compiledOf(spec)
  yield* checkCommon(spec, common, true)
  if (mutations.length === 0) yield requiredField('spec.mutations', 'mutations must contain at least one item')
  // Unlike validations, mutations may refer to `variables` even if the policy declares none.
  const scope = { variables: objectTypeOf('kubernetes.variables', {}), ...common.scope }
  for (const [index, mutation] of mutations.entries()) yield* checkMutation(mutation, scope, `spec.mutations[${index}]`)
  yield* unsupportedField('spec.reinvocationPolicy', reinvocationPolicy, reinvocationPolicies)
}

export const mutatingAdmissionPolicyRules: KindRules = {
  defaults,
  prepareCreate: structForm,
  validateCreate: (object) => [...checkMutating(object)],
  validateUpdate: (object) => [...checkMutating(object)],
}

const actions = ['Audit', 'Deny', 'Warn']

function* checkActions(own: readonly string[], field: string): Iterable<Problems[number]> {
  const repeated = repeatedValues(own)
  for (const [index, action] of own.entries()) {
    if (!actions.includes(action)) yield unsupported(`${field}[${index}]`, action, actions)
    if (repeated.has(index)) yield duplicate(`${field}[${index}]`, action)
  }
  if (own.includes('Deny') && own.includes('Warn')) {
    const why = 'repeating the same validation failure information in the API response and headers serves no purpose'
    yield invalidField(field, own, `must not contain both Deny and Warn (${why})`)
  }
}

function* checkParamRef(
  { name, selector, parameterNotFoundAction: action }: SentObject<ParamRef>,
  at: string,
): Iterable<Problems[number]> {
  const either = 'name and selector are mutually exclusive'
  if (name) yield* eachInvalid(`${at}.name`, name, pathSegment(name))
  if (name && selector) yield forbiddenField(`${at}.name`, either)
  yield* checkLabelSelector(selector, `${at}.selector`)
  if (name && selector) yield forbiddenField(`${at}.selector`, either)
  if (!name && !selector) yield requiredField(at, 'one of name or selector must be specified')
  yield* unsupportedField(`${at}.parameterNotFoundAction`, action, ['Deny', 'Allow'])
}

function bindingRules(acts: boolean): KindRules {
  function* check(object: UntypedObject): Iterable<Problems[number]> {
    const {
      policyName = '',
      paramRef,
      matchResources,
      validationActions = [],
    } = (object as unknown as SentObject<ValidatingAdmissionPolicyBinding>).spec ?? {}
    const missing = policyName === '' ? [requiredField('spec.policyName')] : []
    // The real server's declarative validation reports this error last.
    if (acts) yield* policyName === '' ? [] : eachInvalid('spec.policyName', policyName, dnsSubdomain(policyName))
    else yield* policyName === '' ? missing : eachInvalid('spec.policyName', policyName, dnsSubdomain(policyName))
    if (paramRef) yield* checkParamRef(paramRef, 'spec.paramRef')
    if (matchResources) yield* checkMatchResources(matchResources, 'spec.matchResources')
    if (!acts) {
      yield* checkWritten(matchResources?.resourceRules ?? [], 'spec.matchResources.resourceRules.operations')
      return
    }
    yield* checkActions(validationActions, 'spec.validationActions')
    yield* missing
    if (validationActions.length === 0) yield requiredField('spec.validationActions')
  }
  return {
    defaults(object) {
      const draft = draftOf(object)
      defaultMatchResources(part(ensurePart(draft, 'spec'), 'matchResources'))
      return finished(draft)
    },
    validateCreate: (object) => [...check(object)],
    validateUpdate: (object) => [...check(object)],
  }
}

export const validatingAdmissionPolicyBindingRules: KindRules = bindingRules(true)
export const mutatingAdmissionPolicyBindingRules: KindRules = bindingRules(false)
