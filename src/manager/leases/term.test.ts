import { describe, expect, it } from 'vitest'
import type { Writer } from '../../cache/writer.ts'
import { ConfigMap } from '../../operator/kinds.ts'
import type { Live } from '../../operator/live.ts'
import type { Wave } from '../../operator/plan.ts'
import { createExecutor, openRun } from '../run/executor.ts'
import { allOf, beginTerm, fencedLive, type Term } from './term.ts'

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

  it('is never held by what it did not begin with', () => {
    const term = played()
    term.isOurs = false
    const isHeld = beginTerm(term)
    term.isOurs = true
    expect(isHeld()).toBe(false)
  })

  it('does not come back with the next one', () => {
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

  it('is asked for before each write, and not once for a wave of many', async () => {
    const term = played()
    const sent: string[] = []
    const writer = {
      apply(_: unknown, object: { readonly metadata: { readonly name: string } }) {
        sent.push(object.metadata.name)
        if (sent.length === 10) term.isOurs = false
        return Promise.resolve(object)
      },
    } as unknown as Writer
    const execute = createExecutor({ writer, fieldManager: 'test', outputs: [ConfigMap], kinds: [], parallel: 4 })
    const wave = Array.from({ length: 30 }, (_, index) => ({
      verb: 'apply',
      subject: 'config',
      resource: ConfigMap,
      force: true,
      object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: `c${index}` } },
    })) as unknown as Wave
    const outcomes = await execute(wave, openRun('test', 'default/one', beginTerm(term)))
    expect(sent).toHaveLength(10)
    expect(outcomes.filter(({ result }) => result === 'done')).toHaveLength(10)
    const failures = outcomes.flatMap((outcome) => (outcome.result === 'failed' ? [outcome.error as Error] : []))
    expect(new Set(failures.map(({ name }) => name))).toEqual(new Set(['TermOver']))
  })

  it('lets no command and no call leave once it is over', async () => {
    const term = played()
    const calls: string[] = []
    const live: Live = {
      available: true,
      exec: () => Promise.resolve(void calls.push('exec')) as never,
      http: () => Promise.resolve(void calls.push('http')) as never,
    }
    const fenced = fencedLive(live, beginTerm(term))
    await fenced.exec({ name: 'pod' }, ['true'])
    await fenced.http({ url: 'http://app' })
    term.isOurs = false
    await expect(fenced.exec({ name: 'pod' }, ['true'])).rejects.toMatchObject({ name: 'TermOver' })
    await expect(fenced.http({ url: 'http://app' })).rejects.toMatchObject({ name: 'TermOver' })
    expect(calls).toEqual(['exec', 'http'])
  })
})
