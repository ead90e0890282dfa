import { describe, expect, it } from 'vitest'
import { decodeWatchEvent } from './watch-event.ts'

describe('a watch event', () => {
  it('is parsed with large integers kept', () => {
    const object = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"n":9007199254740993}}'
    expect(decodeWatchEvent(`{"type":"ADDED","object":${object}}`)).toEqual({
      type: 'ADDED',
      object: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { n: 9007199254740993n } },
    })
    expect(decodeWatchEvent('{"type":"ERROR","object":{"kind":"Status","code":410}}')).toMatchObject({ type: 'ERROR' })
  })

  it('of any other shape is an error that does not quote it', () => {
    const lines = [
      '',
      '{',
      '[]',
      '"x"',
      'null',
      '{"type":"ADDED"}',
      '{"type":"ADDED","object":"hunter2"}',
      '{"object":{}}',
    ]
    for (const line of [...lines, '{"type":"RENAMED","object":{"data":"hunter2"}}', '{"data":"hunter2"']) {
      const decode = (): unknown => decodeWatchEvent(line, 'watch of pods/v1')
      expect(decode).toThrow(expect.objectContaining({ name: 'ProtocolError' }))
      expect(decode).toThrow(/^watch of pods\/v1: (?!.*hunter2)/)
    }
  })
})
