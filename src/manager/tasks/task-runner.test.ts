import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clientErrors } from '../../client/errors.ts'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { defineTask, type Task, type TaskContext } from '../../operator/task/task.ts'
import { Suspended } from '../../operator/suspended.ts'
import { createTaskRunner, type TaskCaller, type TaskRunner, type TaskRunnerOptions } from './task-runner.ts'

/** A task whose attempts end when the test says so. */
interface Controlled {
  readonly task: Task<unknown>
  readonly attempts: ({ readonly input: unknown; readonly context: TaskContext } & PromiseWithResolvers<unknown>)[]
}

function controlled(options: { readonly name?: string; readonly timeoutMs?: number } = {}): Controlled {
  const attempts: Controlled['attempts'] = []
  const task = defineTask({
    name: 'work',
    ...options,
    run(input: unknown, context) {
      const attempt = { input, context, ...Promise.withResolvers<unknown>() }
      attempts.push(attempt)
      return attempt.promise
    },
  })
  return { task, attempts }
}

interface Scene {
  readonly clock: VirtualClock
  readonly runner: TaskRunner
  readonly wakes: string[]
  /** One reconcile of a key: the results, the error, or `suspended`. */
  readonly reconcile: (key: string, ...asks: readonly Ask[]) => Promise<unknown>
  readonly callers: ReadonlyMap<string, TaskCaller>
}

type Ask = readonly [task: Task, input: unknown, secrets?: Readonly<Record<string, string>>]

function open(options: Partial<TaskRunnerOptions> = {}): Scene {
  const clock = virtualClock()
  const runner = createTaskRunner({ clock, ...options })
  const callers = new Map<string, TaskCaller>()
  const wakes: string[] = []
  return {
    clock,
    runner,
    wakes,
    callers,
    async reconcile(key, ...asks) {
      const caller = callers.get(key) ?? runner.openCaller(() => void wakes.push(key))
      callers.set(key, caller)
      caller.begin()
      try {
        const results: unknown[] = []
        for (const [task, input, secrets = {}] of asks) {
          results.push(await caller.result(task as Task<unknown>, input, { secrets }))
        }
        caller.end('done')
        return results
      } catch (error) {
        caller.end(error instanceof Suspended ? 'suspended' : 'failed')
        return error instanceof Suspended ? 'suspended' : error
      }
    },
  }
}

const unavailable = (message = 'the registry is down', retryAfterMs?: number): MusterError =>
  new MusterError(clientErrors.Unreachable, message, { retryAfterMs })
const refused = (message = 'there is no such chart'): MusterError => new MusterError(clientErrors.NotFound, message)

describe('a task', () => {
  it('suspends its caller, which is woken once, and then has its result', async () => {
    const { clock, reconcile, wakes } = open()
    const { task, attempts } = controlled()
    expect(await reconcile('a', [task, { chart: 'web' }])).toBe('suspended')
    expect(await reconcile('a', [task, { chart: 'web' }])).toBe('suspended')
    await clock.settle()
    attempts[0]!.resolve({ objects: 3, left: undefined })
    await clock.settle()
    expect(wakes).toEqual(['a'])
    expect(await reconcile('a', [task, { chart: 'web' }])).toEqual([{ objects: 3 }])
    await clock.advance(3_600_000)
    expect({ wakes, attempts: attempts.length }).toEqual({ wakes: ['a'], attempts: 1 })
  })

  it('that is ephemeral is forgotten when the last CR asks for another answer, and never stored', async () => {
    const stored: string[] = []
    const folder = {
      read: (key: string) => Promise.resolve(void stored.push(key)),
      write: (key: string) => Promise.resolve(void stored.push(key)),
    }
    const { reconcile, runner, clock, callers } = open({ folder })
    const ran: unknown[] = []
    const task = defineTask({
      name: 'hour',
      ephemeral: true,
      run: (hour: number) => {
        ran.push(hour)
        return { hour }
      },
    })
    const ask = async (key: string, hour: number): Promise<void> => {
      if ((await reconcile(key, [task, hour])) !== 'suspended') return
      await clock.settle()
      expect(await reconcile(key, [task, hour])).toEqual([{ hour }])
    }
    for (const key of ['a', 'b']) await ask(key, 1)
    const { bytes } = runner.state()
    for (let hour = 2; hour < 50; hour++) {
      await ask('a', hour)
      // Another CR still has the first answer.
      await ask('b', 1)
      expect(runner.state().bytes).toBeLessThanOrEqual(bytes * 2 + 2)
    }
    expect(ran).toEqual(Array.from({ length: 49 }, (_, at) => at + 1))
    for (const caller of callers.values()) caller.close()
    expect([runner.state().bytes, stored]).toEqual([0, []])
  })

  it('gets frozen input and gives a frozen result, detached from what the author holds', async () => {
    const { clock, reconcile } = open()
    const { task, attempts } = controlled()
    const [input, result] = [{ list: [1] }, { list: [2] }]
    await reconcile('a', [task, input])
    attempts[0]!.resolve(result)
    await clock.settle()
    input.list.push(9)
    result.list.push(9)
    expect(attempts[0]!.input).toEqual({ list: [1] })
    const [found] = (await reconcile('a', [task, { list: [1] }])) as readonly { readonly list: number[] }[]
    expect(found).toEqual({ list: [2] })
    expect(() => found!.list.push(3)).toThrow(TypeError)
    expect(() => (attempts[0]!.input as typeof input).list.push(3)).toThrow(TypeError)
  })

  it('is told apart by name, version and input, and not by the order of members', async () => {
    const { reconcile } = open()
    const ran: string[] = []
    const make = (name: string, version: number): Task<unknown> =>
      defineTask({ name, version, run: () => ran.push(`${name} ${version}`) })
    const [one, two, other] = [make('one', 1), make('one', 2), make('other', 1)]
    await reconcile('a', [one, { x: 1, y: 2 }])
    await reconcile('b', [one, { y: 2, x: 1, z: undefined }])
    await reconcile('c', [one, { x: 1 }])
    await reconcile('d', [two, { x: 1 }])
    await reconcile('e', [other, { x: 1 }])
    expect(ran).toEqual(['one 1', 'one 1', 'one 2', 'other 1'])
  })

  it('is refused if another function has its name and version', async () => {
    const { clock, reconcile } = open()
    const one = defineTask({ name: 'build', run: () => 1 })
    const other = defineTask({ name: 'build', run: () => 2 })
    await reconcile('a', [one, 'x'])
    await clock.settle()
    expect(await reconcile('a', [one, 'x'])).toEqual([1])
    expect(await reconcile('b', [other, 'x'])).toMatchObject({
      name: 'InvalidTask',
      message: expect.stringMatching(
        /^There are two tasks build of version 1, with different functions. Give one of them another name, or another version/,
      ) as string,
    })
  })

  it.each([
    ['an input that is not JSON', undefined, 'InvalidTask'],
    ['an input that is too long', 'x'.repeat(2 ** 20), 'TaskTooLarge'],
  ])('refuses %s', async (_what, input, name) => {
    const { reconcile } = open()
    expect(await reconcile('a', [controlled().task, input])).toMatchObject({ name })
  })

  it.each([
    ['not JSON', undefined, 'InvalidTask'],
    ['larger than the memory', 'x'.repeat(100), 'TaskTooLarge'],
  ])('fails for good if its result is %s', async (_what, result, name) => {
    const { clock, reconcile, wakes } = open({ maxBytes: 100 })
    const { task, attempts } = controlled()
    await reconcile('a', [task, 1])
    attempts[0]!.resolve(result)
    await clock.advance(3_600_000)
    expect(await reconcile('a', [task, 1])).toMatchObject({ name })
    expect({ wakes, attempts: attempts.length }).toEqual({ wakes: ['a'], attempts: 1 })
  })
})

describe('the laws of tasks', () => {
  const inputs = fc.integer({ min: 0, max: 3 })
  const keys = fc.constantFrom('a', 'b', 'c', 'd', 'e')
  const steps = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant('ask' as const), key: keys, input: inputs }),
      fc.record({ do: fc.constant('end' as const), at: fc.nat(5) }),
      fc.record({ do: fc.constant('delete' as const), key: keys }),
    ),
    { maxLength: 40 },
  )

  it('any order of asks, ends and deletions: one attempt at a time for a call, one wake for a suspension, the same results', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 5 }), async (all, concurrency) => {
        const { clock, runner, reconcile, wakes, callers } = open({ concurrency })
        const { task, attempts } = controlled()
        const openAttempts = (): Controlled['attempts'] =>
          attempts.filter(({ context }) => !context.signal.aborted && !ended.has(context))
        const ended = new Set<TaskContext>()
        const asking = new Map<string, number>()
        const suspended = new Set<string>()
        const end = async (attempt: Controlled['attempts'][number]): Promise<void> => {
          ended.add(attempt.context)
          attempt.resolve({ doubled: Number(attempt.input) * 2 })
          await clock.settle()
        }
        const check = (): void => {
          const under = openAttempts()
          expect(under.length).toBeLessThanOrEqual(concurrency)
          expect(new Set(under.map(({ input }) => input)).size).toBe(under.length)
          // What nothing asks for is aborted.
          for (const { input } of under) expect([...asking.values()]).toContain(input)
          for (const key of wakes) expect(suspended.delete(key), `${key} was suspended`).toBe(true)
          wakes.length = 0
        }
        const ask = async (key: string, input: number): Promise<void> => {
          asking.set(key, input)
          suspended.delete(key)
          const found = await reconcile(key, [task, input])
          if (found === 'suspended') suspended.add(key)
          expect(['suspended', [{ doubled: input * 2 }]]).toContainEqual(found)
          await clock.settle()
        }
        for (const step of all) {
          if (step.do === 'ask') await ask(step.key, step.input)
          else if (step.do === 'delete') {
            callers.get(step.key)?.close()
            ;(callers as Map<string, TaskCaller>).delete(step.key)
            asking.delete(step.key)
            suspended.delete(step.key)
            await clock.settle()
          } else {
            const under = openAttempts()
            if (under.length > 0) await end(under[step.at % under.length]!)
          }
          check()
        }
        for (let under = openAttempts(); under.length > 0; under = openAttempts()) {
          await end(under[0]!)
          check()
        }
        expect([...suspended]).toEqual([])
        for (const [key, input] of asking) await ask(key, input)
        expect(runner.state()).toMatchObject({ queued: 0, running: 0, failed: 0 })
        await runner.close()
      }),
      { numRuns: 60 },
    )
  })

  it('after close nothing is left: no timer, no attempt, no wake', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(keys, inputs), { minLength: 1, maxLength: 12 }),
        fc.nat(12),
        async (asks, fails) => {
          const { clock, runner, reconcile, wakes } = open({ concurrency: 2 })
          const { task, attempts } = controlled()
          for (const [key, input] of asks) await reconcile(key, [task, input])
          for (const attempt of attempts.slice(0, fails)) attempt.reject(unavailable())
          await clock.settle()
          await runner.close()
          wakes.length = 0
          const before = attempts.length
          for (const attempt of attempts) attempt.resolve('late')
          await clock.advance(3_600_000)
          expect({ wakes, attempts: attempts.length }).toEqual({ wakes: [], attempts: before })
          expect(runner.state()).toEqual({ queued: 0, running: 0, failed: 0, bytes: 0 })
          expect(await reconcile('late', [task, 7])).toBe('suspended')
          expect(attempts).toHaveLength(before)
        },
      ),
      { numRuns: 30 },
    )
  })
})

describe('a task that nothing asks for', () => {
  it.each(['a CR that asks for another input', 'a CR that asks for nothing', 'a CR that is deleted'])(
    'is aborted: %s',
    async (what) => {
      const { clock, runner, reconcile, callers } = open()
      const { task, attempts } = controlled()
      await reconcile('a', [task, 1])
      await reconcile('b', [task, 1])
      callers.get('b')!.close()
      expect(attempts[0]!.context.signal.aborted).toBe(false)
      if (what.endsWith('deleted')) callers.get('a')!.close()
      else await reconcile('a', ...(what.endsWith('nothing') ? [] : [[task, 2] as const]))
      await clock.settle()
      expect(attempts[0]!.context.signal.aborted).toBe(true)
      expect(runner.state().running).toBe(what.endsWith('input') ? 1 : 0)
    },
  )

  it('goes on while a reconcile fails before it asks', async () => {
    const { reconcile, callers } = open()
    const { task, attempts } = controlled()
    await reconcile('a', [task, 1])
    callers.get('a')!.begin()
    callers.get('a')!.end('failed')
    expect(attempts[0]!.context.signal.aborted).toBe(false)
  })
})

describe('a reconcile that fails', () => {
  it('releases what it asked for before with another input: edits of a failing CR do not pile up', async () => {
    const { clock, runner, reconcile } = open()
    const { task, attempts } = controlled()
    for (let edit = 0; edit < 10; edit++) {
      await reconcile('a', [task, edit])
      attempts[edit]!.reject(edit % 2 === 0 ? refused() : unavailable())
      await clock.settle()
      await reconcile('a', [task, edit])
      expect(runner.state().failed).toBe(1)
    }
    await clock.advance(3_600_000)
    const retried = new Set(attempts.slice(10).map(({ input }) => input))
    expect([...retried]).toEqual([9])
  })
})

describe('a task that fails', () => {
  it('for good is not tried again, until the input or the secrets change', async () => {
    const { clock, reconcile, wakes } = open()
    const { task, attempts } = controlled()
    await reconcile('a', [task, 1])
    attempts[0]!.reject(refused())
    await clock.advance(3_600_000)
    expect(wakes).toEqual(['a'])
    const error = refused()
    expect(await reconcile('a', [task, 1])).toMatchObject({ name: error.name, message: error.message })
    expect(await reconcile('b', [task, 1])).toMatchObject({ name: error.name })
    expect(attempts).toHaveLength(1)
    expect(await reconcile('a', [task, 1, { password: 'corrected' }])).toBe('suspended')
    expect(attempts).toHaveLength(2)
    attempts[1]!.resolve('found')
    await clock.settle()
    expect(await reconcile('b', [task, 1])).toEqual(['found'])
  })

  it('is tried again with back-off, and wakes the callers that have its error after each attempt', async () => {
    const { clock, reconcile, wakes } = open()
    const { task, attempts } = controlled()
    const begun = clock.now()
    const started: number[] = []
    await reconcile('a', [task, 1])
    for (let attempt = 0; attempt < 12; attempt++) {
      started.push(clock.now() - begun)
      attempts[attempt]!.reject(unavailable())
      await clock.settle()
      expect(wakes.splice(0)).toEqual(['a'])
      const error = (await reconcile('a', [task, 1])) as MusterError
      expect(error.name).toBe('Unreachable')
      expect(await reconcile('a', [task, 1])).toMatchObject({ retryAfterMs: error.retryAfterMs })
      await clock.until(() => attempts.length > attempt + 1)
      expect(clock.now() - begun - started.at(-1)!).toBe(error.retryAfterMs)
      // While it is tried again, the CR is suspended.
      expect(await reconcile('a', [task, 1])).toBe('suspended')
    }
    const waits = started.slice(1).map((at, index) => (at - started[index]!) / 1000)
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    attempts.at(-1)!.resolve('at last')
    await clock.settle()
    expect(await reconcile('a', [task, 1])).toEqual(['at last'])
  })

  it('waits as long as the other side asks', async () => {
    const { clock, reconcile } = open()
    const { task, attempts } = controlled()
    await reconcile('a', [task, 1])
    attempts[0]!.reject(unavailable('too many requests', 90_000))
    await clock.settle()
    expect(await reconcile('a', [task, 1])).toMatchObject({ retryAfterMs: 90_000 })
    await clock.advance(89_999)
    expect(attempts).toHaveLength(1)
    await clock.advance(1)
    expect(attempts).toHaveLength(2)
  })

  it.each([
    ['no error', () => 'down'],
    ['nothing that has a text', () => Object.create(null) as unknown],
    ['an impossible Retry-After', () => unavailable('down', NaN)],
  ])('by %s is tried again after a second', async (_what, thrown) => {
    const { clock, reconcile } = open()
    const { task, attempts } = controlled()
    await reconcile('a', [task, 1])
    attempts[0]!.reject(thrown())
    await clock.settle()
    expect(await reconcile('a', [task, 1])).toBeInstanceOf(Error)
    await clock.advance(999)
    expect(attempts).toHaveLength(1)
    await clock.advance(1)
    expect(attempts).toHaveLength(2)
  })

  it('by its time-out is aborted, and frees its place', async () => {
    const { clock, reconcile } = open({ concurrency: 1 })
    const slow = controlled({ name: 'slow', timeoutMs: 5000 })
    const next = controlled({ name: 'next' })
    await reconcile('a', [slow.task, 1])
    await reconcile('b', [next.task, 1])
    expect(next.attempts).toHaveLength(0)
    await clock.advance(5000)
    expect(slow.attempts[0]!.context.signal.aborted).toBe(true)
    expect(await reconcile('a', [slow.task, 1])).toMatchObject({
      name: 'TaskTimeout',
      message: 'Task slow did not end within 5000 ms.',
      retryAfterMs: 1000,
    })
    expect(next.attempts).toHaveLength(1)
  })

  it('with the secrets of one operator does not fail another, and neither is tried in a hot loop', async () => {
    const { clock, reconcile, wakes } = open()
    const { task, attempts } = controlled()
    const [ours, theirs] = [{ token: 'ours' }, { token: 'theirs' }]
    await reconcile('a', [task, 1, ours])
    await reconcile('b', [task, 1, theirs])
    expect(attempts).toHaveLength(1)
    attempts[0]!.reject(refused())
    await clock.settle()
    // Both run again, as often as they are woken.
    for (let round = 0; round < 10; round++) {
      const woken = new Set(wakes.splice(0))
      if (woken.has('a')) await reconcile('a', [task, 1, ours])
      if (woken.has('b')) await reconcile('b', [task, 1, theirs])
      attempts[1]?.reject(refused())
      await clock.settle()
    }
    expect(attempts.map(({ context }) => context.secrets)).toEqual([ours, theirs])
  })

  it('tries several secrets in one reconcile, each once', async () => {
    const { clock, reconcile, wakes, callers } = open()
    const { task, attempts } = controlled()
    const run = async (): Promise<unknown> => {
      const caller = callers.get('a')!
      caller.begin()
      let last: unknown
      for (const token of ['one', 'two']) {
        try {
          last = await caller.result(task, 1, { secrets: { token } })
          break
        } catch (error) {
          last = error
          if (error instanceof Suspended) break
        }
      }
      caller.end(last instanceof Suspended ? 'suspended' : 'failed')
      return last
    }
    await reconcile('a')
    await run()
    for (let round = 0; round < 10; round++) {
      for (const attempt of attempts) attempt.reject(refused())
      await clock.settle()
      if (wakes.splice(0).length > 0) await run()
    }
    expect(attempts).toHaveLength(2)
    expect(await run()).toMatchObject({ name: 'NotFound' })
  })

  it('does not repeat its secrets in its error, nor in the causes', async () => {
    const { clock, reconcile } = open()
    const { task, attempts } = controlled()
    const secrets = { password: 'hunter2-hunter2' }
    await reconcile('a', [task, 1, secrets])
    const cause = new Error('GET https://me:hunter2-hunter2@registry.example.com')
    attempts[0]!.reject(new Error('login with hunter2-hunter2 failed', { cause }))
    await clock.settle()
    const error = (await reconcile('b', [task, 1, secrets])) as Error
    for (const text of [error.message, error.stack, cause.message, cause.stack]) {
      expect(text).not.toContain('hunter2')
      expect(text).toContain('***')
    }
  })
})

describe('the memory of results', () => {
  const large = (size: number): string => 'x'.repeat(size - 2)

  it('drops the least recently used, which is worked out again', async () => {
    const { clock, runner, reconcile } = open({ maxBytes: 100 })
    const ran: unknown[] = []
    const task = defineTask({ name: 'work', run: (input: string) => (ran.push(input), large(40)) })
    const get = async (key: string, input: string): Promise<unknown> => {
      const found = await reconcile(key, [task, input])
      await clock.settle()
      return found === 'suspended' ? await reconcile(key, [task, input]) : found
    }
    await get('a', 'one')
    await get('b', 'two')
    await get('c', 'one')
    await get('d', 'three')
    expect(runner.state().bytes).toBe(80)
    await get('e', 'one')
    expect(ran).toEqual(['one', 'two', 'three'])
    await get('f', 'two')
    expect(ran).toEqual(['one', 'two', 'three', 'two'])
  })

  it('gives a suspended CR its results, however much is asked for by others', async () => {
    const { clock, reconcile, wakes } = open({ maxBytes: 100, concurrency: 1 })
    const task = defineTask({ name: 'work', run: () => large(45) })
    const asked = ['a', 'b', 'c', 'd'].map((key) => [key, [task, `${key}1`], [task, `${key}2`]] as const)
    const done: string[] = []
    for (const [key, ...asks] of asked) await reconcile(key, ...asks)
    for (let round = 0; round < 20 && done.length < asked.length; round++) {
      await clock.settle()
      for (const woken of wakes.splice(0)) {
        const [, ...asks] = asked.find(([key]) => key === woken)!
        if ((await reconcile(woken, ...asks)) !== 'suspended') done.push(woken)
      }
    }
    expect(done.toSorted()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('refuses a reconcile whose results do not fit at once, instead of working them out for ever', async () => {
    const { clock, reconcile, wakes } = open({ maxBytes: 100 })
    let ran = 0
    const task = defineTask({ name: 'work', run: () => (ran++, large(45)) })
    const asks: readonly Ask[] = [1, 2, 3].map((input) => [task, input])
    let found = await reconcile('a', ...asks)
    for (let round = 0; round < 20; round++) {
      await clock.settle()
      if (wakes.splice(0).length > 0) found = await reconcile('a', ...asks)
    }
    expect(found).toMatchObject({ name: 'TaskTooLarge' })
    expect(ran).toBeLessThan(6)
  })
})
