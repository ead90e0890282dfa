import { describe, expect, it } from 'vitest'
import { createWarmUp } from './warm-up.ts'

describe('the warm-up', () => {
  it('takes so many characters and no more, and is over for good', () => {
    const warmUp = createWarmUp(100)
    expect([warmUp.take(60), warmUp.take(40), warmUp.take(1), warmUp.take(0)]).toEqual([true, true, false, false])
  })
})
