import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../kube/json.ts'
import { type LogLine, logLevels } from './log-line.ts'
import { type LogSettings, logFormats, logWriter } from './log-writer.ts'

const at = Date.UTC(2026, 0, 2, 3, 4, 5, 67)

function written(line: LogLine, settings: LogSettings): readonly string[] {
  const lines: string[] = []
  logWriter(
    (text) => lines.push(text),
    () => at,
    () => settings,
  )(line)
  return lines
}

describe('log writer', () => {
  const line: LogLine = {
    level: 'warn',
    msg: 'Cache is stale',
    resource: 'pods/v1',
    error: 'no route',
    retryAfterMs: 5,
  }

  it('writes JSON with time in milliseconds, level and message first', () => {
    const [text] = written(line, { format: 'json', level: 'info' })
    expect(text).toBe(
      '{"time":"2026-01-02T03:04:05.067Z","level":"warn","msg":"Cache is stale","resource":"pods/v1","error":"no route","retryAfterMs":5}',
    )
  })

  it('writes text with quoted values', () => {
    const [text] = written(line, { format: 'text', level: 'info' })
    expect(text).toBe('2026-01-02T03:04:05.067Z warn "Cache is stale" resource=pods/v1 error="no route" retryAfterMs=5')
  })

  it("writes klog's header, with the operator as source", () => {
    const [text] = written({ ...line, operator: 'a b]' }, { format: 'klog', level: 'info' })
    expect(text).toMatch(
      /^W0102 03:04:05\.067000 \d+ a_b_\] "Cache is stale" resource=pods\/v1 error="no route" retryAfterMs=5 operator="a b\]"$/,
    )
    // The expression by which log collectors take such a line apart.
    expect(text).toMatch(/^[IWEF]\d{4} \S+\s+\d+ [^ \]]+\] .+$/)
  })

  it.each(logFormats)('writes one line in the format %s, whatever the values contain', (format) => {
    const [text] = written({ msg: 'a\nb', error: 'c\r\nd\u001b[1m' }, { format, level: 'debug' })
    for (const character of ['\r', '\n', '\u001b']) expect(text).not.toContain(character)
  })

  it('has a level of the log, whatever its members are called', () => {
    // A line that comes from JavaScript may have any member.
    const hostile = { msg: 'it ended', time: 'never', ...({ level: 'warn' } as const) } as unknown as LogLine
    const { level, time } = JSON.parse(written(hostile, { format: 'json', level: 'info' })[0]!) as JsonObject
    expect(logLevels).toContain(level)
    expect(time).toBe('2026-01-02T03:04:05.067Z')
  })

  it('writes no line below the lowest level; the default level is info', () => {
    expect(written(line, { format: 'json', level: 'error' })).toEqual([])
    expect(written({ msg: 'x' }, { format: 'json', level: 'warn' })).toEqual([])
    expect(written({ msg: 'x' }, { format: 'json', level: 'info' })).toHaveLength(1)
  })
})
