import { describe, expect, it } from 'vitest'
import { app } from '../../../test/kit.ts'
import { isPausedObject, pausedBy, pausedLabel } from './paused.ts'

const labelled = (value: string) => app('a', {}, { labels: { [pausedLabel]: value } })
const nobody = { manager: false, operator: false }

describe('pausing', () => {
  it('holds for one object by its label, and by no other value of it than "true"', () => {
    expect(pausedBy(labelled('true'), nobody)).toBe('object')
    for (const value of ['false', '', 'True', 'yes']) expect(pausedBy(labelled(value), nobody)).toBeUndefined()
    expect(isPausedObject(app('a'))).toBe(false)
  })

  it('reports the widest scope', () => {
    const cr = labelled('true')
    expect(pausedBy(cr, { manager: true, operator: true })).toBe('manager')
    expect(pausedBy(cr, { manager: false, operator: true })).toBe('operator')
    expect(pausedBy(app('a'), { manager: true, operator: false })).toBe('manager')
  })
})
