import { describe, expect, it } from 'vitest'
import { edited, mergePatchOf, placeOf, strategicPatchOf } from './edit.ts'
import { generate } from './generator.ts'
import { inNamespace } from './minimise.ts'
import { gone } from './step.ts'

const options = { length: 40, group: 'g.example.com', namespace: 'n' }

describe('a sequence', () => {
  it('is determined by its seed', () => {
    expect(generate({ ...options, seed: 1 })).toEqual(generate({ ...options, seed: 1 }))
    expect(generate({ ...options, seed: 1 })).not.toEqual(generate({ ...options, seed: 2 }))
  })

  it('is the same in another namespace', () => {
    const moved = inNamespace(generate({ ...options, namespace: 'one-place', seed: 3 }), 'elsewhere')
    expect(moved).toEqual(generate({ ...options, namespace: 'elsewhere', seed: 3 }))
  })

  it('contains every kind of write', () => {
    const steps = Array.from({ length: 50 }, (_none, seed) => generate({ ...options, seed }).steps).flat()
    const types = new Set(steps.map(({ method, type = '' }) => `${method} ${type.replace('application/', '')}`))
    expect([...types]).toEqual(
      expect.arrayContaining([
        'POST ',
        'PUT ',
        'DELETE ',
        'PATCH json-patch+json',
        'PATCH merge-patch+json',
        'PATCH strategic-merge-patch+json',
        'PATCH apply-patch+yaml',
      ]),
    )
  })
})

describe('one edit', () => {
  const base = { spec: { ports: [{ name: 'http', port: 80 }], replicas: 1 } }

  it('of an object', () => {
    expect(edited(base, { place: placeOf('spec/ports/0/port'), value: 81 })).toEqual({
      spec: { ports: [{ name: 'http', port: 81 }], replicas: 1 },
    })
    expect(edited(base, { place: placeOf('spec/replicas'), value: gone })).toEqual({ spec: { ports: base.spec.ports } })
  })

  it('as a patch: for lists, the whole list or the item with its key', () => {
    const edit = { place: placeOf('spec/ports/0/port'), value: 81 }
    expect(mergePatchOf(edit, base)).toEqual({ spec: { ports: [{ name: 'http', port: 81 }] } })
    expect(strategicPatchOf(edit, base)).toEqual({ spec: { ports: [{ name: 'http', port: 81 }] } })
    const removal = { place: placeOf('spec/replicas'), value: gone }
    expect(mergePatchOf(removal, base)).toEqual({ spec: { replicas: null } })
  })
})
