/** What became of the desired components of a façade, as the status of the Platform reports it. Pure. */
import type { ConditionUpdate } from '../../kube/meta/condition.ts'
import type { WithheldField } from '../../operator/dependent/shared-fields.ts'
import type { ComponentObject } from '../catalogue/component.ts'
import { mandatoryReason } from '../components/component-report.ts'
import type { ComponentReport, ComponentState, PlatformObject } from '../components/platform.ts'
import type { DesiredComponent, FacadeDesiredState } from './desired-component.ts'

export interface DesiredComponentReport {
  readonly desired: DesiredComponent
  readonly state: ComponentState
  readonly reason: string
  readonly message: string
  /** The Platform's own report; absent until it has one. */
  readonly report?: ComponentReport | undefined
}

const conflictReason = 'FieldManagerConflict'

/** One for each desired component. One that another field manager overrides is a warning, whatever state its component has. */
export function desiredComponentReports(
  { components }: FacadeDesiredState,
  platform: PlatformObject | undefined,
  withheld: readonly WithheldField[],
): readonly DesiredComponentReport[] {
  return components.map((desired): DesiredComponentReport => {
    const entry = platform?.spec.components.find(({ name }) => name === desired.component)
    const report = platform?.status?.components?.find(({ name }) => name === desired.component)
    const other = withheld.find(({ field }) => field.includes(`"${desired.component}"`))
    // A person has the component taken over, which the façade's API cannot say: it is installed all the same.
    const isAdopted = entry?.managementState === 'Adopt' && desired.managementState === 'Managed'
    if (other && !isAdopted) {
      const message = `The field manager ${other.manager} has set ${desired.component} to ${entry?.managementState ?? 'another state'} in Platform default, and that counts. Change it there, or here.`
      return { desired, state: 'Warning', reason: conflictReason, message, report }
    }
    const isObserved = platform?.status?.observedGeneration === platform?.metadata.generation
    const isSame =
      report?.managementState === (isAdopted ? 'Adopt' : desired.managementState) || report?.reason === mandatoryReason
    if (!report || !isObserved || !isSame) {
      return { desired, state: 'Processing', reason: 'Waiting', message: waitingMessage(platform), report }
    }
    const { state, reason, message } = report
    return { desired, state, reason, message, report }
  })
}

function waitingMessage(platform: PlatformObject | undefined): string {
  if (platform?.metadata.deletionTimestamp !== undefined) return 'Platform default is being deleted.'
  return 'Platform default has not reported it yet.'
}

/** Fields that are left to other managers, but for components that a person has taken over as the façade wants them. */
export function overriddenFields(
  withheld: readonly WithheldField[],
  reports: readonly DesiredComponentReport[],
): readonly WithheldField[] {
  const adopted = reports.filter(
    ({ report, reason }) => report?.managementState === 'Adopt' && reason !== conflictReason,
  )
  return withheld.filter(({ field }) => !adopted.some(({ desired }) => field.includes(`"${desired.component}"`)))
}

/** The first components that are still installed although the façade no longer asks for them. */
export function leavingComponents(
  names: readonly string[],
  platform: PlatformObject | undefined,
  catalogue: readonly ComponentObject[],
): readonly string[] {
  const listed = new Set(platform?.spec.components.map(({ name }) => name))
  const mandatory = new Set(catalogue.flatMap(({ spec, metadata }) => (spec.mandatory ? [metadata.name] : [])))
  const wanted = new Set(names)
  return (platform?.status?.components ?? []).flatMap(({ name, installation }) =>
    wanted.has(name) && installation !== undefined && !listed.has(name) && !mandatory.has(name) ? [name] : [],
  )
}

type FacadeCondition = Omit<ConditionUpdate, 'observedGeneration'>

const mostNamed = 10

/** What of the façade's object is not carried over: condition `Accepted`. */
export function acceptedCondition(
  ignored: readonly string[],
  refused: readonly string[],
  withheld: readonly WithheldField[],
): FacadeCondition {
  const conflicts = withheld.map(
    ({ field, manager }) => `${field} of Platform default belongs to the field manager ${manager}, and stays as it is.`,
  )
  const problems = [...conflicts, ...refused]
  if (problems.length > 0) {
    const reason = conflicts.length > 0 ? conflictReason : 'InvalidComponent'
    return { type: 'Accepted', status: 'False', reason, message: problems.slice(0, mostNamed).join(' ') }
  }
  if (ignored.length === 0) {
    return { type: 'Accepted', status: 'True', reason: 'Accepted', message: 'Platform default has all of it.' }
  }
  const more = ignored.length > mostNamed ? ` and ${ignored.length - mostNamed} more` : ''
  const message = `Without effect, as the Platform has no counterpart: ${ignored.slice(0, mostNamed).join(', ')}${more}.`
  return { type: 'Accepted', status: 'True', reason: 'FieldsIgnored', message }
}

/** Whether it counts as ready in a roll-up. */
export function isAtRest({ state }: DesiredComponentReport): boolean {
  return state === 'Ready' || state === 'Unmanaged' || state === 'Removed'
}
