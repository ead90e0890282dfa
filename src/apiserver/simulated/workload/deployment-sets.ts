/** The ReplicaSets of a Deployment: one for each version of its template, with ascending revisions. */
import { describeError } from '../../../kube/muster-error.ts'
import { equalJson } from '../../../kube/json.ts'
import { ownerReference } from '../../../kube/meta/owner.ts'
import { StatusError } from '../../errors/status-error.ts'
import type { Tools } from '../controller/controller.ts'
import {
  byAge,
  type DeploymentFacts,
  hasDeadline,
  hashLabel,
  isSameTemplate,
  readRevision,
  type ReplicaSet,
  revisionAnnotation,
  revisionOf,
  deploymentSize,
  surgeOf,
} from './deployment-facts.ts'
import { setDeploymentCondition } from './deployment-status.ts'
import { shiftOf, type Sizes } from './rollout.ts'
import { templateHash } from './template-hash.ts'

const historyAnnotation = 'deployment.kubernetes.io/revision-history'
/** Maximum length of the revision history annotation, in characters. */
const historyLength = 2000
export const desiredAnnotation = 'deployment.kubernetes.io/desired-replicas'
export const maximumAnnotation = 'deployment.kubernetes.io/max-replicas'
const notCopied = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maximumAnnotation,
  'deprecated.deployment.rollback.to',
])

/** The ReplicaSet of the current template; created if it does not exist and may be created. */
export async function currentReplicaSet(
  tools: Tools,
  deployment: DeploymentFacts,
  sets: readonly ReplicaSet[],
  mayCreate: boolean,
): Promise<ReplicaSet | undefined> {
  const { writer } = tools
  const known = byAge(sets).find((set) => isSameTemplate(set.spec.template, deployment.spec.template))
  const old = sets.filter((set) => set !== known)
  const newest = old.map(revisionOf).reduce((max, one) => (one > max ? one : max), 0n)
  const revision = BigInt.asIntN(64, newest + 1n)
  if (known) {
    const annotations = annotationsOf(deployment, known, revision)
    const { minReadySeconds: ready = 0 } = deployment.spec
    const isSame =
      equalJson(known.metadata.annotations ?? {}, annotations) && (known.spec.minReadySeconds ?? 0) === ready
    const { minReadySeconds: _ready, ...spec } = known.spec
    const present = isSame
      ? known
      : await writer.update('replicasets.apps', {
          ...known,
          metadata: { ...known.metadata, annotations },
          spec: { ...spec, ...(ready > 0 && { minReadySeconds: ready }) },
        })
    await noteRevision(tools, deployment, present, { reason: 'FoundNewReplicaSet', text: 'Found new replica set' })
    return present
  }
  return mayCreate ? await createSet(tools, deployment, sets, revision) : undefined
}

async function createSet(
  tools: Tools,
  deployment: DeploymentFacts,
  old: readonly ReplicaSet[],
  revision: bigint,
): Promise<ReplicaSet> {
  const { writer, record, cluster } = tools
  const { name, namespace = '' } = deployment.metadata
  const { template, selector } = deployment.spec
  const collisions = deployment.status?.collisionCount ?? 0
  const hash = templateHash(template, collisions)
  const labels = { ...template.metadata?.labels, [hashLabel]: hash }
  const sizes: Sizes = { desired: deployment.spec.replicas ?? 1, surge: surgeOf(deployment), unavailable: 0 }
  const replicas =
    deployment.spec.strategy?.type === 'Recreate'
      ? sizes.desired
      : shiftOf(sizes, { spec: 0, available: 0 }, old.map(deploymentSize)).present
  try {
    const made = await writer.create('replicasets.apps', {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name: `${name}-${hash}`,
        namespace,
        labels,
        annotations: annotationsOf(deployment, undefined, revision),
        ownerReferences: [ownerReference(deployment, { controller: true })],
      },
      spec: {
        replicas,
        ...(deployment.spec.minReadySeconds && { minReadySeconds: deployment.spec.minReadySeconds }),
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    })
    if (replicas > 0) {
      record(
        deployment,
        'Normal',
        'ScalingReplicaSet',
        `Scaled up replica set ${made.metadata.name} from 0 to ${replicas}`,
      )
    }
    await noteRevision(tools, deployment, made, { reason: 'NewReplicaSetCreated', text: 'Created new replica set' })
    return made
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    if (error.status.reason === 'AlreadyExists') {
      // A ReplicaSet of another owner has the name: the collision count changes the hash.
      const status = { ...deployment.status, collisionCount: collisions + 1 }
      await writer.updateStatus('deployments.apps', deployment, status)
    } else {
      const message = `Failed to create new replica set "${name}-${hash}": ${describeError(error)}`
      record(deployment, 'Warning', 'ReplicaSetCreateError', message)
      const failed = { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message } as const
      const conditions = setDeploymentCondition(deployment.status?.conditions ?? [], failed, cluster.now())
      await writer.updateStatus('deployments.apps', deployment, { ...deployment.status, conditions })
    }
    throw error
  }
}

/**
 * The annotations of a ReplicaSet that its Deployment controls. A set that is used again becomes the newest revision.
 */
function annotationsOf(
  deployment: DeploymentFacts,
  set: ReplicaSet | undefined,
  revision: bigint,
): Readonly<Record<string, string>> {
  const copied = Object.entries(deployment.metadata.annotations ?? {}).filter(([name]) => !notCopied.has(name))
  const before = set?.metadata.annotations ?? {}
  // A revision that is not a number was set by a user, and is kept.
  const isReadable = !before[revisionAnnotation] || readRevision(before[revisionAnnotation]) !== undefined
  const isNewer = !set || (isReadable && revisionOf(set) < revision)
  const past = historyOf(before)
  return {
    ...before,
    ...Object.fromEntries(copied),
    ...(isNewer && { [revisionAnnotation]: String(revision) }),
    ...(isNewer && past !== '' && { [historyAnnotation]: past }),
    ...sizeAnnotations(deployment),
  }
}

/** The former revisions of a set, oldest first. The oldest ones are dropped at the length limit. */
function historyOf(before: Readonly<Record<string, string>>): string {
  const last = before[revisionAnnotation]
  const earlier = before[historyAnnotation]?.split(',') ?? []
  if (!last) return earlier.join(',')
  while (earlier.length > 0 && [...earlier, last].join(',').length > historyLength) earlier.shift()
  return [...earlier, last].join(',')
}

function sizeAnnotations(deployment: DeploymentFacts): Readonly<Record<string, string>> {
  const { replicas = 1 } = deployment.spec
  return { [desiredAnnotation]: String(replicas), [maximumAnnotation]: String(replicas + surgeOf(deployment)) }
}

async function noteRevision(
  { writer, cluster }: Tools,
  deployment: DeploymentFacts,
  set: ReplicaSet,
  { reason, text }: { readonly reason: string; readonly text: string },
): Promise<void> {
  const { conditions = [] } = deployment.status ?? {}
  const isFirst = reason === 'NewReplicaSetCreated' || !conditions.some(({ type }) => type === 'Progressing')
  const message = `${text} "${set.metadata.name}"`
  const noted =
    hasDeadline(deployment) && isFirst
      ? setDeploymentCondition(conditions, { type: 'Progressing', status: 'True', reason, message }, cluster.now())
      : conditions
  const revision = set.metadata.annotations?.[revisionAnnotation] ?? ''
  const isKnown = deployment.metadata.annotations?.[revisionAnnotation] === revision
  if (isKnown && noted === conditions) return
  const annotations = { ...deployment.metadata.annotations, [revisionAnnotation]: revision }
  const status = { ...deployment.status, ...(noted.length > 0 && { conditions: noted }) }
  await writer.updateStatus(
    'deployments.apps',
    { ...deployment, metadata: { ...deployment.metadata, annotations } },
    status,
  )
}

export async function resize(
  { writer, record }: Tools,
  deployment: DeploymentFacts,
  set: ReplicaSet,
  replicas: number,
): Promise<void> {
  const before = set.spec.replicas ?? 1
  const annotations = { ...set.metadata.annotations, ...sizeAnnotations(deployment) }
  if (before === replicas && equalJson(set.metadata.annotations ?? {}, annotations)) return
  await writer.update('replicasets.apps', {
    ...set,
    metadata: { ...set.metadata, annotations },
    spec: { ...set.spec, replicas },
  })
  if (before === replicas) return
  const word = replicas > before ? 'up' : 'down'
  const message = `Scaled ${word} replica set ${set.metadata.name} from ${before} to ${replicas}`
  record(deployment, 'Normal', 'ScalingReplicaSet', message)
}
