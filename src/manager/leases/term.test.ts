import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/object.ts'
import type { Outcome, Wave } from '../../operator/plan.ts'
import type { Conclusion, Situation } from '../../operator/reconcile.ts'
import type { Drive } from '../drive.ts'
import { allOf, fenced, type Term } from './term.ts'

const situation = {} as Situation<KubeObject>
const wave = [{}, {}] as unknown as Wave

/** Two waves, and whatever is done between them; what came of each is kept. */
function twoWaves(between: () => void): { readonly drive: Drive; readonly outcomes: (readonly Outcome[])[] } {
  const outcomes: (readonly Outcome[])[] = []
  const drive: Drive = async (_, execute) => {
    outcomes.push(await execute(wave))
    between()
    outcomes.push(await execute(wave))
    return {} as Conclusion
  }
  return { drive, outcomes }
}

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

async function run(term: Term, between: () => void): Promise<{ sent: number; failures: readonly unknown[][] }> {
  let sent = 0
  const { drive, outcomes } = twoWaves(between)
  await fenced(drive, term)(situation, (given) => {
    sent++
    return Promise.resolve(given.map(() => ({ result: 'done' })))
  })
  return {
    sent,
    failures: outcomes.map((list) => list.map((one) => (one.result === 'failed' ? (one.error as Error).name : 'done'))),
  }
}

describe('a term', () => {
  it('lets everything leave while it lasts', async () => {
    expect(await run(played(), () => undefined)).toMatchObject({ sent: 2 })
  })

  it('lets nothing leave that it did not begin with', async () => {
    const term = played()
    term.isOurs = false
    const { sent, failures } = await run(term, () => (term.isOurs = true))
    expect(sent).toBe(0)
    expect(failures).toEqual([
      ['TermOver', 'TermOver'],
      ['TermOver', 'TermOver'],
    ])
  })

  it('ends for a run that is under way, and does not come back for it with the next term', async () => {
    const term = played()
    const { sent, failures } = await run(term, () => term.number++)
    expect(sent).toBe(1)
    expect(failures[1]).toEqual(['TermOver', 'TermOver'])
  })

  it('needs all rights where there are several', async () => {
    const [one, other] = [played(), played()]
    expect(await run(allOf([one, other]), () => (other.isOurs = false))).toMatchObject({ sent: 1 })
    expect(await run(allOf([one, other]), () => undefined)).toMatchObject({ sent: 0 })
    expect(await run(allOf([]), () => undefined)).toMatchObject({ sent: 2 })
  })
})
