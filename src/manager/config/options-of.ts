/** Converts settings into the options of other packages: people write `1m30s`, programs use milliseconds. */
import type { Resource } from '../../kube/kind.ts'
import type { ObjectName } from '../../operator/view/view.ts'
import type { LeaseTimes } from '../leases/lease.ts'
import { type NameMap, nameMap } from '../placement/name-map.ts'
import type { BudgetOptions, GateOptions } from '../gates/gate-options.ts'
import { openResultFolder } from '../tasks/result-folder.ts'
import type { TaskRunnerOptions } from '../tasks/task-runner.ts'
import type { WebhookAddress } from '../webhooks/webhook-host.ts'
import type { BudgetSettings, GateSettings, ProgramSettings } from './operator-settings.ts'
import { durationMs } from './setting-fields.ts'
import type { HostedSettings, LeaseSettings, Settings, TaskSettings } from './settings.ts'

/** The gates and budgets of an operator. */
export function gatesOf(gates: GateSettings, budgets?: BudgetSettings): GateOptions {
  return {
    ...(budgets && { budget: budgetOf(budgets) }),
    debounce: { quietMs: durationMs(gates.debounce), maxMs: durationMs(gates.debounceMax) },
    coolDown: { leastMs: durationMs(gates.coolDown) },
    allowance: { perMinute: gates.changesPerMinute, burst: gates.burst },
    priority: { ageMs: durationMs(gates.ageing) },
    concurrency: gates.concurrency,
  }
}

function budgetOf({ cacheMi, requestsPerMinute }: BudgetSettings): BudgetOptions {
  return {
    ...(cacheMi > 0 && { memoryBytes: cacheMi * 2 ** 20 }),
    ...(requestsPerMinute > 0 && { requestsPerMinute }),
  }
}

export function leaseTimesOf({ leaseDuration, renewDeadline, retryPeriod }: LeaseSettings): LeaseTimes {
  return {
    leaseDurationMs: durationMs(leaseDuration),
    renewDeadlineMs: durationMs(renewDeadline),
    retryPeriodMs: durationMs(retryPeriod),
  }
}

/** Budgets as limits of an isolated operator. */
export function limitsOf({ memory, runTimeout }: BudgetSettings): {
  readonly memoryMb: number
  readonly reconcileMs: number
} {
  return { memoryMb: mebibytesOf(memory), reconcileMs: durationMs(runTimeout) }
}

/** The limits of an external program. */
export function programLimitsOf({ memory, timeout }: ProgramSettings): {
  readonly memoryMb: number
  readonly timeoutMs: number
} {
  return { memoryMb: mebibytesOf(memory), timeoutMs: durationMs(timeout) }
}

export function taskOptionsOf(
  { concurrency, memory, folder, folderSize }: TaskSettings,
  onProblem: (error: unknown) => void,
): TaskRunnerOptions {
  return {
    concurrency,
    maxBytes: mebibytesOf(memory) * 2 ** 20,
    ...(folder !== undefined && {
      folder: openResultFolder(folder, { maxBytes: mebibytesOf(folderSize) * 2 ** 20, onProblem }),
    }),
  }
}

function mebibytesOf(memory: string): number {
  return Number.parseInt(memory, 10) * (memory.endsWith('Gi') ? 1024 : 1)
}

/** Splits `namespace/name`. */
export function objectNameOf(reference: string): ObjectName & { readonly namespace: string } {
  const at = reference.indexOf('/')
  return { namespace: reference.slice(0, at), name: reference.slice(at + 1) }
}

/** The address of the webhooks for API servers; undefined: webhooks are not served. */
export function webhookAddressOf({
  port,
  url,
  service,
  servicePort,
}: Settings['webhooks']): WebhookAddress | undefined {
  if (port === 0) return undefined
  if (url !== undefined) return { url }
  return service === undefined ? undefined : { service: { ...objectNameOf(service), port: servicePort } }
}

/** The name map of a hosted cluster. @throws InvalidNameMap */
export function nameMapOf(name: string, { rules, shared }: HostedSettings): NameMap {
  return nameMap({
    name,
    rules: rules.map(({ kinds, ...rule }) => ({ ...rule, ...(kinds && { kinds: kinds.map(kindNamed) }) })),
    shared: shared.map(kindNamed),
  })
}

/** `plural.group/version`: enough to identify a kind. */
function kindNamed(text: string): Resource {
  const [whole = '', version = ''] = text.split('/')
  const [plural = '', ...group] = whole.split('.')
  return { plural, group: group.join('.'), version, kind: plural, namespaced: false }
}
