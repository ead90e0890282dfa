/**
 * What follows from a change of the configuration. The least that will do is done:
 *
 * - **live**: it is taken over while everything runs
 * - **operator**: the operators that it is about are taken down and added again; the others do not notice
 * - **restart**: what it is about was settled when the process started (its connection, leases, what is listened on)
 */
import { equalJson, isJsonObject, type Json } from '../../kube/json.ts'
import type { Configuration } from './configuration.ts'
import type { Settings } from './settings.ts'

export type Effect = 'live' | 'operator' | 'restart'

export interface SettingChange {
  /** The deepest that is not the same: a value, a list, or something that came or went whole. */
  readonly path: readonly string[]
  readonly effect: Effect
  /** Whom it is about, where it is about one alone. */
  readonly operator: string | undefined
}

/** By how paths begin; `*` is any name. The longest that fits decides, and what is not here needs a restart. */
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

/** Values are not told: some are secret. */
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
