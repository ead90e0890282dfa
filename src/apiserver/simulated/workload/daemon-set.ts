/** The DaemonSet controller: one pod on every matching node. */
import type { DaemonSetStatus } from '../../../kube/types/apps/v1.ts'
import type { NodeSelectorTerm, PodSpec, Toleration } from '../../../kube/types/core/v1.ts'
import { splitKey, type StoredIn, type StoredPod } from '../controller/cluster.ts'
import { claim, type SimulatedController, ownerOrAdopters, selectorOf, type Tools } from '../controller/controller.ts'
import { isTolerated, matchesNode } from '../../../kube/scheduling/node-match.ts'
import {
  isAvailable,
  isFinished,
  isPodReady,
  isPodTerminating,
  podOf,
  untilAvailable,
} from '../controller/pod-facts.ts'
import { omitZero } from './replica-set.ts'
import { forgetRevisions, revisionHash, revisionName, revisionLabel, syncRevisions } from './revision.ts'
import { shareOf } from '../controller/share.ts'

type DaemonSet = StoredIn<'daemonsets.apps'>
type Node = StoredIn<'nodes'>

const daemonTolerations: readonly Toleration[] = [
  ['not-ready', 'NoExecute'],
  ['unreachable', 'NoExecute'],
  ['disk-pressure', 'NoSchedule'],
  ['memory-pressure', 'NoSchedule'],
  ['pid-pressure', 'NoSchedule'],
  ['unschedulable', 'NoSchedule'],
].map(([name, effect]) => ({ key: `node.kubernetes.io/${name}`, operator: 'Exists', effect: effect! }))
const networkToleration: Toleration = {
  key: 'node.kubernetes.io/network-unavailable',
  operator: 'Exists',
  effect: 'NoSchedule',
}

export function daemonSetController(tools: Tools): SimulatedController {
  const { cluster, writer } = tools
  return {
    own: { 'daemonsets.apps': ({ metadata }) => [`${metadata.namespace}/${metadata.name}`] },
    others: {
      pods: ownerOrAdopters(cluster, 'DaemonSet', 'daemonsets.apps'),
      nodes: () => cluster.list('daemonsets.apps').map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const set = cluster.get('daemonsets.apps', namespace, name)
      if (!set || set.metadata.deletionTimestamp) return undefined
      await claim(tools, 'pods', set, selectorOf(set))
      const revisions = await syncRevisions(tools, set)
      const hash = revisionHash(revisions.at(-1)!)
      const placed = byNode(cluster.controlled('pods', set))
      await syncPods(tools, set, placed, hash)
      const live = cluster.get('daemonsets.apps', namespace, name)
      if (!live) return undefined
      const now = byNode(cluster.controlled('pods', live))
      await writer.updateStatus(
        'daemonsets.apps',
        live,
        statusOf(live, cluster.list('nodes'), now, hash, cluster.now()),
      )
      const hashes = new Set([...now.values()].flat().map(({ metadata }) => metadata.labels?.[revisionLabel]))
      const used = new Set(
        revisions.filter((one) => hashes.has(revisionHash(one)) || revisionHash(one) === hash).map(revisionName),
      )
      await forgetRevisions(tools, live, revisions, used)
      return untilAvailable([...now.values()].flat(), live.spec?.minReadySeconds, cluster.now())
    },
  }
}

/** The node that a pod of a DaemonSet is intended for, even before it is bound. */
function targetOf({ spec }: StoredPod): string {
  if (spec?.nodeName) return spec.nodeName
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  return terms[0]?.matchFields?.find(({ key }) => key === 'metadata.name')?.values?.[0] ?? ''
}

function byNode(pods: readonly StoredPod[]): ReadonlyMap<string, readonly StoredPod[]> {
  return Map.groupBy(pods, targetOf)
}

function specFor(set: DaemonSet): PodSpec {
  const { template } = set.spec
  const tolerations = [...daemonTolerations, ...(template.spec?.hostNetwork ? [networkToleration] : [])]
  return { ...template.spec!, tolerations: [...(template.spec?.tolerations ?? []), ...tolerations] }
}

/** Whether a pod should run on this node, and whether a running one may stay. */
function placementOf(spec: PodSpec, node: Node): { readonly shouldRun: boolean; readonly mayStay: boolean } {
  const isMatch = matchesNode({ spec }, node)
  const toleratesTaints = (effects: readonly string[]): boolean =>
    (node.spec?.taints ?? []).every((taint) => !effects.includes(taint.effect) || isTolerated(taint, spec.tolerations))
  return {
    shouldRun: isMatch && toleratesTaints(['NoSchedule', 'NoExecute']),
    mayStay: isMatch && toleratesTaints(['NoExecute']),
  }
}

async function syncPods(
  tools: Tools,
  set: DaemonSet,
  placed: ReadonlyMap<string, readonly StoredPod[]>,
  hash: string,
): Promise<void> {
  const { cluster, writer, record } = tools
  const spec = specFor(set)
  const nodes = cluster.list('nodes')
  const remove = async (pod: StoredPod): Promise<void> => {
    await writer.remove('pods', pod)
    record(set, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`)
  }
  for (const node of nodes) {
    const { shouldRun, mayStay } = placementOf(spec, node)
    const pods = (placed.get(node.metadata.name) ?? []).toSorted((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1))
    const active = pods.filter((pod) => !isPodTerminating(pod) && !isFinished(pod))
    for (const pod of pods) if (isFinished(pod) && !isPodTerminating(pod)) await remove(pod)
    for (const pod of active.slice(mayStay ? 1 : 0)) await remove(pod)
    if (shouldRun && pods.every(isFinished)) await create(tools, set, spec, node.metadata.name, hash)
  }
  if (set.spec?.updateStrategy?.type === 'OnDelete') return
  const active = [...placed.values()].flat().filter((pod) => !isPodTerminating(pod) && !isFinished(pod))
  const desired = nodes.filter((node) => placementOf(spec, node).shouldRun)
  const limit = Math.max(1, shareOf(set.spec?.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, desired.length, 'up'))
  const isPodAvailable = (pod: StoredPod): boolean => isAvailable(pod, set.spec?.minReadySeconds, cluster.now())
  let allowed = limit - (desired.length - active.filter(isPodAvailable).length)
  for (const pod of active.filter(({ metadata }) => metadata.labels?.[revisionLabel] !== hash)) {
    // Pods that are not available may be replaced at any time.
    if (isPodAvailable(pod) && allowed-- <= 0) continue
    await remove(pod)
  }
}

async function create(tools: Tools, set: DaemonSet, spec: PodSpec, node: string, hash: string): Promise<void> {
  const only = { key: 'metadata.name', operator: 'In', values: [node] }
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const here = (term: NodeSelectorTerm): NodeSelectorTerm => ({ ...term, matchFields: [only] })
  const terms = required?.nodeSelectorTerms.map(here) ?? [here({})]
  const affinity = {
    ...spec.affinity,
    nodeAffinity: {
      ...spec.affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
    },
  }
  const pod = podOf(set, { ...set.spec.template, spec: { ...spec, affinity } })
  const labels = {
    ...pod.metadata.labels,
    [revisionLabel]: hash,
    'pod-template-generation': set.metadata.annotations?.['deprecated.daemonset.template.generation'] ?? '1',
  }
  const made = await tools.writer.create('pods', { ...pod, metadata: { ...pod.metadata, labels } })
  tools.record(set, 'Normal', 'SuccessfulCreate', `Created pod: ${made.metadata.name}`)
}

function statusOf(
  set: DaemonSet,
  nodes: readonly Node[],
  placed: ReadonlyMap<string, readonly StoredPod[]>,
  hash: string,
  now: number,
): DaemonSetStatus {
  const spec = specFor(set)
  const podOn = ({ metadata }: Node): StoredPod | undefined =>
    (placed.get(metadata.name) ?? []).find((pod) => !isFinished(pod))
  const desired = nodes.filter((node) => placementOf(spec, node).shouldRun)
  const pods = desired.map(podOn).filter((pod) => pod !== undefined)
  const available = pods.filter((pod) => isPodReady(pod) && isAvailable(pod, set.spec?.minReadySeconds, now)).length
  return {
    currentNumberScheduled: pods.length,
    numberMisscheduled: nodes.filter((node) => !desired.includes(node) && podOn(node)).length,
    desiredNumberScheduled: desired.length,
    numberReady: pods.filter(isPodReady).length,
    observedGeneration: set.metadata.generation ?? 0,
    ...omitZero(
      'updatedNumberScheduled',
      pods.filter(({ metadata }) => metadata.labels?.[revisionLabel] === hash).length,
    ),
    ...omitZero('numberAvailable', available),
    ...omitZero('numberUnavailable', desired.length - available),
    ...(set.status?.collisionCount !== undefined && { collisionCount: set.status.collisionCount }),
  }
}
