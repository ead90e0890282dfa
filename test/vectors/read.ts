/** The recorded answers of a real API server: one file a set, one line a vector. */
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseJson, stringifyJson } from '../../src/kube/json.ts'

export interface Vector {
  /** Unique in its set. */
  readonly name: string
}

export interface VectorFile<V extends Vector> {
  /** The version of the server that answered. */
  readonly kubernetes: string
  readonly vectors: readonly V[]
}

const fileOf = (set: string): string => fileURLToPath(new URL(`./${set}.json`, import.meta.url))

/** Integers beyond 2^53 are `bigint`s, as everywhere in Muster. */
export async function readVectors<V extends Vector>(set: string): Promise<VectorFile<V>> {
  return parseJson(await readFile(fileOf(set), 'utf8')) as unknown as VectorFile<V>
}

export async function writeVectors<V extends Vector>(set: string, file: VectorFile<V>): Promise<void> {
  const lines = file.vectors.map((vector) => `    ${stringifyJson(vector)}`)
  await writeFile(
    fileOf(set),
    `{\n  "kubernetes": ${stringifyJson(file.kubernetes)},\n  "vectors": [\n${lines.join(',\n')}\n  ]\n}\n`,
  )
}
