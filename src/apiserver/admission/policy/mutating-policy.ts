/**
 * MutatingAdmissionPolicy: CEL expressions that yield a change of the written object, as an apply configuration or as a
 * JSON Patch.
 */
import { checkConforms } from '../../../kube/apply/conformance.ts'
import { mergeValues } from '../../../kube/apply/merge.ts'
import { type ApplyShape, shapeOf } from '../../../kube/apply/shape.ts'
import { CelRuntimeError } from '../../../kube/cel/value/error.ts'
import { jsonOfMade, patchObjectType } from '../../../kube/cel/library/patch.ts'
import type { CelValue } from '../../../kube/cel/value/value.ts'
import { kubeErrors } from '../../../kube/errors.ts'
import { isMusterError } from '../../../kube/muster-error.ts'
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../../kube/json.ts'
import { applyJsonPatch, parseJsonPatch } from '../../../kube/patch/json-patch.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import type { MutatingAdmissionPolicySpec } from '../../../kube/types/admissionregistration/v1.ts'
import type { ServedResource } from '../../catalog/catalog.ts'
import { pruneUnknownFields } from '../../codec/prune.ts'
import { checkDepth } from '../../codec/request-body.ts'
import { forbidden, StatusError } from '../../errors/status-error.ts'
import type { ClusterState } from '../../cluster/state.ts'
import type { StoredObject } from '../../storage/storage.ts'
import { withDefaults } from '../../write/writing.ts'
import { type AdmissionRequest, type MutatingRequest, shownName } from '../../cluster/admission.ts'
import {
  compileMutation,
  evaluate,
  type AdmissionExpression,
  meetsConditions,
  OutOfBudget,
} from '../../policy/expression.ts'
import { outsideView } from '../../policy/outside-view.ts'
import {
  type CommonExpressions,
  compileCommon,
  evaluationOf,
  type Found,
  type PolicyInvocation,
  invocationsFor,
  PolicyFault,
  type PolicyTables,
} from '../../policy/policy.ts'

const mutatingPolicyTables: PolicyTables = {
  policies: 'mutatingadmissionpolicies.admissionregistration.k8s.io',
  bindings: 'mutatingadmissionpolicybindings.admissionregistration.k8s.io',
}

interface Compiled extends CommonExpressions {
  readonly mutations: readonly { readonly isPatch: boolean; readonly expression: AdmissionExpression }[]
}

const known = new WeakMap<StoredObject, Compiled>()

function compiled(policy: StoredObject): Compiled {
  const found = known.get(policy)
  if (found) return found
  const spec = policy['spec'] as MutatingAdmissionPolicySpec
  const common = compileCommon(spec)
  const mutations = (spec.mutations ?? []).map((mutation) => ({
    isPatch: mutation.patchType === 'JSONPatch',
    expression: compileMutation(mutation, common.scope),
  }))
  const made = { ...common, mutations }
  known.set(policy, made)
  return made
}

/** State that the first round leaves for the reinvocation. */
interface Memory {
  readonly asked: Set<string>
  readonly due: Set<string>
  last: UntypedObject | undefined
}

const memoryKey = 'MutatingAdmissionPolicy'

export async function mutateByPolicies(state: ClusterState, request: MutatingRequest): Promise<UntypedObject> {
  const { rounds } = request
  const memory = (rounds.memory.get(memoryKey) ?? { asked: new Set(), due: new Set(), last: undefined }) as Memory
  rounds.memory.set(memoryKey, memory)
  const reinvoke = (): void => {
    for (const id of memory.asked) memory.due.add(id)
    memory.asked.clear()
  }
  let { object } = request
  if (rounds.isSecond && !isSame(memory.last, object)) reinvoke()
  const problems: { readonly found: Found; readonly message: string }[] = []
  for (const found of await invocationsFor(state, request, mutatingPolicyTables)) {
    if ('fault' in found) {
      problems.push({ found, message: found.fault })
      continue
    }
    for (const param of found.params) {
      const id = [found.policy, found.binding, param].map((one) => one?.metadata.uid ?? '').join('/')
      if (rounds.isSecond && !memory.due.has(id)) continue
      const { changed, faults } = await invoke(state, request, object, found, param)
      for (const message of faults) problems.push({ found, message })
      if (!isSame(changed, object)) {
        reinvoke()
        rounds.again()
      }
      object = changed
      const { reinvocationPolicy } = found.policy['spec'] as MutatingAdmissionPolicySpec
      if (reinvocationPolicy === 'IfNeeded') memory.asked.add(id)
    }
  }
  const fatal = problems.filter(
    ({ found }) => (found.policy['spec'] as MutatingAdmissionPolicySpec).failurePolicy !== 'Ignore',
  )
  if (fatal.length > 0) throw refusal(request, fatal)
  memory.last = object
  return object
}

function isSame(a: UntypedObject | undefined, b: UntypedObject): boolean {
  return a === b || equalJson((a ?? null) as unknown as Json, b as unknown as Json)
}

function refusal(
  request: AdmissionRequest,
  problems: readonly { readonly found: Found; readonly message: string }[],
): StatusError {
  const messages = problems.map(({ found: { policy, binding }, message }) =>
    binding
      ? `policy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request: ${message}`
      : `policy ${JSON.stringify(policy.metadata.name)} denied request: ${message}`,
  )
  const { details } = forbidden(request.served, shownName(request), '').status
  const reason = 'fault' in problems[0]!.found ? 'Forbidden' : 'Invalid'
  return new StatusError(403, reason, messages[0]!, { ...details, causes: messages.map((message) => ({ message })) })
}

interface Outcome {
  readonly changed: UntypedObject
  readonly faults: readonly string[]
}

/** The object after all mutations of one policy; a mutation that fails is skipped and reported as a fault. */
async function invoke(
  state: ClusterState,
  request: MutatingRequest,
  object: UntypedObject,
  { policy, view: first }: PolicyInvocation,
  param: StoredObject | null,
): Promise<Outcome> {
  const program = compiled(policy)
  const { served } = first
  let view = await outsideView({ ...request, object }, served)
  const met = meetsConditions(program.conditions, evaluationOf(state, view, param, program).values)
  if (met === false) return { changed: object, faults: [] }
  if (met !== true) return { changed: object, faults: [met.error] }
  let changed = object
  const faults: string[] = []
  for (const { isPatch, expression } of program.mutations) {
    try {
      const outcome = evaluate(expression, evaluationOf(state, view, param, program))
      if ('error' in outcome) throw new PolicyFault(outcome.error)
      const next = isPatch ? patched(view.object!, outcome.value) : merged(served, view.object!, outcome.value)
      const { object: kept } = pruneUnknownFields(next, served)
      changed = await view.back(withDefaults(served, kept as unknown as UntypedObject))
      view = await outsideView({ ...request, object: changed }, served)
    } catch (error) {
      const isFault = error instanceof PolicyFault || error instanceof OutOfBudget || error instanceof CelRuntimeError
      if (!isFault) throw error
      faults.push(error.message)
    }
  }
  return { changed, faults }
}

function patched(object: UntypedObject, made: CelValue): JsonObject {
  const document = object as unknown as JsonObject
  const operations = jsonOfMade(made) as readonly JsonObject[]
  try {
    const outcome = applyJsonPatch(document, parseJsonPatch(operations)) as JsonObject
    checkDepth(outcome)
    return outcome
  } catch (error) {
    if (error instanceof StatusError) throw new PolicyFault('JSON Patch: it makes an object that is nested too deep')
    // A failed `test` operation is a condition, not an error.
    if (isMusterError(error, kubeErrors.PatchTestFailed)) return document
    if (!isMusterError(error)) throw error
    throw new PolicyFault(`JSON Patch: ${error.message}`)
  }
}

function merged(served: ServedResource, object: UntypedObject, made: CelValue): JsonObject {
  const { apiVersion, kind } = object
  const configuration = { apiVersion, kind, ...(jsonOfMade(made, patchObjectType.name) as JsonObject) }
  const shape = shapeOf(served.schema, served.definitions)
  const failed = (why: string): PolicyFault => new PolicyFault(`error applying patch: ${why}`)
  try {
    checkConforms(configuration, shape)
  } catch (error) {
    if (!isMusterError(error, kubeErrors.SchemaMismatch)) throw error
    throw failed(`failed to convert patch object to typed object: ${error.message}`)
  }
  const atomics = [...atomicsIn(configuration, shape, '')]
  if (atomics.length > 0) {
    throw failed(`invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`)
  }
  return mergeValues(object as unknown as JsonObject, configuration, shape) as JsonObject
}

/** Paths of atomic lists and maps in an apply configuration: setting a part of one would silently remove the rest. */
function* atomicsIn(value: Json, { map, list }: ApplyShape, path: string): Iterable<string> {
  if (isJsonObject(value) && map) {
    if (map.atomic) yield path
    for (const [name, part] of Object.entries(value)) {
      if (map.declares(name)) yield* atomicsIn(part as Json, map.field(name) ?? {}, `${path}.${name}`)
    }
  }
  if (Array.isArray(value) && list) {
    if (list.atomic) yield path
    for (const [index, item] of (value as readonly Json[]).entries()) {
      yield* atomicsIn(item, list.item(), `${path}[${index}]`)
    }
  }
}
