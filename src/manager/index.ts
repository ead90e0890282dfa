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
export { describeFinding, type Finding } from './findings/finding.ts'
export { createMetrics, type Metrics } from './metrics.ts'
export { openTrial, type Sent, type Trial, type TrialOptions } from './trial.ts'
