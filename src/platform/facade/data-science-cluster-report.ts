/** The status of a DataScienceCluster, from what the Platform reports. Pure. */
import type { StatusReport } from '../../operator/controller.ts'
import type { ComponentStatus, DataScienceClusterObject } from './data-science-cluster.ts'
import type { FacadeReportInput } from './facade-controller.ts'
import { isAtRest, type DesiredComponentReport } from './desired-component-report.ts'

/** Condition types with letters in upper case that the name of the component does not show. */
const words: Readonly<Record<string, string>> = {
  aipipelines: 'AIPipelines',
  codeflare: 'CodeFlare',
  // ComponentsReady is the roll-up.
  components: 'components',
  datasciencepipelines: 'DataSciencePipelines',
  feastoperator: 'FeastOperator',
  llamastackoperator: 'LlamaStackOperator',
  mlflowoperator: 'MLflowOperator',
  modelcontroller: 'ModelController',
  modelmeshserving: 'ModelMeshServing',
  modelregistry: 'ModelRegistry',
  sparkoperator: 'SparkOperator',
  trainingoperator: 'TrainingOperator',
  trustyai: 'TrustyAI',
}

export function dataScienceClusterReport({
  reports,
}: FacadeReportInput<DataScienceClusterObject>): StatusReport<DataScienceClusterObject> {
  const pending = reports.filter((one) => !isAtRest(one))
  const [worst] = pending
  const isReady = worst === undefined
  const summary = {
    status: isReady ? ('True' as const) : ('False' as const),
    reason: isReady ? 'Ready' : worst.reason,
    message: isReady ? 'All components are ready.' : summaryOf(pending, worst),
  }
  const byAlias = <T>(value: (report: DesiredComponentReport) => T): Readonly<Record<string, T>> =>
    Object.fromEntries(reports.map((one) => [one.desired.alias, value(one)]))
  return {
    phase: isReady ? 'Ready' : 'Not Ready',
    components: byAlias(componentStatus),
    installedComponents: byAlias(({ report }) => report?.version !== undefined),
    conditions: [
      ...reports.map((one) => ({ type: `${typeOf(one.desired.alias)}Ready`, ...componentCondition(one) })),
      { type: 'ComponentsReady', ...summary },
      { type: 'Ready', ...summary },
    ],
  }
}

/** A removed component is not ready, and does not keep the whole from being it. */
function componentCondition({ state, reason, message }: DesiredComponentReport): {
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
} {
  if (state === 'Removed')
    return { status: 'False', reason: 'Removed', message: 'Info: its managementState is Removed.' }
  return { status: state === 'Ready' || state === 'Unmanaged' ? 'True' : 'False', reason, message }
}

function componentStatus({ desired, report }: DesiredComponentReport): ComponentStatus {
  const { managementState, alias } = desired
  const version = report?.version
  return { managementState, ...(version !== undefined && { releases: [{ name: alias, version }] }) }
}

function typeOf(alias: string): string {
  if (Object.hasOwn(words, alias)) return words[alias]!
  // A Component may declare a name with characters that no condition may have.
  const text = alias.replaceAll(/[^\w.-]/g, '-')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function summaryOf(pending: readonly DesiredComponentReport[], { desired, message }: DesiredComponentReport): string {
  const more = pending.length > 1 ? ` (and ${pending.length - 1} more)` : ''
  return `${desired.alias}: ${message}${more}`
}
