/**
 * The vectors of `test/vectors` are what a real API server answers. Here it is asked again; a difference means that
 * a case was changed or that the pinned version answers differently.
 */
import { afterAll, describe, expect, inject, it } from 'vitest'
import { equalJson, stringifyJson, type Json } from '../../src/kube/json.ts'
import { type Vector, readVectors, writeVectors } from '../vectors/read.ts'
import { apiOf } from './api.ts'
import { recorders } from './record/recorders.ts'

const access = inject('cluster')
const api = apiOf(access)
afterAll(() => api.close())

describe('recorded vectors', () => {
  for (const recorder of recorders)
    it(`${recorder.set} match the responses of the server`, { timeout: 300_000 }, async () => {
      const vectors = await recorder.record(api)
      // The names of vectors are unique.
      expect(vectors.map(({ name }) => name).filter((name, index, names) => names.indexOf(name) !== index)).toEqual([])
      if (process.env['MUSTER_RECORD']) await writeVectors(recorder.set, { kubernetes: access.version, vectors })
      const recorded = await readVectors(recorder.set)
      const changes = differences(recorded.vectors, vectors)
      if (changes.length > 0)
        throw new Error(
          `${recorder.set}: recorded with ${recorded.kubernetes}, asked again with ${access.version}:\n` +
            `${changes.join('\n')}\nIf the new answers are right, accept them: MUSTER_RECORD=1 npm run test:real`,
        )
    })
})

function differences(recorded: readonly Vector[], asked: readonly Vector[]): readonly string[] {
  const before = new Map(recorded.map((vector) => [vector.name, vector]))
  const after = new Map(asked.map((vector) => [vector.name, vector]))
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [was, is] = [before.get(name), after.get(name)] as [Json | undefined, Json | undefined]
    return equalJson(was, is) ? [] : [`${name}: ${stringifyJson(was)} → ${stringifyJson(is)}`]
  })
}
