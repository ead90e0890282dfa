import { describe, expect, it } from 'vitest'
import { createRecall, recallIdentity, noRecall, type Recall } from './recall.ts'

/** How often something is made, and what is given. */
function counted(recall: Recall): { readonly ask: (input: string) => object; readonly made: () => number } {
  let made = 0
  const make = (): object => {
    made++
    return { made }
  }
  return { ask: (input) => recall(() => input, make), made: () => made }
}

describe('a memo', () => {
  it('returns the remembered result for the same input, and computes new ones', () => {
    const { ask, made } = counted(createRecall())
    const first = ask('a')
    expect(ask('a')).toBe(first)
    expect(ask('b')).not.toBe(first)
    expect(made()).toBe(2)
  })

  it('separates the results of two functions for one text', () => {
    const recall = createRecall()
    const ask = (within: string | undefined): object =>
      recall(
        () => 'a',
        () => ({ within }),
        within,
      )
    const [one, other, none] = [ask('one'), ask('other'), ask(undefined)]
    expect([one, other, none]).toEqual([{ within: 'one' }, { within: 'other' }, { within: undefined }])
    expect([ask('one'), ask('other'), ask(undefined)].map((again, at) => again === [one, other, none][at])).toEqual([
      true,
      true,
      true,
    ])
  })

  it('remembers undefined like any other result', () => {
    const recall = createRecall()
    let made = 0
    const make = (): undefined => void made++
    recall(() => 'nothing', make)
    recall(() => 'nothing', make)
    expect(made).toBe(1)
  })

  it('does not remember exceptions', () => {
    const recall = createRecall()
    const refuse = (): never => {
      throw new Error('refused')
    }
    expect(() => recall(() => 'a', refuse)).toThrow('refused')
    expect(
      recall(
        () => 'a',
        () => 1,
      ),
    ).toBe(1)
  })

  it('keeps used entries, and evicts the others', () => {
    const { ask, made } = counted(createRecall(100))
    const often = ask('often')
    ask('once')
    for (let at = 0; at < 100; at++) {
      ask(`filling ${at}`)
      expect(ask('often')).toBe(often)
    }
    const before = made()
    ask('once')
    expect(made()).toBe(before + 1)
  })

  it('does not format the input when disabled', () => {
    const neverWritten = (): string => {
      throw new Error('written')
    }
    expect(noRecall(neverWritten, () => 1)).toBe(1)
  })
})

describe('the identity of an object', () => {
  it('is unique during its lifetime; undefined has none', () => {
    const [one, other] = [{}, {}]
    expect(recallIdentity(one)).toBe(recallIdentity(one))
    expect(recallIdentity(one)).not.toBe(recallIdentity(other))
    expect(recallIdentity(undefined)).toBe(0)
  })
})
