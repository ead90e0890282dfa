/** Conformance tests that do not apply to simulated workloads, with the reason. All other tests must pass. */
import type { ConformanceTest } from './conformance-suite.ts'

export function exemptionOf(test: ConformanceTest): string | undefined {
  return exemptions.find(([, pattern]) => pattern.test(`${test.file}: ${test.name}`))?.[0]
}

const output = 'reads what a process in a container prints or finds in its files'
const inside = 'runs a command inside a container'
const traffic = 'sends traffic to pods or Services'
const webhook = 'talks to a webhook or an API server that runs in a pod'
const image = 'relies on an image that does not exist, and so cannot be pulled'
const volume = 'waits for a volume that cannot be mounted; simulated pods start without looking at their volumes'
const probe = 'waits for a probe, a hook or an exit that a process in a container decides'

const exemptions: readonly (readonly [reason: string, pattern: RegExp])[] = [
  [image, /^apps\/(?:deployment\.go: .*proportional scaling|daemon_set\.go: .*without unnecessary restarts)/],

  [volume, /^auth\/projected_clustertrustbundle\.go: .*should prevent a pod from starting/],

  [webhook, /^apimachinery\/webhook\.go: .*should (?:be able to deny|unconditionally|honor|not be able|mutate|deny)/],
  [
    webhook,
    /^apimachinery\/webhook\.go: .*(?:listing|patching\/updating) (?:a )?(?:mutating|validating) webhooks? should work/,
  ],
  [webhook, /^apimachinery\/(?:crd_conversion_webhook|crd_selectable_fields|aggregator)\.go: /],

  [output, /^auth\/projected_clustertrustbundle\.go: .*(?:can combine|should be able to|should start)/],
  [output, /^auth\/projected_podcertificate\.go: .*should (?:honor|issue|allow)/],
  [output, /^auth\/service_accounts\.go: .*should (?:mount|support OIDC)/],
  [output, /^common\/node\/(?:configmap|secrets)\.go: .*should be consumable/],
  [output, /^common\/node\/(?:containers|downwardapi|expansion|image_volume|kubelet_etc_hosts|security_context)\.go: /],
  [output, /^common\/node\/kubelet\.go: .*should (?:print|not write|write)/],
  [output, /^common\/node\/runtime\.go: /],
  [output, /^common\/node\/sysctl\.go: .*should support/],
  [output, /^common\/node\/pods\.go: .*should (?:support retrieving logs|contain environment)/],
  [output, /^common\/storage\/(?!.*immutable)/],
  [output, /^kubectl\/(?:logs\.go: |kubectl\.go: .*should create services for rc)/],
  [output, /^node\/security_context\.go: /],
  [output, /^storage\/(?:subpath|empty_dir_wrapper)\.go: /],

  [inside, /^common\/node\/pods\.go: .*remote command execution/],
  [inside, /^common\/node\/ephemeral_containers\.go: /],
  [inside, /^apps\/statefulset\.go: .*(?:predictable order|Burst scaling|rolling updates and roll backs)/],
  [inside, /^common\/node\/pod_resize\.go: /],

  [probe, /^common\/node\/(?:container_probe|lifecycle_hook)\.go: /],
  [
    probe,
    /^apps\/job\.go: .*(?:successPolicy|backoffLimitPerIndex|maxFailedIndexes|FailIndex|exit code|sometimes fail)/,
  ],
  [probe, /^apps\/cronjob\.go: .*should (?:schedule multiple|replace) jobs/],
  [probe, /^common\/node\/kubelet\.go: .*terminated reason/],
  [probe, /^common\/node\/init_container\.go: .*should not start app containers/],
  [probe, /^node\/pre_stop\.go: /],

  [traffic, /^common\/network\/networking\.go: /],
  [traffic, /^network\/(?:dns|proxy|hostport|service_latency)\.go: /],
  [traffic, /^network\/service\.go: .*(?:affinity|change the type|functioning NodePort|should serve)/],
  [traffic, /^network\/endpointslice\.go: .*should support a Service with multiple/],
  [traffic, /^kubectl\/kubectl\.go: .*(?:Update Demo|working application)/],
  [traffic, /^apps\/(?:rc|replica_set)\.go: .*should serve a basic image/],
]
