import { describe, expect, it } from 'vitest'
import { isItem, parseFieldPath } from './field-path.ts'

describe('a path to a field', () => {
  it.each([
    ['spec.replicas', [{ member: 'spec' }, { member: 'replicas' }]],
    [
      'metadata.annotations["example.com/size"]',
      [{ member: 'metadata' }, { member: 'annotations' }, { member: 'example.com/size' }],
    ],
    ['a[name=app].image', [{ member: 'a' }, { key: 'name', value: 'app' }, { member: 'image' }]],
    ['a[name="app"].image', [{ member: 'a' }, { key: 'name', value: 'app' }, { member: 'image' }]],
    ['ports[containerPort=80]', [{ member: 'ports' }, { key: 'containerPort', value: '80' }]],
    ['data["quote\\"d"]', [{ member: 'data' }, { member: 'quote"d' }]],
    ['data["]"]', [{ member: 'data' }, { member: ']' }]],
    ['__proto__.constructor', [{ member: '__proto__' }, { member: 'constructor' }]],
  ])('%s', (text, path) => {
    expect(parseFieldPath(text)).toEqual(path)
  })

  it.each(['', '.', 'a..b', 'a[0]', 'a[', 'a[name=', 'spec replicas', 'a["x', 'a["\\x"]', '/spec/replicas'])(
    'rejects %j, with the position',
    (text) => {
      expect(() => parseFieldPath(text)).toThrow(/is no path to a field/)
      expect(() => parseFieldPath(text)).toThrow(expect.objectContaining({ name: 'InvalidFieldPath' }))
    },
  )

  it('addresses items by string and by number', () => {
    expect(isItem({ port: 80 }, { key: 'port', value: '80' })).toBe(true)
    expect(isItem({ name: 'a' }, { key: 'name', value: 'b' })).toBe(false)
    expect(isItem({}, { key: 'constructor', value: 'x' })).toBe(false)
    expect(isItem('text', { key: 'length', value: '4' })).toBe(false)
  })
})
