/**
 * Defaults of pods and pod templates. Both get the same, except for a few newer defaults: set in templates, they would
 * have changed every template, and so rolled out every workload at the next upgrade of a cluster.
 */
import { defaultContainer, requestLimits, roundResources } from '../container/container-defaults.ts'
import { type Draft, fillAbsent, fillZeros, ensurePart, part, parts } from '../strategy/draft.ts'
import { defaultVolume } from '../volume/volume-defaults.ts'

/** The pod template of a workload: metadata and spec. */
export function defaultTemplate(template: Draft): void {
  ensurePart(template, 'metadata')
  defaultPodSpec(ensurePart(template, 'spec'))
}

export function defaultPod(pod: Draft): void {
  const spec = ensurePart(pod, 'spec')
  const grace = spec['terminationGracePeriodSeconds']
  if (typeof grace === 'number' && grace < 0) spec['terminationGracePeriodSeconds'] = 1
  fillAbsent(spec, { enableServiceLinks: true })
  for (const list of ['initContainers', 'containers']) {
    for (const container of parts(spec, list)) {
      requestLimits(container)
      if (spec['hostNetwork'] === true) publishPorts(container)
    }
  }
  defaultPodSpec(spec)
  defaultPodStatus(part(pod, 'status'))
}

/** With `hostNetwork`, each container port is also a host port. */
function publishPorts(container: Draft): void {
  for (const port of parts(container, 'ports')) fillZeros(port, { hostPort: port['containerPort'] })
}

function defaultPodSpec(spec: Draft): void {
  // The deprecated `serviceAccount` mirrors `serviceAccountName`.
  const account = spec['serviceAccountName'] || spec['serviceAccount']
  if (account) Object.assign(spec, { serviceAccountName: account, serviceAccount: account })
  fillZeros(spec, { dnsPolicy: 'ClusterFirst', restartPolicy: 'Always', schedulerName: 'default-scheduler' })
  fillAbsent(spec, { terminationGracePeriodSeconds: 30, containers: [] })
  ensurePart(spec, 'securityContext')
  for (const volume of parts(spec, 'volumes')) defaultVolume(volume)
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const container of parts(spec, list)) defaultContainer(container)
  }
  roundResources(part(spec, 'overhead'))
  const resources = part(spec, 'resources')
  roundResources(part(resources, 'limits'))
  roundResources(part(resources, 'requests'))
}

/** `podIP` duplicates the first item of `podIPs`. */
function defaultPodStatus(status: Draft | undefined): void {
  if (!status) return
  const { podIP } = status
  const first = parts(status, 'podIPs')[0]?.['ip']
  if (podIP && first !== podIP) status['podIPs'] = [{ ip: podIP }]
  if (!podIP && first) status['podIP'] = first
}
