/** The public API of the manager package; README.md describes its sub-packages. */
export { type OperatorHost, hostOperator, type OperatorHostOptions } from './hosting/host.ts'
export { actingAs, impersonationOf, mintedCredentials, type MintOptions, withCredentials } from './run/identity.ts'
export { actingOn, type Cluster, mapNames } from './placement/cluster.ts'
export { checkApart, type NameMap, nameMap, type NameMapOptions, type NameRule } from './placement/name-map.ts'
export { place, type Placement, standalone } from './placement/placement.ts'
export { dryRun, type DryRunOptions, type OperatorPlan, type PlannedChange, type PlannedCr } from './plan/dry-run.ts'
export { createWebhookHost, type WebhookAddress, type WebhookHost } from './webhooks/webhook-host.ts'
export { startWebhooks, type Webhooks, type WebhooksOptions } from './webhooks/webhooks.ts'
export { createManager, type HostedOptions, type Manager, type ManagerOptions } from './hosting/manager.ts'
export { type AloneOptions, runAlone } from './alone/run-alone.ts'
export { configMapSource, type ConfigMapSourceOptions } from './config/config-map-source.ts'
export type { Configuration } from './config/configuration.ts'
export { fileSource, type FileSourceOptions } from './config/file-source.ts'
export {
  type OpenConfiguration,
  openConfiguration,
  type OpenConfigurationOptions,
} from './config/open-configuration.ts'
export type { OperatorSettings } from './config/operator-settings.ts'
export type { Settings } from './config/settings.ts'
export type { ConfigurationSource } from './config/source.ts'
export {
  createLoader,
  type GivenOperator,
  type LoadedOperator,
  type Loader,
  type LoaderOptions,
} from './loading/loader.ts'
export { type Reached } from './runtime/clusters.ts'
export { reachCluster, reachLocal, type ReachOptions } from './runtime/cluster-connection.ts'
export type { AssignedOperator, Runtime } from './runtime/runtime.ts'
export {
  type ManagerService,
  type ManagerServiceOptions,
  startManagerService,
  type WebhookPlace,
} from './runtime/manager-service.ts'
export type { Limits } from './isolation/launch/limits.ts'
export { openRunner, type RunnerOptions } from './isolation/open-runner.ts'
export type { IsolationLevel, Runner } from './isolation/runner.ts'
export { describeFinding, type Finding } from './findings/finding.ts'
export { createMetrics, type Metrics } from './observability/metrics.ts'
export type { ManagerReport, OperatorReport } from './observability/report.ts'
export { openWatchdog, type Watchdog, type WatchdogOptions } from './watchdog/watchdog.ts'
