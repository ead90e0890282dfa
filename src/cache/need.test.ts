import { assert, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anObject, aScope, scope } from '../../test/watch-scopes.ts'
import {
  inWatchScope,
  joinShapes,
  localScope,
  pathsToSelect,
  scopeServes,
  type ObjectShape,
  shapeServes,
} from './need.ts'

describe('scopes', () => {
  it('that serve others contain all of their objects', () => {
    assert(
      property(aScope, aScope, anObject, (held, asked, object) => {
        const isHeld = !scopeServes(held, asked) || !inWatchScope(asked, object) || inWatchScope(held, object)
        expect(isHeld).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })

  it('serve themselves, and the unlimited scope serves all', () => {
    assert(
      property(aScope, (asked) => {
        expect(scopeServes(asked, asked)).toBe(true)
        expect(scopeServes(scope(), asked)).toBe(true)
      }),
    )
  })

  it('select the same from a watch, without the fields selected by the server', () => {
    assert(
      property(aScope, aScope, anObject, (asked, watched, object) => {
        const isBrought = inWatchScope(watched, object)
        expect(isBrought && inWatchScope(localScope(asked, watched), object)).toBe(
          isBrought && inWatchScope(asked, object),
        )
      }),
      { numRuns: 1000 },
    )
    const running = scope({ fields: 'status.phase=Running' })
    expect(pathsToSelect(running, running)).toEqual([])
    expect(pathsToSelect(running, scope())).toEqual(['status.phase'])
    expect(pathsToSelect(scope({ fields: 'metadata.name=x' }), scope())).toEqual([])
  })

  it('know their single name', () => {
    expect(scope({ fields: 'metadata.name=x' }).name).toBe('x')
    expect(scope({ fields: 'metadata.name!=x' }).name).toBeUndefined()
  })
})

describe('projections', () => {
  const shape = (detail: ObjectShape['detail'], managedFields = false): ObjectShape => ({ detail, managedFields })

  it('have a least upper bound', () => {
    const lean = shape(['status.phase'])
    expect(joinShapes(shape('metadata'), lean)).toEqual(lean)
    expect(joinShapes(lean, shape(['spec', 'spec.nodeName']))).toEqual(shape(['spec', 'status.phase']))
    expect(joinShapes(lean, shape('full', true))).toEqual(shape('full', true))
  })

  it('serve narrower ones', () => {
    expect(shapeServes(shape('metadata'), shape([]))).toBe(true)
    expect(shapeServes(shape('metadata'), shape(['spec']))).toBe(false)
    expect(shapeServes(shape(['spec']), shape(['spec.nodeName']))).toBe(true)
    expect(shapeServes(shape(['spec']), shape('full'))).toBe(false)
    expect(shapeServes(shape('full'), shape('metadata', true))).toBe(false)
  })
})
