import { describe, expect, it } from 'vitest'
import { pemBlocks } from './pem.ts'

const block = (type: string, body = 'AAAA'): string => `-----BEGIN ${type}-----\n${body}\n-----END ${type}-----`
const typesIn = (text: string): readonly string[] => Array.from(pemBlocks(text), ({ type }) => type)

describe('PEM blocks', () => {
  it('are found within other text', () => {
    const [first, second] = [block('CERTIFICATE'), block('CERTIFICATE REQUEST', 'BBBB\nCCCC')]
    expect(Array.from(pemBlocks(`hello\n${first}\nhello\n${second}\n`))).toStrictEqual([
      { type: 'CERTIFICATE', text: first },
      { type: 'CERTIFICATE REQUEST', text: second },
    ])
    expect(typesIn(first.replaceAll('\n', '\r\n'))).toStrictEqual(['CERTIFICATE'])
  })

  it('begin at the last BEGIN line before an END line', () => {
    expect(typesIn(`-----BEGIN A-----\n-----BEGIN B-----\nAAAA\n-----END B-----\n`)).toStrictEqual(['B'])
    expect(typesIn(`-----BEGIN A-----\n${block('B')}\n-----END A-----\n`)).toStrictEqual(['B'])
  })

  it('are not found when an end is missing, of another type, or in the middle of a line', () => {
    expect(typesIn('-----BEGIN A-----\nAAAA\n')).toStrictEqual([])
    expect(typesIn('-----BEGIN A-----\nAAAA\n-----END B-----\n')).toStrictEqual([])
    expect(typesIn(` ${block('A')}`)).toStrictEqual([])
    expect(typesIn(`${block('A')} A\n`)).toStrictEqual([])
    expect(typesIn('-----BEGIN A\nAAAA\n-----END A-----\n')).toStrictEqual([])
  })
})
