/** Patches applied to the server's own objects lead to the server's own results. */
import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from '../../src/kube/builtin.ts'
import { applyJsonPatch, parseJsonPatch } from '../../src/kube/patch/json-patch.ts'
import { type Json, type JsonObject, isJsonObject } from '../../src/kube/json.ts'
import { kindOf } from '../../src/kube/kind.ts'
import { applyMergePatch } from '../../src/kube/patch/merge-patch.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { applyStrategicMerge } from '../../src/kube/patch/strategic-merge.ts'
import type { PatchVector, PatchedObject, PatchedObjectVector } from '../vectors/cases/patches.ts'
import { readVectors } from '../vectors/read.ts'
import { differences } from './differences.ts'

const objects = new Map<PatchedObject, JsonObject>(
  (await readVectors<PatchedObjectVector>('patched-objects')).vectors.map(({ name, before }) => [name, before]),
)
const before = ({ object }: PatchVector): JsonObject => objects.get(object)!

/** What the server refuses for reasons beyond the patch (a wrong type, a rule of the kind) is not for a patch to say. */
const decided = ({ refusal }: PatchVector): boolean => refusal === undefined || refusal.by === 'patch'

// What becomes of a result when the server reads it into the type of a built-in kind and writes it again.
const pruned = 'the server drops what the schema does not know'
const leftOut = 'the server leaves out empty maps and lists'

const json = await readVectors<PatchVector>('json-patches')
const merge = await readVectors<PatchVector>('merge-patches')
const strategic = await readVectors<PatchVector>('strategic-patches')

describe('patches', () => {
  it('JSON patch matches the server', () => {
    const patch = (vector: PatchVector): Json => applyJsonPatch(before(vector), parseJsonPatch(vector.patch))
    const known = {
      'doc: null for a patch': 'the server takes null for an empty list; we take it for a mistake',
      'doc: path without a slash': 'the server ignores what stands before the first slash',
      'configMap: add an unknown member': pruned,
    }
    expect(differences(json.vectors.filter(decided), patch, ({ result }) => result, known)).toEqual([])
  })

  it('JSON merge patch matches the server', () => {
    const patch = (vector: PatchVector): Json => applyMergePatch(before(vector), vector.patch)
    const anything = 'RFC 7386 lets anything replace a document; the server takes objects alone'
    const known = {
      'doc: scalar for a patch': anything,
      'doc: null for a patch': anything,
      'doc: list for a patch': anything,
      'doc: text for a patch': anything,
      'configMap: delete every key of data': leftOut,
      'configMap: unknown member': pruned,
    }
    expect(differences(merge.vectors.filter(decided), patch, ({ result }) => result, known)).toEqual([])
  })

  it('strategic merge patch matches the server', () => {
    const patch = (vector: PatchVector): Json | undefined => {
      const object = before(vector)
      const schema = builtinSchema(kindOf(object as unknown as KubeObject))
      return isJsonObject(vector.patch)
        ? applyStrategicMerge(object, vector.patch, schema, builtinDefinitions())
        : undefined
    }
    const known = {
      'configMap: replace a map with nothing': leftOut,
      'configMap: delete a map by directive': leftOut,
      'configMap: delete all finalizers': leftOut,
      'configMap: replace the owners with none': leftOut,
      'configMap: replace with a null inside': 'null in a map of texts is an empty text to the server',
      'configMap: unknown member': pruned,
      'configMap: null for a patch': 'the server takes null for an empty patch',
      'configMap: delete from a list, not given as a list': 'the server ignores the directive',
    }
    expect(differences(strategic.vectors.filter(decided), patch, ({ result }) => result, known)).toEqual([])
  })
})
