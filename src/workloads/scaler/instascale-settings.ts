/** The settings of the node scaler: the section `instascale` of the configuration. */
import { type Config, defineConfig } from '../../operator/config.ts'
import type { Field } from '../../operator/kind/field.ts'
import { instascaleField, type InstascaleSettings } from '../configuration/instascale-section.ts'
import type { ScaleSettings } from '../core/scale/scale-round.ts'

type InstascaleFields = { readonly instascale: Field<InstascaleSettings, unknown, 'defaulted'> }

export const instascaleConfig: Config<InstascaleFields> = defineConfig({ instascale: instascaleField })

export interface InstascaleConfig {
  readonly instascale: InstascaleSettings
}

export function scaleSettings(settings: InstascaleSettings): ScaleSettings {
  return {
    maxScaleout: settings.maxScaleoutAllowed,
    graceMs: settings.graceSeconds * 1000,
    machineTimeoutMs: settings.machineTimeoutSeconds * 1000,
    coolDownMs: settings.coolDownSeconds * 1000,
    settleMs: settings.settleSeconds * 1000,
  }
}
