/**
 * The effect of a configuration change. The smallest sufficient one is applied:
 *
 * - **live**: applied while everything runs
 * - **operator**: the affected operators are restarted; the others are not interrupted
 * - **restart**: fixed at the start of the process (its connection, leases, ports)
 */
import { equalJson, isJsonObject, type Json } from '../../kube/json.ts'
import type { Configuration } from './configuration.ts'
import type { Settings } from './settings.ts'

export type Effect = 'live' | 'operator' | 'restart'

export interface SettingChange {
  /** The deepest path that differs: a value, a list, or a section that was added or removed. */
  readonly path: readonly string[]
  readonly effect: Effect
  /** The affected operator, if it is a single one. */
  readonly operator: string | undefined
}

/** By path prefix; `*` is any name. The longest match applies, and anything else needs a restart. */
const effects: readonly (readonly [string, Effect])[] = [
  ['paused', 'live'],
  ['logging', 'live'],
  ['concurrency', 'live'],
  ['tracing.sampleRatio', 'live'],
  ['clusters', 'operator'],
  ['placement', 'operator'],
  ['operators', 'operator'],
  ['operators.*.paused', 'live'],
  ['operators.*.gates', 'live'],
]

/** Without values: some are secret. */
export function changesBetween(
  { settings: before }: Pick<Configuration, 'settings'>,
  { settings: after }: Pick<Configuration, 'settings'>,
): readonly SettingChange[] {
  return differing(before as unknown as Json, after as unknown as Json, []).map((path) => ({
    path,
    effect: effectOf(path),
    operator: path[0] === ('operators' satisfies keyof Settings) ? path[1] : undefined,
  }))
}

function differing(before: Json | undefined, after: Json | undefined, path: readonly string[]): readonly string[][] {
  if (equalJson(before, after)) return []
  if (!isJsonObject(before) || !isJsonObject(after)) return [[...path]]
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].flatMap((name) => differing(own(before, name), own(after, name), [...path, name]))
}

function own(value: Json, name: string): Json | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function effectOf(path: readonly string[]): Effect {
  let best: { readonly length: number; readonly effect: Effect } = { length: 0, effect: 'restart' }
  for (const [pattern, effect] of effects) {
    const steps = pattern.split('.')
    const isFit = steps.every((step, at) => step === '*' || step === path[at]) && steps.length <= path.length
    if (isFit && steps.length > best.length) best = { length: steps.length, effect }
  }
  return best.effect
}
