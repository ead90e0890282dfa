/** What runs operators; README.md beside this file tells how. */
export { drive, type Drive } from './drive.ts'
export { type Host, hostOperator, type HostOptions } from './host.ts'
export { createExecutor, type Execute, type ExecutorOptions } from './executor.ts'
export { actingAs, impersonationOf, mintedCredentials, type MintOptions, withCredentials } from './identity.ts'
export { actingOn, type Cluster, mapNames } from './placement/cluster.ts'
export { checkApart, type NameMap, nameMap, type NameMapOptions, type NameRule } from './placement/name-map.ts'
export { place, type Placement, standalone } from './placement/placement.ts'
export {
  foresee,
  type ForesightOptions,
  type OperatorPlan,
  type PlannedChange,
  type PlannedCr,
} from './plan/foresight.ts'
export { createWebhookHost, type WebhookAddress, type WebhookHost } from './webhooks/webhook-host.ts'
export { startWebhooks, type Webhooks, type WebhooksOptions } from './webhooks/webhooks.ts'
export { createManager, type HostedOptions, type Manager, type ManagerOptions } from './manager.ts'
export { type AloneOptions, runAlone } from './alone/run-alone.ts'
export { changesBetween, type Effect, type SettingChange } from './config/changes.ts'
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
export { type Reached } from './resident/clusters.ts'
export { reachCluster, reachLocal, type ReachOptions } from './resident/reach.ts'
export { type Post, type Resident, type ResidentOptions, startResident } from './resident/resident.ts'
export { type Service, type ServiceOptions, startService, type WebhookPlace } from './resident/service.ts'
export type { Limits } from './isolation/limits.ts'
export { openRunner, type RunnerOptions } from './isolation/open-runner.ts'
export type { Level, Runner } from './isolation/runner.ts'
export { describeFinding, type Finding } from './findings/finding.ts'
export { createMetrics, type Metrics } from './metrics.ts'
export { type Activity, createActivity, type Standing } from './activity.ts'
export { countedTransport } from './counted-transport.ts'
export { type HealthInput, healthReport, type HealthReport, underWay } from './health.ts'
export { createMeter, loopMs, measured, type MeasureOptions } from './measured.ts'
export { processUsage } from './process-usage.ts'
export type { ManagerReport, OperatorReport } from './report.ts'
export { startStatusServer, type StatusServer, type StatusServerOptions } from './status-server.ts'
export { openWatchdog, type Watchdog, type WatchdogOptions } from './watchdog/watchdog.ts'
export { openTrial, type Sent, type Trial, type TrialOptions } from './trial.ts'
