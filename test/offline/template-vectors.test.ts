/** Templates as Helm's engine rendered them. */
import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { outcome } from '../real/templates/compare.ts'
import { renderHere } from '../real/templates/render-case.ts'
import type { RenderVector } from '../vectors/cases/templates.ts'

describe.each(['templates', 'sprig'])('recorded %s', (set) => {
  it('render as with Helm', async () => {
    const file = new URL(`../vectors/${set}.json`, import.meta.url)
    const { vectors } = JSON.parse(await readFile(file, 'utf8')) as { vectors: readonly RenderVector[] }
    expect(vectors.length).toBeGreaterThan(80)
    const different = vectors.flatMap(({ rendered, error, ...one }) => {
      const recorded = outcome(error === undefined ? { rendered: { 'c/templates/a.yaml': rendered ?? '' } } : { error })
      const ours = outcome(renderHere(one))
      return ours === recorded ? [] : [`${one.name}\n  here: ${ours}\n  helm: ${recorded}`]
    })
    expect(different).toEqual([])
  })
})
