/**
 * The pods that a wrapped object leads to: which pod templates it has, and how many pods each of them. Known kinds say it
 * themselves; for other kinds it is declared.
 */
import { isJsonObject, type Json, type JsonObject } from '../../../kube/json.ts'
import { asJson } from '../../../kube/json-object.ts'
import { isJsonArray, ownMember } from '../../../kube/json-member.ts'
import { kindOf } from '../../../kube/kind.ts'
import { MusterError } from '../../../kube/muster-error.ts'
import type { UntypedObject } from '../../../kube/object.ts'
import { workloadErrors } from '../../errors.ts'
import { parsePodPath, type PodPath, podTemplateAt } from './pod-path.ts'

export interface PodSet {
  /** As it is declared: `template.spec.template`. */
  readonly path: string
  readonly replicas: number
}

/** A declared pod set: the number of replicas has a default. */
export interface DeclaredPodSet {
  readonly path: string
  readonly replicas?: number | undefined
}

/** More pods than any cluster has; a larger number is a mistake, and would make sums inexact. */
const mostReplicas = 10_000_000

/**
 * The pod sets of an object of a known kind; undefined for other kinds.
 * @throws InvalidPodSets
 */
export function inferPodSets(object: UntypedObject): readonly PodSet[] | undefined {
  const { group, kind } = kindOf(object)
  const infer = rules.get(`${group}/${kind}`)
  return infer?.(asJson(object))
}

/**
 * The pod sets of a component: those that are declared, otherwise those of its kind. `isLenient`: an object of an unknown kind
 * that has `spec.template` with containers counts as `spec.replicas` of them.
 * @throws InvalidPodSets
 */
export function podSetsOf(
  object: UntypedObject,
  declared: readonly DeclaredPodSet[] | undefined,
  isLenient = false,
): readonly PodSet[] {
  if (declared && declared.length > 0) {
    return declared.map(({ path, replicas }) => ({ path, replicas: countOf(replicas, 1, 'podSets.replicas') }))
  }
  return inferPodSets(object) ?? (isLenient ? commonPodSets(asJson(object)) : [])
}

/**
 * The pod template of a pod set: an object with a `spec`.
 * @throws InvalidPodSets
 */
export function podTemplateIn(object: UntypedObject, { path }: Pick<PodSet, 'path'>): JsonObject {
  const pod = podTemplateAt(asJson(object), podPathOf(path))
  if (pod && isJsonObject(ownMember(pod, 'spec'))) return pod
  throw invalid(`${object.kind} has no pod template at ${path}.`)
}

/** @throws InvalidPodSets */
export function podPathOf(path: string): PodPath {
  const parsed = parsePodPath(path)
  if (parsed) return parsed
  throw invalid(`"${path}" is no path to a pod template: it begins with "template", then .MEMBER or [INDEX].`)
}

type Infer = (object: JsonObject) => readonly PodSet[]

const ofTemplate: Infer = (object) => [
  { path: 'template.spec.template', replicas: countAt(object, ['spec', 'replicas'], 1) },
]

const rules: ReadonlyMap<string, Infer> = new Map<string, Infer>([
  ['/Pod', () => [{ path: 'template', replicas: 1 }]],
  ['apps/Deployment', ofTemplate],
  ['apps/StatefulSet', ofTemplate],
  ['batch/Job', (job) => [{ path: 'template.spec.template', replicas: podsOfJob(job) }]],
  [
    'jobset.x-k8s.io/JobSet',
    (object) =>
      itemsAt(object, ['spec', 'replicatedJobs']).map((job, index) => ({
        path: `template.spec.replicatedJobs[${index}].template.spec.template`,
        replicas: bounded(
          countAt(job, ['replicas'], 1) * podsOfJob(memberAt(job, ['template'])),
          `spec.replicatedJobs[${index}]`,
        ),
      })),
  ],
  [
    'kubeflow.org/PyTorchJob',
    (object) =>
      ['Master', 'Worker'].flatMap((role) => {
        const replica = memberAt(object, ['spec', 'pytorchReplicaSpecs', role])
        if (!isJsonObject(replica)) return []
        const path = `template.spec.pytorchReplicaSpecs.${role}.template`
        return [{ path, replicas: countAt(replica, ['replicas'], 1) }]
      }),
  ],
  ['ray.io/RayCluster', (object) => rayPodSets(memberAt(object, ['spec']), 'template.spec')],
  [
    'ray.io/RayJob',
    (object) => rayPodSets(memberAt(object, ['spec', 'rayClusterSpec']), 'template.spec.rayClusterSpec'),
  ],
])

function rayPodSets(cluster: Json | undefined, path: string): readonly PodSet[] {
  const head = memberAt(cluster, ['headGroupSpec'])
  const workers = itemsAt(cluster, ['workerGroupSpecs']).map((group, index) => ({
    path: `${path}.workerGroupSpecs[${index}].template`,
    replicas: bounded(
      countAt(group, ['replicas'], 1) * countAt(group, ['numOfHosts'], 1),
      `${path}.workerGroupSpecs[${index}]`,
    ),
  }))
  return [...(isJsonObject(head) ? [{ path: `${path}.headGroupSpec.template`, replicas: 1 }] : []), ...workers]
}

/** At one time: no more than there are completions. */
function podsOfJob(job: Json | undefined): number {
  const parallelism = countAt(job, ['spec', 'parallelism'], 1)
  return Math.min(parallelism, countAt(job, ['spec', 'completions'], parallelism))
}

function commonPodSets(object: JsonObject): readonly PodSet[] {
  const containers = memberAt(object, ['spec', 'template', 'spec', 'containers'])
  return isJsonArray(containers) ? ofTemplate(object) : []
}

function memberAt(value: Json | undefined, path: readonly string[]): Json | undefined {
  let found = value
  for (const name of path) found = isJsonObject(found) ? ownMember(found, name) : undefined
  return found
}

function itemsAt(value: Json | undefined, path: readonly string[]): readonly Json[] {
  const found = memberAt(value, path)
  return isJsonArray(found) ? found : []
}

function countAt(value: Json | undefined, path: readonly string[], otherwise: number): number {
  return countOf(memberAt(value, path), otherwise, path.join('.'))
}

function countOf(value: Json | undefined, otherwise: number, place: string): number {
  if (value === undefined || value === null) return otherwise
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw invalid(`${place} is not a number of pods.`)
  return bounded(value, place)
}

function bounded(count: number, place: string): number {
  if (count <= mostReplicas) return count
  throw invalid(`${place}: ${count} pods are more than the ${mostReplicas} that are possible.`)
}

function invalid(message: string): MusterError {
  return new MusterError(workloadErrors.InvalidPodSets, message)
}
