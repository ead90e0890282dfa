/**
 * The kubelets of all nodes: they report what each pod does on its node until it finishes or is deleted. No container
 * runs; `pod-script.ts` says what it would do. A node that is down reports nothing, and its pods keep their last
 * status.
 */
import { parseTime } from '../../../kube/units/duration.ts'
import { type SimulatedState, simulatedKey, splitKey, type StoredIn, type StoredPod } from '../controller/cluster.ts'
import { type BackOff, createBackOff } from './container-machine.ts'
import type { SimulatedController, Tools } from '../controller/controller.ts'
import { rejectedStatus, rejectionOf } from './kubelet-admission.ts'
import { nodeAddressOf, isDown } from './node-fleet.ts'
import { isFinished } from '../controller/pod-facts.ts'
import { advancePod, stoppedStatus } from './pod-machine.ts'
import { type Pace, podScript } from '../../kinds/pod/pod-script.ts'

export function kubelet({ cluster, writer, record }: Tools, pace: Pace): SimulatedController {
  const backOffs = new Map<string, BackOff>()
  const addresses = createAddresses(cluster)

  const backOffOf = (key: string): BackOff => {
    const known = backOffs.get(key) ?? createBackOff()
    backOffs.set(key, known)
    return known
  }

  const stop = async (pod: StoredPod): Promise<number | undefined> => {
    const { deletionTimestamp = '', deletionGracePeriodSeconds: grace = 0 } = pod.metadata
    const askedAt = (parseTime(deletionTimestamp) ?? 0) - grace * 1000
    const { stopSeconds } = podScript(pod, pace)
    const hasStarted = pod.status?.startTime !== undefined && !isFinished(pod)
    const stopAt = hasStarted ? askedAt + Math.min(stopSeconds, grace) * 1000 : 0
    if (cluster.now() < stopAt) return stopAt - cluster.now()
    const stopped = hasStarted
      ? await writer.updateStatus('pods', pod, stoppedStatus(pod, stopSeconds > grace ? 137 : 0, cluster.now()))
      : pod
    await writer.remove('pods', stopped, { grace: 0 })
    return undefined
  }

  /** Fails a pod that does not fit the node, before it starts. */
  const admit = async (pod: StoredPod, node: StoredIn<'nodes'>): Promise<boolean> => {
    const rejection = pod.status?.startTime === undefined ? rejectionOf(cluster, pod, node) : undefined
    if (!rejection) return true
    await writer.updateStatus('pods', pod, rejectedStatus(pod, rejection, cluster.now()))
    record(pod, 'Warning', rejection.reason, rejection.message)
    return false
  }

  const run = async (pod: StoredPod, hostIP: string): Promise<number | undefined> => {
    const host = { hostIP, podIP: () => addresses.take(pod), backOff: backOffOf(simulatedKey(pod)), pace }
    const { status, wakeAt } = advancePod(pod, host, cluster.now())
    await writer.updateStatus('pods', pod, status)
    recordEvents(pod, status)
    return wakeAt === undefined ? undefined : Math.max(wakeAt - cluster.now(), 0)
  }

  /** Records the events that users look for: started containers and restart back-off. */
  const recordEvents = (pod: StoredPod, status: StoredPod['status']): void => {
    for (const after of status?.containerStatuses ?? []) {
      const before = pod.status?.containerStatuses?.find(({ name }) => name === after.name)
      const waiting = after.state?.waiting
      if (after.state?.running && before?.state?.running?.startedAt !== after.state.running.startedAt) {
        record(pod, 'Normal', 'Started', `Started container ${after.name}`)
      } else if (waiting?.message && before?.state?.waiting?.reason !== waiting.reason) {
        record(pod, 'Warning', waiting.reason === 'CrashLoopBackOff' ? 'BackOff' : 'Failed', waiting.message)
      }
    }
  }

  return {
    workers: 20,
    own: {
      pods: (pod) => (pod.spec?.nodeName ? [simulatedKey(pod)] : []),
      // A node that comes back reconciles its pods at once.
      nodes: (node) => cluster.podsOn(node.metadata.name).map(simulatedKey),
    },
    async reconcile(key) {
      const { namespace, name } = splitKey(key)
      const pod = cluster.get('pods', namespace, name)
      const node = pod?.spec?.nodeName ? cluster.get('nodes', undefined, pod.spec.nodeName) : undefined
      if (!pod || !node || isFinished(pod)) backOffs.delete(key)
      if (!pod || !node || isDown(node)) return undefined
      if (pod.metadata.deletionTimestamp) return await stop(pod)
      const hostIP = nodeAddressOf(cluster, node.metadata.name)
      if (isFinished(pod) || hostIP === undefined || !(await admit(pod, node))) return undefined
      return await run(pod, hostIP)
    },
  }
}

interface Addresses {
  take(pod: StoredPod): string
}

const addressCount = 2 ** 16 - 2

/**
 * Pod IPs of 10.244.0.0/16, allocated in turn. An address needs no release: it is free when its pod is gone or
 * finished.
 */
function createAddresses(cluster: SimulatedState): Addresses {
  const holders = new Map<string, StoredPod>()
  for (const pod of cluster.list('pods')) if (pod.status?.podIP) holders.set(pod.status.podIP, pod)
  let next = 0

  const isInUse = (address: string): boolean => {
    const holder = holders.get(address)
    if (!holder) return false
    const { namespace, name, uid } = holder.metadata
    const live = cluster.get('pods', namespace, name)
    return live?.metadata.uid === uid && !isFinished(live)
  }

  return {
    take(pod) {
      let address = ''
      for (let tries = 0; tries < addressCount; tries++) {
        const number = (next++ % addressCount) + 1
        address = `10.244.${number >> 8}.${number & 255}`
        if (!isInUse(address)) break
      }
      holders.set(address, pod)
      return address
    },
  }
}
