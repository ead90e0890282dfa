import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../kube/json.ts'
import { logLevels } from '../logging/log-line.ts'
import { logWriter } from './log-writer.ts'

function written(line: JsonObject, logging: Parameters<typeof logWriter>[2]): readonly string[] {
  const lines: string[] = []
  logWriter(
    (text) => lines.push(text),
    () => 0,
    logging,
  )(line)
  return lines
}

describe('a line of the log', () => {
  it.each([
    [{ error: 'no' }, 'error'],
    [{ outcome: 'failed' }, 'error'],
    [{ problem: 'slow' }, 'warn'],
    [{ finding: 'HotLoop' }, 'warn'],
    [{ isolation: 'worker', warning: 'NOT ISOLATED' }, 'warn'],
    [{ operator: 'web', started: true }, 'info'],
  ])('%j has the level %s', (line, level) => {
    const [text] = written(line, () => ({ format: 'json', level: 'debug' }))
    expect(JSON.parse(text!)).toMatchObject({ level, ...line })
    expect(Object.keys(JSON.parse(text!) as object).slice(0, 2)).toEqual(['time', 'level'])
    expect(written(line, () => ({ format: 'text', level: 'debug' }))[0]).toMatch(new RegExp(`^\\S+ ${level} `))
  })

  it('has a level of the log, whatever its members are called', () => {
    const line = { level: 'worker', time: 'never', problem: 'it ended' }
    const { level, time } = JSON.parse(written(line, () => ({ format: 'json', level: 'info' }))[0]!) as JsonObject
    expect(logLevels).toContain(level)
    expect(time).toBe('1970-01-01T00:00:00Z')
  })

  it('below the least level is not written', () => {
    expect(written({ problem: 'slow' }, () => ({ format: 'json', level: 'error' }))).toEqual([])
  })
})
