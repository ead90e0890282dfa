import { describe, expect, it } from 'vitest'
import { readTokenFile } from './token-file.ts'

describe('a file of static tokens', () => {
  it('has a user on each line, with groups in quotes', () => {
    const text = 'a,ada,1,"system:masters,dev"\r\n\nb,bob,2\n"c""c",cid,3,one\n'
    expect([...readTokenFile(text, 'f')]).toEqual([
      ['a', { username: 'ada', uid: '1', groups: ['system:masters', 'dev'] }],
      ['b', { username: 'bob', uid: '2', groups: [] }],
      ['c"c', { username: 'cid', uid: '3', groups: ['one'] }],
    ])
  })

  it.each(['secret', 'secret,user', ',user,1', 'secret,user,1,"open'])(
    'names the line of %j, and not its text',
    (line) => {
      const read = (): unknown => readTokenFile(`a,b,c\n${line}\n`, 'tokens.csv')
      expect(read).toThrow('tokens.csv:2')
      expect(read).not.toThrow(/secret/)
    },
  )
})
