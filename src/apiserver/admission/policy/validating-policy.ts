/**
 * ValidatingAdmissionPolicy: CEL expressions that must hold for a write. The actions of the binding say whether a
 * violation is rejected, warned about or audited; the failure policy says whether an evaluation error is a violation.
 */
import { boolType, nullType, stringType } from '../../../kube/cel/value/type.ts'
import type {
  ValidatingAdmissionPolicyBindingSpec,
  ValidatingAdmissionPolicySpec,
  Validation,
} from '../../../kube/types/admissionregistration/v1.ts'
import { forbidden, StatusError } from '../../errors/status-error.ts'
import type { ClusterState } from '../../cluster/state.ts'
import type { StoredObject } from '../../storage/storage.ts'
import type { AdmissionRequest } from '../../cluster/admission.ts'
import {
  compileExpression,
  evaluate,
  type Evaluation,
  type AdmissionExpression,
  meetsConditions,
  OutOfBudget,
} from '../../policy/expression.ts'
import {
  type CommonExpressions,
  compileCommon,
  evaluationOf,
  type Found,
  type PolicyInvocation,
  invocationsFor,
  type PolicyTables,
} from '../../policy/policy.ts'

const validatingPolicyTables: PolicyTables = {
  policies: 'validatingadmissionpolicies.admissionregistration.k8s.io',
  bindings: 'validatingadmissionpolicybindings.admissionregistration.k8s.io',
}

interface CompiledValidation {
  readonly validation: Validation
  readonly expression: AdmissionExpression
  readonly message: AdmissionExpression | undefined
}

interface Compiled extends CommonExpressions {
  readonly validations: readonly CompiledValidation[]
  readonly annotations: readonly AdmissionExpression[]
}

/** Why a write is rejected; the default reason is Invalid. */
interface Denial {
  readonly message: string
  readonly reason?: string | undefined
}

const known = new WeakMap<StoredObject, Compiled>()

function compiled(policy: StoredObject): Compiled {
  const found = known.get(policy)
  if (found) return found
  const spec = policy['spec'] as ValidatingAdmissionPolicySpec
  const common = compileCommon(spec)
  const { scope } = common
  const made: Compiled = {
    ...common,
    validations: (spec.validations ?? []).map((validation) => ({
      validation,
      expression: compileExpression(validation.expression, scope, [boolType]),
      message: validation.messageExpression
        ? compileExpression(validation.messageExpression, { ...scope, hasAuthorizer: false }, [stringType])
        : undefined,
    })),
    annotations: (spec.auditAnnotations ?? []).map(({ valueExpression }) =>
      compileExpression(valueExpression, scope, [stringType, nullType]),
    ),
  }
  known.set(policy, made)
  return made
}

/** Throws a Refusal with the message of the first denial. */
export async function checkPolicies(state: ClusterState, request: AdmissionRequest): Promise<void> {
  const denials: { readonly found: Found; readonly denial: Denial }[] = []
  for (const found of await invocationsFor(state, request, validatingPolicyTables)) {
    const spec = found.policy['spec'] as ValidatingAdmissionPolicySpec
    if ('fault' in found) {
      if (spec.failurePolicy !== 'Ignore') denials.push({ found, denial: { message: found.fault } })
      continue
    }
    const { validationActions } = found.binding['spec'] as ValidatingAdmissionPolicyBindingSpec
    for (const denial of found.params.flatMap((param) => denialsOf(state, found, param))) {
      if (validationActions.includes('Deny')) denials.push({ found, denial })
      if (validationActions.includes('Warn')) {
        const { policy, binding } = found
        request.warn(
          `Validation failed for ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}': ${denial.message}`,
        )
      }
    }
  }
  const first = denials[0]
  if (first) throw refusal(request, first.found, first.denial)
}

const codes: ReadonlyMap<string, number> = new Map([
  ['Forbidden', 403],
  ['Unauthorized', 401],
  ['RequestEntityTooLarge', 413],
])

function refusal({ served, name }: AdmissionRequest, { policy, binding }: Found, denial: Denial): StatusError {
  const bound = binding ? ` with binding '${binding.metadata.name}'` : ''
  const message = `ValidatingAdmissionPolicy '${policy.metadata.name}'${bound} denied request: ${denial.message}`
  const { status } = forbidden(served, name, message, [{ message }])
  const reason = denial.reason || 'Invalid'
  return new StatusError(codes.get(reason) ?? 422, reason, status.message ?? message, status.details)
}

/** The denials of one policy for the write, with one set of parameters. */
function denialsOf(
  state: ClusterState,
  { policy, view }: PolicyInvocation,
  param: StoredObject | null,
): readonly Denial[] {
  const program = compiled(policy)
  const { failurePolicy } = policy['spec'] as ValidatingAdmissionPolicySpec
  const failed = (message: string): readonly Denial[] => (failurePolicy === 'Ignore' ? [] : [{ message }])
  const evaluation = evaluationOf(state, view, param, program)
  const met = meetsConditions(program.conditions, evaluation.values)
  if (met === false) return []
  if (met !== true) return failed(met.error)
  try {
    const denials = program.validations.flatMap((one) => denialOf(one, evaluation, failed))
    const annotated = program.annotations.flatMap((one) => {
      const outcome = evaluate(one, evaluation)
      return 'error' in outcome ? failed(outcome.error) : []
    })
    return [...denials, ...annotated]
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error
    return failed(error.message)
  }
}

function denialOf(
  { validation, expression, message }: CompiledValidation,
  evaluation: Evaluation,
  failed: (message: string) => readonly Denial[],
): readonly Denial[] {
  const outcome = evaluate(expression, evaluation)
  if ('error' in outcome) return failed(outcome.error)
  if (outcome.value === true) return []
  const text =
    messageOf(message, evaluation) ||
    (validation.message ?? '').trim() ||
    `failed expression: ${validation.expression.trim()}`
  return [{ message: text, reason: validation.reason }]
}

/** The longest message that a policy may return, in bytes. */
const longestMessage = 5 * 1024

function messageOf(expression: AdmissionExpression | undefined, evaluation: Evaluation): string {
  if (!expression) return ''
  const outcome = evaluate(expression, evaluation)
  if ('error' in outcome || typeof outcome.value !== 'string') return ''
  const text = outcome.value.trim()
  return Buffer.byteLength(text) > longestMessage || text.includes('\n') ? '' : text
}
