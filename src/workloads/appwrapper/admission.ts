/**
 * Admission of AppWrappers: users wrap only what they may create themselves, in the namespace of the AppWrapper, and what is
 * wrapped never changes.
 */
import { equalJson, type Json, type JsonObject } from '../../kube/json.ts'
import { asJson, asObject } from '../../kube/json-object.ts'
import { kindOf, type Resource } from '../../kube/kind.ts'
import { Pod } from '../../kube/kinds.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { type Cause, forbiddenValue, invalidValue, requiredValue } from '../../kube/validation/cause.ts'
import { conformityProblem } from '../../operator/dependent/conformity.ts'
import { typingOf } from '../../operator/dependent/desired.ts'
import { finalizerName } from '../../operator/reconcile/finalizers.ts'
import { type Admission, defineWebhook, type Webhook } from '../../operator/kind/webhook.ts'
import { workloadsName } from '../configuration/workloads-config.ts'
import { inferPodSets, type PodSet, podSetsOf, podTemplateIn } from '../core/pods/pod-sets.ts'
import { queueNameLabel } from '../quota/kueue-kinds.ts'
import { AppWrapper, type AppWrapperComponent, type AppWrapperObject, isAppWrapper } from './appwrapper.ts'
import { userIdLabel, userLabel } from './labels.ts'
import { malformation } from './wrapped-pods.ts'

interface AdmissionRules {
  /** The queue of AppWrappers that name none; empty: none. */
  readonly defaultQueueName: string
  /** Users wrap only what they may create themselves. */
  readonly checksAccess: boolean
}

/** As many as the queue judges together. */
const mostPodSets = 8

export function appWrapperWebhook(rules: AdmissionRules): Webhook {
  return defineWebhook({
    for: AppWrapper,
    name: 'appwrappers',
    operations: ['CREATE', 'UPDATE'],
    access: rules.checksAccess,
    mutate: (admission) => (admission.operation === 'CREATE' ? withDefaults(admission, rules) : undefined),
    async validate(admission) {
      const { object, old } = admission
      return old ? changeProblems(object, old) : await creationProblems(admission, rules)
    },
  })
}

function withDefaults(
  { object, user }: Admission<AppWrapperObject>,
  { defaultQueueName }: AdmissionRules,
): AppWrapperObject {
  const { metadata } = object
  const finalizer = finalizerName(AppWrapper, workloadsName)
  const finalizers = metadata.finalizers ?? []
  const queue = defaultQueueName === '' ? {} : { [queueNameLabel]: defaultQueueName }
  return {
    ...object,
    metadata: {
      ...metadata,
      labels: {
        ...queue,
        ...metadata.labels,
        [userLabel]: userLabelValue(user.username),
        [userIdLabel]: userLabelValue(user.uid),
      },
      finalizers: finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer],
    },
  }
}

/** The name of a user as the value of a label. */
export function userLabelValue(text: string): string {
  const value = text.slice(0, 63).replaceAll(/[^A-Za-z0-9_.-]/g, '_')
  let [start, end] = [0, value.length]
  const isEdge = (at: number): boolean => '-_.'.includes(value[at]!)
  while (start < end && isEdge(start)) start++
  while (end > start && isEdge(end - 1)) end--
  return value.slice(start, end)
}

async function creationProblems(
  admission: Admission<AppWrapperObject>,
  rules: AdmissionRules,
): Promise<readonly Cause[]> {
  const { spec } = admission.object
  const isLenient = spec.lifeCycle === 'Requeue'
  const causes: Cause[] = []
  let podSets = 0
  for (const [index, component] of (spec.components ?? []).entries()) {
    const field = `spec.components[${index}]`
    const problem = malformation(component)
    if (problem !== undefined) {
      // As MCAD does, what cannot be created fails when it is dispatched.
      if (!isLenient) causes.push(requiredValue(`${field}.template`, problem))
      continue
    }
    const template = asObject(component.template!)
    if (isAppWrapper(template))
      causes.push(forbiddenValue(`${field}.template`, 'an AppWrapper cannot wrap another one'))
    const { namespace } = template.metadata
    if (namespace !== undefined && namespace !== '' && namespace !== admission.namespace) {
      const detail = 'must be the namespace of the AppWrapper'
      causes.push(invalidValue(`${field}.template.metadata.namespace`, namespace, detail))
    }
    const denied = await accessProblem(admission, rules, template, field)
    if (denied) causes.push(denied)
    if (isLenient) continue
    const judged = podSetProblems(component, template, field)
    causes.push(...judged.causes)
    podSets += judged.count
  }
  if (!isLenient && causes.length === 0 && (podSets < 1 || podSets > mostPodSets)) {
    causes.push(invalidValue('spec.components', podSets, `must have 1 to ${mostPodSets} pod sets in total`))
  }
  return causes
}

async function accessProblem(
  { namespace, user, may, resourceOf }: Admission<AppWrapperObject>,
  { checksAccess }: AdmissionRules,
  template: UntypedObject,
  field: string,
): Promise<Cause | undefined> {
  if (!checksAccess) return undefined
  const kind = kindOf(template)
  // A kind that is not served may be so later: the user has to have the right to create any.
  const resource: Resource = (await resourceOf(kind)) ?? { ...kind, plural: '*', namespaced: true }
  if (await may({ verb: 'create', kind: resource, namespace })) return undefined
  const detail = `User ${user.username} is not authorized to create ${resource.plural} in ${namespace ?? ''}`
  return forbiddenValue(`${field}.template`, detail)
}

/** Declared pod sets have to be those that the object has, and each of them leads to a pod. */
function podSetProblems(
  { podSets: declared = [] }: AppWrapperComponent,
  template: UntypedObject,
  field: string,
): { readonly causes: readonly Cause[]; readonly count: number } {
  const at = `${field}.podSets`
  let all: readonly PodSet[]
  let inferred: readonly PodSet[] | undefined
  try {
    all = podSetsOf(template, declared)
    inferred = inferPodSets(template)
  } catch (error) {
    return { causes: [invalidValue(at, undefined, messageOf(error))], count: 0 }
  }
  const causes: Cause[] = []
  const paths = all.map(({ path }) => path)
  const twice = paths.find((path, index) => paths.indexOf(path) < index)
  if (twice !== undefined) causes.push(invalidValue(at, twice, 'is declared twice'))
  if (declared.length > 0 && inferred && !isSamePodSets(all, inferred)) {
    const known = inferred.map(({ path, replicas }) => `${path} (${replicas})`).join(', ')
    causes.push(invalidValue(at, declared.length, `${template.kind} has these pod sets: ${known}`))
  }
  // More are refused anyway.
  for (const podSet of all.slice(0, mostPodSets)) {
    const problem = podProblem(template, podSet)
    if (problem !== undefined) causes.push(invalidValue(at, podSet.path, problem))
  }
  return { causes, count: all.length }
}

function isSamePodSets(a: readonly PodSet[], b: readonly PodSet[]): boolean {
  if (a.length !== b.length) return false
  const replicas = new Map(b.map((podSet) => [podSet.path, podSet.replicas]))
  return a.every((podSet) => replicas.get(podSet.path) === podSet.replicas)
}

function podProblem(template: UntypedObject, podSet: PodSet): string | undefined {
  let spec: Json | undefined
  try {
    spec = podTemplateIn(template, podSet)['spec']
  } catch (error) {
    return messageOf(error)
  }
  return conformityProblem({ apiVersion: 'v1', kind: 'Pod', spec: spec ?? null }, Pod, typingOf(Pod))
}

function changeProblems({ spec, metadata }: AppWrapperObject, old: AppWrapperObject): readonly Cause[] {
  // What is being deleted may be changed so that it can go.
  if (metadata.deletionTimestamp !== undefined) return []
  const causes: Cause[] = []
  const [now, before] = [spec.components ?? [], old.spec.components ?? []]
  if (now.length !== before.length) causes.push(forbiddenValue('spec.components', 'their number is immutable'))
  else {
    for (const [index, component] of now.entries()) {
      const field = `spec.components[${index}]`
      for (const name of immutableFields) {
        if (!equalJson(asJson(component)[name], asJson(before[index]!)[name]))
          causes.push(forbiddenValue(`${field}.${name}`, 'is immutable'))
      }
      if (!equalJson(podSetsShown(component), podSetsShown(before[index]!)))
        causes.push(forbiddenValue(`${field}.podSets`, 'paths and replicas are immutable'))
    }
  }
  for (const name of ['managedBy', 'lifeCycle'] as const)
    if (spec[name] !== old.spec[name]) causes.push(forbiddenValue(`spec.${name}`, 'is immutable'))
  for (const label of [userLabel, userIdLabel]) {
    if (metadata.labels?.[label] !== old.metadata.labels?.[label])
      causes.push(forbiddenValue(`metadata.labels[${label}]`, 'is immutable'))
  }
  return causes
}

const immutableFields = ['template', 'pods', 'completionStatus'] as const

function podSetsShown({ podSets = [] }: AppWrapperComponent): readonly JsonObject[] {
  return podSets.map(({ path, replicas = 1 }) => ({ path, replicas }))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
