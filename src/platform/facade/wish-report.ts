/** What became of the wishes of a façade, as the status of the Platform has it. Pure. */
import type { ConditionUpdate } from '../../kube/meta/condition.ts'
import type { WithheldField } from '../../operator/dependent/shared-fields.ts'
import type { ComponentObject } from '../catalogue/component.ts'
import { mandatoryReason } from '../components/component-report.ts'
import type { ComponentReport, ComponentState, PlatformObject } from '../components/platform.ts'
import type { ComponentWish, FacadeWishes } from './component-wish.ts'

export interface WishReport {
  readonly wish: ComponentWish
  readonly state: ComponentState
  readonly reason: string
  readonly message: string
  /** The Platform's own report; absent until it has one. */
  readonly report?: ComponentReport | undefined
}

const conflictReason = 'FieldManagerConflict'

/** Of each wish. A wish that another field manager overrides is a warning, whatever state its component has. */
export function wishReports(
  { components }: FacadeWishes,
  platform: PlatformObject | undefined,
  withheld: readonly WithheldField[],
): readonly WishReport[] {
  return components.map((wish): WishReport => {
    const entry = platform?.spec.components.find(({ name }) => name === wish.component)
    const report = platform?.status?.components?.find(({ name }) => name === wish.component)
    const other = withheld.find(({ field }) => field.includes(`"${wish.component}"`))
    // A person has the component taken over, which the façade's API cannot say: it is installed all the same.
    const isAdopted = entry?.managementState === 'Adopt' && wish.managementState === 'Managed'
    if (other && !isAdopted) {
      const message = `The field manager ${other.manager} has set ${wish.component} to ${entry?.managementState ?? 'another state'} in Platform default, and that counts. Change it there, or here.`
      return { wish, state: 'Warning', reason: conflictReason, message, report }
    }
    const isObserved = platform?.status?.observedGeneration === platform?.metadata.generation
    const isSame =
      report?.managementState === (isAdopted ? 'Adopt' : wish.managementState) || report?.reason === mandatoryReason
    if (!report || !isObserved || !isSame) {
      return { wish, state: 'Processing', reason: 'Waiting', message: waitingMessage(platform), report }
    }
    const { state, reason, message } = report
    return { wish, state, reason, message, report }
  })
}

function waitingMessage(platform: PlatformObject | undefined): string {
  if (platform?.metadata.deletionTimestamp !== undefined) return 'Platform default is being deleted.'
  return 'Platform default has not reported it yet.'
}

/** Fields that are left to other managers, but for components that a person has taken over as the façade wants them. */
export function overriddenFields(
  withheld: readonly WithheldField[],
  reports: readonly WishReport[],
): readonly WithheldField[] {
  const adopted = reports.filter(
    ({ report, reason }) => report?.managementState === 'Adopt' && reason !== conflictReason,
  )
  return withheld.filter(({ field }) => !adopted.some(({ wish }) => field.includes(`"${wish.component}"`)))
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
export function isAtRest({ state }: WishReport): boolean {
  return state === 'Ready' || state === 'Unmanaged' || state === 'Removed'
}
