/**
 * What kustomize itself makes of a kustomization, and what Muster makes of it: over the kustomizations of `test/render`, whose
 * golden texts `MUSTER_RECORD=1` makes anew, and over random ones.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { realKustomize } from '../../scripts/real-binaries.ts'
import type { Json } from '../../src/kube/json.ts'
import { MusterError } from '../../src/kube/muster-error.ts'
import { readYamlDocuments } from '../../src/kube/yaml/yaml.ts'
import { renderKustomization } from '../../src/render/kustomize/render-kustomization.ts'
import { kustomizationCases } from '../render/kustomizations.ts'
import { type KustomizePeer, startKustomize } from '../render/kustomize-peer.ts'
import { randomKustomization } from '../render/random-kustomization.ts'
import { refusedKustomizations } from '../render/refused-kustomizations.ts'

let kustomize: KustomizePeer
beforeAll(async () => {
  kustomize = startKustomize(await realKustomize())
})
afterAll(() => kustomize.close())

describe('kustomizations', () => {
  it.each(kustomizationCases)('$name: as objects and as text', async ({ files, folder, golden }) => {
    const { text, error } = await kustomize.build(files, folder)
    expect(error).toBeUndefined()
    if (process.env['MUSTER_RECORD']) await writeFile(golden, text)
    expect(await readFile(golden, 'utf8')).toBe(text)
    const rendered = renderKustomization(files, folder)
    expect(rendered.objects).toEqual(readYamlDocuments(text))
    expect(rendered.text).toBe(text)
  })

  it.each(kustomizationCases)('$name: in the order of the files', async ({ files, folder }) => {
    const { text } = await kustomize.build(files, folder, true)
    expect(renderKustomization(files, folder, { reorder: 'none' }).text).toBe(text)
  })

  it.each(refusedKustomizations.filter(({ isStricter }) => !isStricter))(
    'refused by kustomize as well: $name',
    async ({ files, folder = '.' }) => {
      const { error } = await kustomize.build(new Map(Object.entries(files)), folder)
      expect(error).toBeTypeOf('string')
    },
    20_000,
  )

  it('random ones have the same objects and the same text', { timeout: 300_000 }, async () => {
    // A minute on two busy cores.
    const count = 4000
    const different: Json[] = []
    let built = 0
    for (let index = 0; index < count; index++) {
      const seed = inject('seed') + index
      const { files, folder } = randomKustomization(seed)
      const { text, error } = await kustomize.build(files, folder)
      const own = attempt(() => renderKustomization(files, folder).text)
      if (own !== (error === undefined ? text : refused)) different.push({ seed, text: error ?? text, own })
      else if (error === undefined) built++
    }
    expect(different).toEqual([])
    // Most of the rest are refused by both.
    expect(built).toBeGreaterThan(count / 3)
  })
})

const refused = 'refused'

function attempt(render: () => string): string {
  try {
    return render()
  } catch (error) {
    if (error instanceof MusterError) return refused
    throw error
  }
}
