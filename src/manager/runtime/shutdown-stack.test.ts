import { describe, expect, it } from 'vitest'
import { createEndings } from './shutdown-stack.ts'

describe('endings', () => {
  it('come in reverse, each once, and each whatever becomes of the others', async () => {
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
