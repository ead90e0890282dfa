import { describe, expect, it } from 'vitest'
import type { Writer } from '../../cache/writer.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import type { Wave } from '../../operator/plan.ts'
import { embedded } from '../../../test/embedded.ts'
import { createExecutor } from '../run/executor.ts'
import { allOf, beginTerm, type Term } from './term.ts'

/** A right that is taken away and given back, each time as another one. */
function played(): Term & { number: number; isOurs: boolean } {
  return {
    number: 1,
    isOurs: true,
    begin() {
      if (!this.isOurs) return undefined
      const { number } = this
      return () => this.isOurs && this.number === number
    },
  }
}

describe('a term', () => {
  it('is held while it lasts', () => {
    const term = played()
    const isHeld = beginTerm(term)
    expect(isHeld()).toBe(true)
    term.isOurs = false
    expect(isHeld()).toBe(false)
  })

  it('is never held by rights that it did not begin with', () => {
    const term = played()
    term.isOurs = false
    const isHeld = beginTerm(term)
    term.isOurs = true
    expect(isHeld()).toBe(false)
  })

  it('does not resume with the next one', () => {
    const term = played()
    const isHeld = beginTerm(term)
    term.number++
    expect(isHeld()).toBe(false)
  })

  it('needs all rights where there are several', () => {
    const [one, other] = [played(), played()]
    const isHeld = beginTerm(allOf([one, other]))
    expect(isHeld()).toBe(true)
    other.isOurs = false
    expect(isHeld()).toBe(false)
    expect(beginTerm(allOf([one, other]))()).toBe(false)
    expect(beginTerm(allOf([]))()).toBe(true)
  })

  it('is checked before each write, not once for a wave', async () => {
    const term = played()
    const sent: string[] = []
    const writer = {
      apply(_: unknown, object: { readonly metadata: { readonly name: string } }) {
        sent.push(object.metadata.name)
        if (sent.length === 10) term.isOurs = false
        return Promise.resolve(object)
      },
    } as unknown as Writer
    const reader = embedded().client
    const execute = createExecutor({
      writer,
      reader,
      fieldManager: 'test',
      outputs: [ConfigMap],
      kinds: [],
      parallel: 4,
    })
    const wave = Array.from({ length: 30 }, (_, index) => ({
      verb: 'apply',
      subject: 'config',
      resource: ConfigMap,
      force: true,
      object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: `c${index}` } },
    })) as unknown as Wave
    const outcomes = await execute(wave, { written: new Set(), isHeld: beginTerm(term) })
    expect(sent).toHaveLength(10)
    expect(outcomes.filter(({ result }) => result === 'done')).toHaveLength(10)
    const failures = outcomes.flatMap((outcome) => (outcome.result === 'failed' ? [outcome.error as Error] : []))
    expect(new Set(failures.map(({ name }) => name))).toEqual(new Set(['TermOver']))
  })
})
