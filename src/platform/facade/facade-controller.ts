/**
 * A façade: the API of another project, mapped onto the Platform. Its controller owns the fields of the Platform that its
 * object asks for, under its own field manager, and maps the Platform's status back. It installs nothing by itself.
 */
import type { Named } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { type Controller, defineController, type StatusReport } from '../../operator/controller.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import type { WithheldField } from '../../operator/dependent/shared-fields.ts'
import { exactly } from '../../operator/view/input.ts'
import type { View } from '../../operator/view/view.ts'
import { Component, type ComponentObject } from '../catalogue/component.ts'
import { Platform, type PlatformObject } from '../components/platform.ts'
import {
  type ComponentNames,
  componentNames,
  type FacadeDesiredState,
  platformFields,
  validDesiredState,
} from './desired-component.ts'
import {
  acceptedCondition,
  leavingComponents,
  overriddenFields,
  type DesiredComponentReport,
  desiredComponentReports,
} from './desired-component-report.ts'

export interface FacadeReportInput<CR extends Named> {
  readonly cr: CR
  readonly reports: readonly DesiredComponentReport[]
  readonly platform: PlatformObject | undefined
  readonly names: ComponentNames
  readonly now: number
}

interface FacadeOptions<CR extends Named> {
  readonly for: TypedResource<CR>
  /** On a Component: its names in the API of the façade. */
  readonly namesAnnotation: string
  desiredState(this: void, cr: CR, names: ComponentNames): FacadeDesiredState
  /** Components that the status of the object names, beside those of its spec. */
  known(this: void, cr: CR, names: ComponentNames): readonly string[]
  status(this: void, input: FacadeReportInput<CR>): StatusReport<CR>
}

const platformAt = exactly(Platform, { name: 'default' })

export function facadeController<CR extends Named>(options: FacadeOptions<CR>): Controller<CR> {
  const { for: kind, namesAnnotation } = options
  const catalogue = (view: View): readonly ComponentObject[] => view.list(Component)
  const namesIn = (view: View): ComponentNames => componentNames(catalogue(view), namesAnnotation)
  const desiredStateOf = (cr: CR, view: View) => validDesiredState(options.desiredState(cr, namesIn(view)))
  const platform = defineDependent<CR, PlatformObject>({
    for: kind,
    kind: Platform,
    policy: 'share',
    name: () => platformAt.name,
    fromCR: ({ cr, view }) => platformFields(desiredStateOf(cr, view)),
    // Its state is mapped back below.
    health: () => ({ status: 'Current', reason: 'Written', message: 'It is written.' }),
  })
  return defineController<CR>({
    for: kind,
    dependents: [platform],
    reads: [Component],
    writes: [platformAt],
    status({ cr, view, now, own, withheld }) {
      const desiredState = desiredStateOf(cr, view)
      const live = own(platform)
      const taken: readonly WithheldField[] = withheld(platform)
      const reports = desiredComponentReports(desiredState, live, taken)
      const report = options.status({ cr, reports, platform: live, names: namesIn(view), now })
      const accepted = acceptedCondition(desiredState.ignored, desiredState.refused, overriddenFields(taken, reports))
      return { ...report, conditions: [accepted, ...(report.conditions ?? [])] }
    },
    finalize({ cr, view }) {
      const live = view.get(Platform, { name: platformAt.name })
      const names = [
        ...desiredStateOf(cr, view).components.map(({ component }) => component),
        ...options.known(cr, namesIn(view)),
      ]
      const leaving = leavingComponents(names, live, catalogue(view))
      if (leaving.length === 0) return 'done'
      return { waitingFor: `Platform default removes ${leaving.slice(0, 5).join(', ')}`, afterMs: 3_600_000 }
    },
  })
}
