import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { documentedDefaults } from './documented-defaults.ts'

describe('documented defaults', () => {
  const defaults = documentedDefaults(path.resolve(import.meta.dirname, '../..'))

  it('match the code', () => {
    const wrong = defaults.filter(({ documented, stated }) => stated.some((value) => value !== documented))
    const texts = wrong.map(
      ({ where, documented, stated }) => `${where}: documented ${documented}, stated ${stated.join(', ')}`,
    )
    expect(texts).toEqual([])
  })

  it('can mostly be compared', () => {
    expect(defaults.filter(({ stated }) => stated.length > 0).length).toBeGreaterThanOrEqual(150)
  })
})
