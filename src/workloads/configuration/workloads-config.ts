/**
 * The configuration of the workloads operator: one section for each of the controllers that were separate programs before, inside the
 * one configuration of the manager (`operators.workloads.config`).
 */
import { type Config, defineConfig } from '../../operator/config.ts'
import type { Field } from '../../operator/kind/field.ts'
import { type AppWrapperSettings, appWrapperField } from './appwrapper-section.ts'
import { type InstascaleSettings, instascaleField } from './instascale-section.ts'
import { type McadSettings, mcadField } from './mcad-section.ts'

/** The name of the operator, and of its section. */
export const workloadsName = 'workloads'

export interface WorkloadsSettings {
  readonly mcad: McadSettings
  readonly instascale: InstascaleSettings
  readonly appwrapper: AppWrapperSettings
}

// A type, since an interface has no index signature.
type WorkloadsFields = {
  readonly [Section in keyof WorkloadsSettings]: Field<WorkloadsSettings[Section], unknown, 'defaulted'>
}

export const workloadsConfig: Config<WorkloadsFields> = defineConfig({
  mcad: mcadField,
  instascale: instascaleField,
  appwrapper: appWrapperField,
})
