/** The status of a Kyma, from what the Platform reports. Pure. */
import { formatTime } from '../../kube/units/duration.ts'
import type { StatusReport } from '../../operator/controller.ts'
import type { ComponentReport, ComponentState, PlatformState } from '../components/platform.ts'
import type { ComponentNames } from './desired-component.ts'
import type { FacadeReportInput } from './facade-controller.ts'
import type { KymaObject, ModuleStatus } from './kyma.ts'
import type { DesiredComponentReport } from './desired-component-report.ts'

export function kymaReport({
  cr,
  reports,
  platform,
  names,
  now,
}: FacadeReportInput<KymaObject>): StatusReport<KymaObject> {
  const modules = [...reports.map(moduleStatus), ...leavingModules(cr, names, platform?.status?.components ?? [])]
  const state = stateOf(modules)
  const worst = modules.find((one) => one.state === state)
  const isReady = state === 'Ready'
  const message = isReady ? 'All modules are ready.' : `${worst?.name ?? ''}: ${worst?.message ?? ''}`
  const status = isReady ? ('True' as const) : ('False' as const)
  return {
    state,
    activeChannel: cr.spec.channel,
    modules,
    lastOperation: lastOperation(cr, message, now),
    conditions: [
      { type: 'Modules', status, reason: 'Ready', message },
      { type: 'Ready', status, reason: state, message },
    ],
  }
}

function moduleStatus({ desired, state, message, report }: DesiredComponentReport): ModuleStatus {
  const { alias, channel } = desired
  return {
    name: alias,
    ...(channel !== undefined && { channel }),
    ...(report?.version !== undefined && { version: report.version }),
    state: moduleState(state),
    message,
    ...(report?.maintenance && { maintenance: true }),
  }
}

/** Modules that were in the list, and that the Platform still removes. */
function leavingModules(
  { spec, status }: KymaObject,
  names: ComponentNames,
  components: readonly ComponentReport[],
): readonly ModuleStatus[] {
  const listed = new Set(spec.modules.map(({ name }) => name))
  return (status?.modules ?? []).flatMap(({ name }): readonly ModuleStatus[] => {
    const report = components.find((one) => one.name === names(name))
    if (listed.has(name) || report?.managementState !== 'Removed' || report.state === 'Removed') return []
    const { message, version } = report
    return [{ name, ...(version !== undefined && { version }), state: 'Deleting', message }]
  })
}

function moduleState(state: ComponentState): ModuleStatus['state'] {
  return state === 'Removed' ? 'Processing' : state
}

/** The worst counts; a module that is left alone counts as ready. */
function stateOf(modules: readonly ModuleStatus[]): PlatformState {
  const worstFirst = ['Error', 'Warning', 'Processing', 'Deleting'] as const
  return worstFirst.find((state) => modules.some((one) => one.state === state)) ?? 'Ready'
}

/** With the time at which it became true. */
function lastOperation(
  { status }: KymaObject,
  operation: string,
  now: number,
): { readonly operation: string; readonly lastUpdateTime: string } {
  const before = status?.lastOperation
  return before?.operation === operation ? before : { operation, lastUpdateTime: formatTime(now) }
}
