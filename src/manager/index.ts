/** What runs operators; README.md beside this file tells how. */
export { drive, type Host, hostOperator, type HostOptions } from './host.ts'
export { createExecutor, type Execute, type ExecutorOptions } from './executor.ts'
export { createWebhookHost, type WebhookAddress, type WebhookHost } from './webhooks/webhook-host.ts'
export { startWebhooks, type Webhooks, type WebhooksOptions } from './webhooks/webhooks.ts'
export { createMetrics, type Metrics } from './metrics.ts'
export { openTrial, type Sent, type Trial, type TrialOptions } from './trial.ts'
