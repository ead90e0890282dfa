import { describe, expect, it } from 'vitest'
import { app } from '../../../test/app-operator.ts'
import { isPausedObject, pausedLabel } from './paused.ts'

const labelled = (value: string) => app('a', {}, { labels: { [pausedLabel]: value } })

describe('pausing', () => {
  it('applies to one object by its label, only with the value "true"', () => {
    expect(isPausedObject(labelled('true'))).toBe(true)
    for (const value of ['false', '', 'True', 'yes']) expect(isPausedObject(labelled(value))).toBe(false)
    expect(isPausedObject(app('a'))).toBe(false)
  })
})
