/**
 * What a pod has that nobody wrote. The spec of a pod and that of a template are filled in alike, but for a few things
 * that came later: set in templates, they would have rolled out every workload of every cluster at its next upgrade.
 */
import { defaultContainer, requestLimits, roundResources } from './container-defaults.ts'
import { type Draft, fillAbsent, fillZeros, madePart, part, parts } from './draft.ts'
import { defaultVolume } from './volume-defaults.ts'

/** What stands for a pod in a workload: metadata and spec. */
export function defaultTemplate(template: Draft): void {
  madePart(template, 'metadata')
  defaultPodSpec(madePart(template, 'spec'))
}

export function defaultPod(pod: Draft): void {
  const spec = madePart(pod, 'spec')
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

/** In the network of the host, a port of the container is one of the host. */
function publishPorts(container: Draft): void {
  for (const port of parts(container, 'ports')) fillZeros(port, { hostPort: port['containerPort'] })
}

function defaultPodSpec(spec: Draft): void {
  // The old name of the service account follows the new one.
  const account = spec['serviceAccountName'] || spec['serviceAccount']
  if (account) Object.assign(spec, { serviceAccountName: account, serviceAccount: account })
  fillZeros(spec, { dnsPolicy: 'ClusterFirst', restartPolicy: 'Always', schedulerName: 'default-scheduler' })
  fillAbsent(spec, { terminationGracePeriodSeconds: 30, containers: [] })
  madePart(spec, 'securityContext')
  for (const volume of parts(spec, 'volumes')) defaultVolume(volume)
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const container of parts(spec, list)) defaultContainer(container)
  }
  roundResources(part(spec, 'overhead'))
  const resources = part(spec, 'resources')
  roundResources(part(resources, 'limits'))
  roundResources(part(resources, 'requests'))
}

/** A pod has one address and a list of them, and the first is the one. */
function defaultPodStatus(status: Draft | undefined): void {
  if (!status) return
  const { podIP } = status
  const first = parts(status, 'podIPs')[0]?.['ip']
  if (podIP && first !== podIP) status['podIPs'] = [{ ip: podIP }]
  if (!podIP && first) status['podIP'] = first
}
