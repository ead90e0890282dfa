/** One layer of a configuration: what a file, the environment or flags say, and where exactly each of its values stands. */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { problemLine, type Problem } from './problem.ts'

export interface Layer {
  /** Where it comes from: `muster.yaml`, `ConfigMap muster/config`, `environment`, `flags`. */
  readonly source: string
  readonly value: Json
  /** The text it was read from, so that lines can be told. */
  readonly text?: string | undefined
  /** Where single values stand, by path: `environment variable MUSTER__paused`. */
  readonly places?: ReadonlyMap<string, string> | undefined
  /** What could not be read at all. */
  readonly problems?: readonly PlacedProblem[] | undefined
}

export interface PlacedProblem extends Problem {
  readonly place: string
}

const noPlaces: ReadonlyMap<string, string> = new Map()

/** Where a path stands in a layer, or what is around it. */
export function placeIn({ source, text, places = noPlaces }: Layer, path: readonly string[]): string {
  for (let length = path.length; length > 0; length--) {
    const place = places.get(path.slice(0, length).join('.'))
    if (place !== undefined) return place
  }
  const line = text === undefined ? undefined : problemLine(text, path)
  return line === undefined ? source : `${source}:${line}`
}

/** What is null is left out: a section whose lines are all comments is null to YAML. */
export function withoutNullSettings(value: Json): Json {
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === null || member === undefined ? [] : [[name, withoutNullSettings(member)]],
    ),
  )
}

/** Maps are merged; anything else is replaced as a whole. */
export function mergeOver(below: JsonObject, above: JsonObject): JsonObject {
  const merged = new Map(Object.entries(below))
  for (const [name, value] of Object.entries(above)) {
    const was = merged.get(name)
    merged.set(name, isJsonObject(was) && isJsonObject(value) ? mergeOver(was, value) : value)
  }
  return Object.fromEntries(merged)
}
