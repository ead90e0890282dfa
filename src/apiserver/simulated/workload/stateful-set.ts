/**
 * The StatefulSet controller: pods with an identity. Each has an ordinal, a name and volumes, and keeps them when it is
 * replaced. Pods are created in order and deleted in reverse, unless the policy is Parallel.
 */
import type { StatefulSetStatus } from '../../../kube/types/apps/v1.ts'
import type { PodTemplateSpec, Volume } from '../../../kube/types/core/v1.ts'
import { isOvertaken } from '../controller/object-writer.ts'
import { splitKey, type StoredIn, type StoredPod } from '../controller/cluster.ts'
import { claim, type SimulatedController, ownerOrAdopters, selectorOf, type Tools } from '../controller/controller.ts'
import {
  isAvailable,
  isFinished,
  isPodReady,
  isPodTerminating,
  podOf,
  untilAvailable,
} from '../controller/pod-facts.ts'
import { omitZero } from './replica-set.ts'
import {
  forgetRevisions,
  revisionName,
  type TemplateRevision,
  revisionLabel,
  syncRevisions,
  templateOf,
} from './revision.ts'

type StatefulSet = StoredIn<'statefulsets.apps'>

export function statefulSetController(tools: Tools): SimulatedController {
  const { cluster, writer } = tools
  return {
    own: { 'statefulsets.apps': ({ metadata }) => [`${metadata.namespace}/${metadata.name}`] },
    others: { pods: ownerOrAdopters(cluster, 'StatefulSet', 'statefulsets.apps') },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const set = cluster.get('statefulsets.apps', namespace, name)
      if (!set || set.metadata.deletionTimestamp) return undefined
      await claim(tools, 'pods', set, selectorOf(set))
      const revisions = await syncRevisions(tools, set)
      const update = revisions.at(-1)!
      const current = revisions.find((one) => revisionName(one) === set.status?.currentRevision) ?? update
      await syncPods(tools, set, current, update)
      const live = cluster.get('statefulsets.apps', namespace, name)
      if (!live) return undefined
      const pods = cluster.controlled('pods', live)
      await writer.updateStatus('statefulsets.apps', live, statusOf(live, pods, current, update, cluster.now()))
      const used = new Set([revisionName(current), revisionName(update), ...pods.map(revisionOf)])
      await forgetRevisions(tools, live, revisions, used)
      return untilAvailable(pods, live.spec?.minReadySeconds, cluster.now())
    },
  }
}

function revisionOf({ metadata }: StoredPod): string {
  return metadata.labels?.[revisionLabel] ?? ''
}

function ordinalOf(set: StatefulSet, { metadata }: StoredPod): number {
  const [, number] = /^(.*)-(\d+)$/.exec(metadata.name)?.slice(1) ?? []
  return metadata.name === `${set.metadata.name}-${number}` ? Number(number) : -1
}

/** One step towards the spec; the resulting change triggers the next one. */
async function syncPods(
  tools: Tools,
  set: StatefulSet,
  current: TemplateRevision,
  update: TemplateRevision,
): Promise<void> {
  const { cluster, writer, record } = tools
  const { replicas = 1, minReadySeconds, podManagementPolicy, ordinals } = set.spec
  const first = ordinals?.start ?? 0
  const isOrdered = podManagementPolicy !== 'Parallel'
  const pods = new Map(cluster.controlled('pods', set).map((pod) => [ordinalOf(set, pod), pod]))
  const isPodAvailable = (pod: StoredPod | undefined): boolean =>
    pod !== undefined && !isPodTerminating(pod) && isAvailable(pod, minReadySeconds, cluster.now())

  for (let ordinal = first; ordinal < first + replicas; ordinal++) {
    let pod = pods.get(ordinal)
    if (pod && isFinished(pod)) {
      // A finished pod is deleted, so that its replacement can be created.
      await writer.remove('pods', pod)
      pod = cluster.get('pods', pod.metadata.namespace, pod.metadata.name)
    }
    if (!pod) {
      await create(tools, set, ordinal, isCurrent(set, ordinal, first) ? current : update)
      if (isOrdered) return
    } else if (isOrdered && !isPodAvailable(pod)) return
  }
  const isInRange = (ordinal: number): boolean => ordinal >= first && ordinal < first + replicas
  const condemned = [...pods].filter(([ordinal]) => !isInRange(ordinal)).toSorted(([a], [b]) => b - a)
  for (const [, pod] of condemned) {
    if (!isPodTerminating(pod)) {
      await writer.remove('pods', pod)
      record(
        set,
        'Normal',
        'SuccessfulDelete',
        `delete Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} successful`,
      )
    }
    if (isOrdered) return
  }
  if (set.spec?.updateStrategy?.type === 'OnDelete') return
  const { partition = 0, maxUnavailable } = set.spec?.updateStrategy?.rollingUpdate ?? {}
  let allowed = typeof maxUnavailable === 'number' ? maxUnavailable : 1
  for (let ordinal = first + replicas - 1; ordinal >= first + partition; ordinal--) {
    const pod = pods.get(ordinal)
    if (pod && revisionOf(pod) !== revisionName(update) && !isPodTerminating(pod)) {
      await writer.remove('pods', pod)
      record(
        set,
        'Normal',
        'SuccessfulDelete',
        `delete Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} successful`,
      )
      allowed--
    } else if (!isPodAvailable(pod)) allowed--
    if (allowed <= 0) return
  }
}

/** Whether a pod still uses the old template during a rollout. */
function isCurrent({ spec, status }: StatefulSet, ordinal: number, first: number): boolean {
  const rolling = spec?.updateStrategy?.rollingUpdate
  if (!rolling) return ordinal < first + (status?.currentReplicas ?? 0)
  return ordinal < first + (rolling.partition ?? 0)
}

async function create(tools: Tools, set: StatefulSet, ordinal: number, revision: TemplateRevision): Promise<void> {
  const { writer, record } = tools
  const name = `${set.metadata.name}-${ordinal}`
  await createClaims(tools, set, name)
  const template = templateOf(revision)
  const claims = (set.spec?.volumeClaimTemplates ?? []).map(({ metadata }): Volume => ({
    name: metadata.name!,
    persistentVolumeClaim: { claimName: `${metadata.name}-${name}` },
  }))
  const named = new Set(claims.map((volume) => volume.name))
  const volumes = [...(template.spec?.volumes ?? []).filter((volume) => !named.has(volume.name)), ...claims]
  const { serviceName } = set.spec
  const identified: PodTemplateSpec = {
    ...template,
    spec: {
      ...template.spec!,
      ...(volumes.length > 0 && { volumes }),
      hostname: name,
      ...(serviceName && { subdomain: serviceName }),
    },
  }
  const { generateName: _prefix, ...metadata } = podOf(set, identified).metadata
  const pod = { ...podOf(set, identified), metadata }
  await writer.create('pods', {
    ...pod,
    metadata: {
      ...metadata,
      name,
      labels: {
        ...metadata.labels,
        'apps.kubernetes.io/pod-index': String(ordinal),
        [revisionLabel]: revisionName(revision),
        'statefulset.kubernetes.io/pod-name': name,
      },
    },
  })
  record(set, 'Normal', 'SuccessfulCreate', `create Pod ${name} in StatefulSet ${set.metadata.name} successful`)
}

async function createClaims({ cluster, writer }: Tools, set: StatefulSet, pod: string): Promise<void> {
  const { namespace = '' } = set.metadata
  for (const template of set.spec?.volumeClaimTemplates ?? []) {
    const name = `${template.metadata.name}-${pod}`
    if (cluster.get('persistentvolumeclaims', namespace, name)) continue
    const { labels, annotations } = template.metadata
    const metadata = {
      name,
      namespace,
      labels: { ...labels, ...set.spec?.selector.matchLabels },
      ...(annotations && { annotations }),
    }
    try {
      const { spec } = template
      await writer.create('persistentvolumeclaims', {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata,
        ...(spec && { spec }),
      })
    } catch (error) {
      if (!isOvertaken(error)) throw error
    }
  }
}

function statusOf(
  set: StatefulSet,
  pods: readonly StoredPod[],
  current: TemplateRevision,
  update: TemplateRevision,
  now: number,
): StatefulSetStatus {
  const { replicas = 1, minReadySeconds } = set.spec
  const created = pods.filter((pod) => !isFinished(pod))
  const ready = created.filter((pod) => isPodReady(pod))
  const of = (revision: TemplateRevision): number =>
    created.filter((pod) => revisionOf(pod) === revisionName(revision) && !isPodTerminating(pod)).length
  const isComplete = of(update) === replicas && created.length === replicas && ready.length === replicas
  const isRolling = set.spec?.updateStrategy?.type !== 'OnDelete'
  const settled = isComplete && isRolling ? update : current
  return {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: created.length,
    ...omitZero('readyReplicas', ready.length),
    availableReplicas: ready.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
    ...omitZero('currentReplicas', of(settled)),
    ...omitZero('updatedReplicas', of(update)),
    currentRevision: revisionName(settled),
    updateRevision: revisionName(update),
    collisionCount: set.status?.collisionCount ?? 0,
    ...(set.status?.conditions && { conditions: set.status.conditions }),
  }
}
