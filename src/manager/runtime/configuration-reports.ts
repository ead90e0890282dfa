/**
 * Reports what became of a changed configuration wherever an administrator looks: the log, a metric, a condition in the
 * manager's report (and so in `muster top` and the console), and an Event on the ConfigMap.
 *
 * A rejected configuration changes nothing: the manager goes on with the last valid one. That is safe, and invisible
 * unless it is reported.
 */
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock/clock.ts'
import { formatTime } from '../../kube/units/duration.ts'
import type { MusterError } from '../../kube/muster-error.ts'
import type { EventDraft } from '../../operator/ledger.ts'
import type { SettingChange } from '../config/changes.ts'
import type { OpenConfiguration } from '../config/open-configuration.ts'
import type { Log } from '../logging/log-line.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { ConfigurationReport, ManagerCondition } from '../observability/report.ts'
import { createEventRecorder } from '../run/event-recorder.ts'

export interface ConfigurationReports {
  rejected(problem: MusterError): void
  mended(): void
  changed(changes: readonly SettingChange[]): void
  condition(): ManagerCondition
  report(): ConfigurationReport
}

interface ConfigurationReportsOptions {
  readonly configuration: Pick<OpenConfiguration, 'source' | 'object' | 'problem' | 'isFallback' | 'pendingRestart'>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Writes the Events; undefined: not connected yet. */
  readonly client: () => Client | undefined
}

export function reportConfiguration(options: ConfigurationReportsOptions): ConfigurationReports {
  const { configuration, clock, log, metrics } = options
  const { source = 'the configuration' } = configuration
  let last: ManagerCondition | undefined
  let readAt = clock.now()

  const recordEvent = (event: EventDraft): void => {
    const [client, object] = [options.client(), configuration.object()]
    if (!client || !object) return
    const onProblem = (error: unknown): void =>
      log({ level: 'warn', msg: 'Event was not written', error: String(error) })
    void createEventRecorder({ client, clock, operator: 'muster', onProblem }).record(object, event)
  }

  const state = (): Pick<ManagerCondition, 'status' | 'reason' | 'message'> => {
    const { problem, isFallback, pendingRestart } = configuration
    if (problem) {
      const meanwhile = isFallback ? '' : ' The last valid configuration stays in force.'
      return { status: 'False', reason: 'Rejected', message: `${problem.message}${meanwhile}` }
    }
    if (pendingRestart.length > 0) {
      const message = `${pendingRestart.join(', ')}: changed in ${source}, and in force after a restart of the manager.`
      return { status: 'False', reason: 'RestartRequired', message }
    }
    return { status: 'True', reason: 'InForce', message: `${source} is in force.` }
  }

  const condition = (): ManagerCondition => {
    const now = state()
    if (last?.status !== now.status || last.reason !== now.reason || last.message !== now.message) {
      const lastTransitionTime = last?.status === now.status ? last.lastTransitionTime : formatTime(clock.now())
      last = { type: 'Reconfigured', ...now, lastTransitionTime }
    }
    return last
  }

  return {
    condition,
    report: () => ({ source, readAt, condition: condition() }),
    rejected({ message }) {
      condition()
      metrics.reload('failure')
      log({ level: 'error', msg: 'Configuration rejected', source, error: message })
      recordEvent({ type: 'Warning', reason: 'ConfigurationRejected', message })
    },
    mended() {
      readAt = clock.now()
      condition()
      log({ msg: 'Configuration is valid again', source })
      recordEvent({ type: 'Normal', reason: 'ConfigurationAccepted', message: `${source} is valid again.` })
    },
    changed(changes) {
      readAt = clock.now()
      const { reason, message } = condition()
      metrics.reload('success')
      for (const { path, effect } of changes) {
        log({ msg: 'Setting changed', setting: path.join('.'), takesEffect: takesEffect[effect] })
      }
      if (reason !== 'RestartRequired') return
      log({ level: 'warn', msg: 'Settings take effect after a restart', settings: [...configuration.pendingRestart] })
      recordEvent({ type: 'Warning', reason: 'RestartRequired', message })
    },
  }
}

const takesEffect: Readonly<Record<SettingChange['effect'], string>> = {
  live: 'now',
  operator: 'with a restart of the operator',
  restart: 'with a restart of the manager',
}
