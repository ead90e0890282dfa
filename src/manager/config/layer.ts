/** One layer of a configuration: the values of a file, the environment or flags, with their positions. */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { problemLine, type Problem } from './problem.ts'

export interface Layer {
  /** `muster.yaml`, `ConfigMap muster/config`, `environment`, `flags`. */
  readonly source: string
  readonly value: Json
  /** The source text, for line numbers. */
  readonly text?: string | undefined
  /** Positions of single values, by path: `environment variable MUSTER__paused`. */
  readonly places?: ReadonlyMap<string, string> | undefined
  /** Problems of reading the layer. */
  readonly problems?: readonly PlacedProblem[] | undefined
}

export interface PlacedProblem extends Problem {
  readonly place: string
}

const noPlaces: ReadonlyMap<string, string> = new Map()

/** The position of a path in a layer, or of its parent. */
export function placeIn({ source, text, places = noPlaces }: Layer, path: readonly string[]): string {
  for (let length = path.length; length > 0; length--) {
    const place = places.get(path.slice(0, length).join('.'))
    if (place !== undefined) return place
  }
  const line = text === undefined ? undefined : problemLine(text, path)
  return line === undefined ? source : `${source}:${line}`
}

/** Removes nulls: in YAML, a section with only comments is null. */
export function withoutNullSettings(value: Json): Json {
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === null || member === undefined ? [] : [[name, withoutNullSettings(member)]],
    ),
  )
}

/** Merges maps; replaces anything else. */
export function mergeOver(below: JsonObject, above: JsonObject): JsonObject {
  const merged = new Map(Object.entries(below))
  for (const [name, value] of Object.entries(above)) {
    const was = merged.get(name)
    merged.set(name, isJsonObject(was) && isJsonObject(value) ? mergeOver(was, value) : value)
  }
  return Object.fromEntries(merged)
}
