/**
 * Operators that `muster pause OPERATOR` has paused: an annotation of the manager's ConfigMap, as names separated by commas. It
 * is separate from the settings, whose text belongs to the administrator, and like them it applies to all replicas and
 * survives restarts.
 */
import type { Configuration } from './configuration.ts'

export const pausedAnnotation = 'muster.dev/paused'

export function readPausedOperators(annotation: string | undefined): readonly string[] {
  const names = (annotation ?? '').split(',').map((name) => name.trim())
  return [...new Set(names.filter((name) => name !== ''))].toSorted()
}

/** With these operators paused. Names of operators that are not configured are ignored. */
export function pauseOperators(configuration: Configuration, names: readonly string[], source: string): Configuration {
  const { settings, sources } = configuration
  const known = names.filter((name) => Object.hasOwn(settings.operators, name))
  if (known.length === 0) return configuration
  const paused = known.map((name) => [name, { ...settings.operators[name]!, paused: true }] as const)
  const origins = known.map((name) => [`operators.${name}.paused`, `${source}, ${pausedAnnotation}`] as const)
  return {
    ...configuration,
    settings: { ...settings, operators: { ...settings.operators, ...Object.fromEntries(paused) } },
    sources: new Map([...sources, ...origins]),
  }
}
