import { describe, expect, it } from 'vitest'
import { readConfiguration } from './configuration.ts'
import { pauseOperators, readPausedOperators } from './paused-operators.ts'

describe('paused operators', () => {
  it.each([
    [undefined, []],
    ['', []],
    ['web', ['web']],
    [' web , db,web,, ', ['db', 'web']],
  ])('reads the annotation %j', (annotation, names) => {
    expect(readPausedOperators(annotation)).toEqual(names)
  })

  it('pauses configured operators, names the source, and ignores other names', () => {
    const before = readConfiguration(
      [],
      [
        { name: 'web', config: undefined },
        { name: 'db', config: undefined },
      ],
    )
    const after = pauseOperators(before, ['db', 'gone'], 'ConfigMap ops/muster')
    expect(after.settings.operators['db']?.paused).toBe(true)
    expect(after.settings.operators['web']?.paused).toBe(false)
    expect(after.settings.operators['gone']).toBeUndefined()
    expect(after.sources.get('operators.db.paused')).toBe('ConfigMap ops/muster, muster.dev/paused')
    expect(pauseOperators(before, [], '')).toBe(before)
  })
})
