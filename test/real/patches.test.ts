/** Patches that we make of two objects lead a real API server from the one to the other. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createJsonPatch } from '../../src/kube/patch/json-patch.ts'
import { type Json, type JsonObject, equalJson, isJsonObject, stringifyJson } from '../../src/kube/json.ts'
import { createMergePatch } from '../../src/kube/patch/merge-patch.ts'
import type { PatchVector, PatchedObject } from '../vectors/cases/patches.ts'
import { readVectors } from '../vectors/read.ts'
import { apiOf } from './api.ts'
import { createObjects, pathOfObject } from './record/patches.ts'
import { mapInTurns, withoutVolatile } from './record/recorder.ts'

const namespace = 'made-patches'
const api = apiOf(inject('cluster'))
let objects: Readonly<Record<PatchedObject, JsonObject>>
beforeAll(async () => {
  objects = await createObjects(api, namespace)
})
afterAll(() => api.close())

const targets = (
  await Promise.all(['json-patches', 'merge-patches', 'strategic-patches'].map((set) => readVectors<PatchVector>(set)))
).flatMap(({ vectors }) => vectors.filter(({ result }) => result))

describe('patches created by Muster', () => {
  it('as JSON patch result in the target', async () => {
    expect(
      await strays('application/json-patch+json', targets, (from, to) => createJsonPatch(from, to) as unknown as Json),
    ).toEqual([])
  })

  it('as JSON merge patch result in the target, where null is not a value', async () => {
    const sayable = targets.filter(({ result, object }) => !differsInNull(objects[object], result))
    expect(sayable.length).toBeGreaterThan(200)
    expect(await strays('application/merge-patch+json', sayable, createMergePatch)).toEqual([])
  })
})

/** The targets that the server does not reach. */
async function strays(
  type: string,
  vectors: readonly PatchVector[],
  create: (from: JsonObject, to: JsonObject) => Json,
): Promise<readonly string[]> {
  const results = await mapInTurns(vectors, async (vector): Promise<readonly string[]> => {
    const target = inNamespace(vector.result ?? {})
    const patch = create(objects[vector.object], target)
    const { status, body, message } = await api.call('PATCH', pathOfObject(vector, namespace), {
      type,
      body: stringifyJson(patch),
      query: { dryRun: 'All' },
    })
    const reached = status === 200 && isJsonObject(body) && equalJson(withoutVolatile(body), target)
    return reached ? [] : [`${vector.name}: ${stringifyJson(patch)} led to ${status} ${message || stringifyJson(body)}`]
  })
  return results.flat()
}

function inNamespace(object: JsonObject): JsonObject {
  const metadata = object['metadata'] as JsonObject
  return metadata['namespace'] ? { ...object, metadata: { ...metadata, namespace } } : object
}

/** To a merge patch a member that is null is as good as none: it neither sets nor removes one. */
function differsInNull(from: Json | undefined, to: Json | undefined): boolean {
  if (from === null || to === null) return from !== to
  if (!isJsonObject(to)) return false
  const old = isJsonObject(from) ? from : {}
  return Object.keys({ ...old, ...to }).some((key) => differsInNull(old[key], to[key]))
}
