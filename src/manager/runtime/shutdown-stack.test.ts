import { describe, expect, it } from 'vitest'
import { createEndings } from './shutdown-stack.ts'

describe('a shutdown stack', () => {
  it('calls its functions in reverse, each once, even if others fail', async () => {
    const endings = createEndings()
    const ended: string[] = []
    for (const name of ['first', 'second', 'third']) {
      endings.add(() => {
        ended.push(name)
        if (name !== 'first') throw new Error(`${name} did not end well`)
      })
    }
    await expect(endings.close()).rejects.toThrow('third did not end well')
    await endings.close()
    expect(ended).toEqual(['third', 'second', 'first'])
  })
})
