import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  chooseRevision,
  type Choice,
  concludeAttempt,
  type KnownRevision,
  type AttemptResult,
  retained,
  timeText,
} from './attempt.ts'
import type { InstallationSpec, InstallationStatus } from './installation.ts'

type Step =
  | { readonly what: 'result'; readonly result: AttemptResult }
  | { readonly what: 'change'; readonly digest: string }
  /** Another way to apply the same content. */
  | { readonly what: 'alter' }
  | { readonly what: 'wait'; readonly ms: number }
  /** A user deletes a Revision, or a process ends before it writes the status. */
  | { readonly what: 'lose'; readonly index: number }
  | { readonly what: 'crash' }

const result = fc.constantFrom<AttemptResult>(
  { what: 'healthy' },
  { what: 'waiting' },
  { what: 'failed', message: 'It is broken.' },
)
const step = fc.oneof<fc.Arbitrary<Step>[]>(
  fc.record({ what: fc.constant('result' as const), result }),
  fc.record({ what: fc.constant('change' as const), digest: fc.constantFrom('a', 'b', 'c') }),
  fc.record({ what: fc.constant('alter' as const) }),
  fc.record({ what: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 400_000 }) }),
  fc.record({ what: fc.constant('lose' as const), index: fc.nat(5) }),
  fc.record({ what: fc.constant('crash' as const) }),
)
const remediation = fc.record<InstallationSpec['remediation']>({
  strategy: fc.constantFrom('rollback', 'uninstall', 'none'),
  retries: fc.integer({ min: 0, max: 3 }),
  retryInterval: fc.constant('1m'),
})

/** An Installation whose cluster does as the steps say. */
class Simulated {
  readonly remediation: InstallationSpec['remediation']
  revisions: readonly KnownRevision[] = []
  /** Their Secrets, which outlive a Revision that is deleted. */
  readonly contents = new Map<number, string>()
  status: Pick<InstallationStatus, 'attempt' | 'lastGood' | 'history' | 'revision'> = {}
  digest = 'a'
  generation = 1
  now = 1_700_000_000_000

  constructor(given: InstallationSpec['remediation']) {
    this.remediation = given
  }

  /** One reconcile; a process that ends before its status write has stored the revision. */
  reconcile(found: AttemptResult, isCrash = false): Choice {
    const taken = [...this.contents].filter(([, digest]) => digest !== this.digest).map(([number]) => number)
    const wanted = { digest: this.digest, generation: this.generation, taken }
    const choice = chooseRevision(wanted, this.revisions, this.status, this.remediation, this.now)
    const { created, active } = choice
    if (created !== undefined) this.contents.set(created, this.digest)
    if (created !== undefined) this.revisions = [...this.revisions, { number: created, digest: this.digest }]
    const revision = this.revisions.find(({ number }) => number === active) ?? { number: active, digest: '' }
    const limits = { timeoutMs: 300_000, retryMs: 60_000, retries: this.remediation.retries, historyLimit: 5 }
    const { attempt, lastGood, history } = concludeAttempt(choice, found, this.status, revision, limits, this.now)
    if (!isCrash) this.status = { attempt, ...(lastGood !== undefined && { lastGood }), history, revision: active }
    return choice
  }

  do(next: Step): Choice | undefined {
    if (next.what === 'change') this.digest = next.digest
    else if (next.what === 'alter') this.generation++
    else if (next.what === 'wait') this.now += next.ms
    else if (next.what === 'lose') this.revisions = this.revisions.filter((_, index) => index !== next.index)
    else return this.reconcile(next.what === 'crash' ? { what: 'waiting' } : next.result, next.what === 'crash')
    return undefined
  }
}

const given = (check: (simulated: Simulated, steps: readonly Step[]) => void): void =>
  fc.assert(
    fc.property(remediation, fc.array(step, { maxLength: 40 }), (own, steps) => check(new Simulated(own), steps)),
  )

describe('the active revision', () => {
  it('exists, whatever happens; none is active only after a failed installation that is to be removed', () => {
    given((simulated, steps) => {
      for (const next of steps) {
        const choice = simulated.do(next)
        if (!choice) continue
        const isKnown = simulated.revisions.some(({ number }) => number === choice.active)
        expect(isKnown || (choice.active === 0 && simulated.remediation.strategy === 'uninstall')).toBe(true)
      }
    })
  })

  it('is the next attempt at once when the digest changes, under a number that was never used', () => {
    given((simulated, steps) => {
      const digests = new Map<number, string>()
      for (const next of steps) {
        const before = simulated.status.attempt
        const choice = simulated.do(next)
        if (!choice) continue
        const { active, attempt } = choice
        const isBegun = attempt.failures === 0 && attempt.digest === simulated.digest && active === attempt.revision
        expect(isBegun || before === undefined || before.digest === simulated.digest).toBe(true)
        for (const { number, digest } of simulated.revisions) {
          expect(digests.get(number) ?? digest).toBe(digest)
          digests.set(number, digest)
        }
      }
    })
  })

  it('is tried again at once when the spec changes, however often it has failed', () => {
    given((simulated, steps) => {
      for (const next of steps) simulated.do(next)
      simulated.do({ what: 'alter' })
      const { active, attempt, isSettled } = simulated.reconcile({ what: 'waiting' })
      expect(isSettled || (active === attempt.revision && attempt.failures === 0)).toBe(true)
    })
  })

  it('changes no more once the attempts are exhausted, until the digest or the spec changes', () => {
    given((simulated, steps) => {
      for (const next of steps) {
        const { retries } = simulated.remediation
        const before = simulated.status
        const isSame =
          before.attempt?.digest === simulated.digest && before.attempt.observedGeneration === simulated.generation
        const isExhausted = isSame && before.attempt.failures > retries
        simulated.do(next)
        expect(simulated.status.attempt?.failures ?? 0).toBeLessThanOrEqual(retries + 1)
        const isBad = next.what === 'crash' || (next.what === 'result' && next.result.what !== 'healthy')
        const { attempt, history } = isExhausted && isBad ? simulated.status : before
        expect({ attempt, history }).toEqual({ attempt: before.attempt, history: before.history })
      }
    })
  })

  it('comes to rest: the same result twice in a row writes nothing new the second time, but for a retry that is due', () => {
    given((simulated, steps) => {
      for (const next of steps) simulated.do(next)
      // As often as there are attempts: then each state is reached.
      for (let turn = 0; turn < 3; turn++) simulated.reconcile({ what: 'healthy' })
      const { status } = simulated
      simulated.reconcile({ what: 'healthy' })
      expect(simulated.status).toEqual(status)
    })
  })
})

describe('revisions that are kept', () => {
  it('are the latest, and all that may become active again', () => {
    expect(retained([1, 2, 3, 4], [1, undefined], 2)).toEqual(new Set([1, 3, 4]))
  })
})

describe('the time of an attempt', () => {
  it('has whole seconds, as the API server keeps it', () => {
    expect(timeText(1_700_000_000_123)).toBe('2023-11-14T22:13:20Z')
  })
})
