/**
 * A roster: things that shall stand, by name, and do. What is wanted may change at any moment; each name is brought there
 * one step after the other, and names do not wait for each other: one that cannot be started is tried again later, and
 * keeps nobody waiting.
 */
import type { Clock, Timer } from '../../clock/clock.ts'

export interface SupervisorOptions<Wanted, Standing> {
  readonly clock: Clock
  /** The signal says that it is not wanted any more, as it is: give up. */
  start(name: string, wanted: Wanted, signal: AbortSignal): Promise<Standing>
  /** Lets what is under way finish. */
  end(name: string, standing: Standing): Promise<void>
  /** Whether one can become the other while it stands, or is being started. */
  isSame(before: Wanted, after: Wanted): boolean
  /** Changes what stands into what is the same but for that. */
  adjust(name: string, standing: Standing, after: Wanted): void
  /** A start that failed, and when it is tried again; an end or a change that failed, and is not. */
  onProblem(name: string, error: unknown, retryMs: number | undefined): void
  /** @default 1 s */
  readonly firstRetryMs?: number
  /** @default 60 s */
  readonly mostRetryMs?: number
}

export type Stand = 'starting' | 'standing' | 'ending' | 'failed'

export interface Supervisor<Wanted> {
  /** From now on. Resolves when what is not wanted any more has ended; what is new may still be starting. */
  want(wanted: ReadonlyMap<string, Wanted>): Promise<void>
  readonly stands: ReadonlyMap<string, Stand>
  /** Those that could not be started, and why. */
  readonly failures: ReadonlyMap<string, unknown>
  /** Resolves when every start has succeeded or failed at least once. */
  settled(): Promise<void>
  /** Ends everything, for good: nothing is wanted any more, whatever is said later. */
  stop(): Promise<void>
}

interface Post<Wanted, Standing> {
  stand: Stand | undefined
  /** What it was started with, last. */
  as: Wanted | undefined
  standing: Standing | undefined
  failures: number
  failure: unknown
  retry: Timer | undefined
  /** Aborts the start under way. */
  starting: AbortController | undefined
  /** What is being done, or was done last. */
  work: Promise<void>
}

export function createSupervisor<Wanted, Standing extends object>(
  options: SupervisorOptions<Wanted, Standing>,
): Supervisor<Wanted> {
  const { clock, firstRetryMs = 1000, mostRetryMs = 60_000 } = options
  let wished: ReadonlyMap<string, Wanted> = new Map()
  let isStopped = false
  const posts = new Map<string, Post<Wanted, Standing>>()

  const postOf = (name: string): Post<Wanted, Standing> => {
    let post = posts.get(name)
    if (!post) {
      post = {
        stand: undefined,
        as: undefined,
        standing: undefined,
        failures: 0,
        failure: undefined,
        retry: undefined,
        starting: undefined,
        work: Promise.resolve(),
      }
      posts.set(name, post)
    }
    return post
  }

  async function end(name: string, post: Post<Wanted, Standing>): Promise<void> {
    const { standing } = post
    if (!standing) return
    post.standing = undefined
    post.stand = 'ending'
    try {
      await options.end(name, standing)
    } catch (error) {
      options.onProblem(name, error, undefined)
    }
  }

  async function start(name: string, post: Post<Wanted, Standing>, wanted: Wanted): Promise<void> {
    const starting = new AbortController()
    Object.assign(post, { stand: 'starting', as: wanted, starting })
    try {
      post.standing = await options.start(name, wanted, starting.signal)
      Object.assign(post, { stand: 'standing', failures: 0 })
    } catch (error) {
      post.stand = 'failed'
      post.failure = error
      if (starting.signal.aborted) {
        // It did not fail, and may be wanted again by now.
        post.as = undefined
        return
      }
      const retryMs = Math.min(firstRetryMs * 2 ** post.failures++, mostRetryMs)
      options.onProblem(name, error, retryMs)
      post.retry = clock.after(retryMs, () => {
        post.as = undefined
        void bring(name)
      })
    } finally {
      post.starting = undefined
    }
  }

  /** One step nearer to what is wanted now. */
  async function step(name: string, post: Post<Wanted, Standing>): Promise<void> {
    if (posts.get(name) !== post) return
    const wanted = wished.get(name)
    if (wanted === undefined) {
      await end(name, post)
      if (wished.has(name)) return
      post.retry?.cancel()
      posts.delete(name)
      return
    }
    if (post.standing && post.as !== wanted) {
      if (options.isSame(post.as!, wanted)) options.adjust(name, post.standing, wanted)
      else await end(name, post)
      post.as = wanted
    }
    const isWaiting = post.stand === 'failed' && post.as !== undefined && isWantedAs(name, post.as)
    if (!post.standing && !isWaiting) {
      post.retry?.cancel()
      const now = wished.get(name)
      if (now !== undefined) await start(name, post, now)
    }
  }

  async function follow(before: Promise<void>, name: string, post: Post<Wanted, Standing>): Promise<void> {
    await before
    try {
      await step(name, post)
    } catch (error) {
      // A step that fails must not keep the next from being taken.
      options.onProblem(name, error, undefined)
    }
  }

  async function bring(name: string): Promise<void> {
    const post = postOf(name)
    // What is being started as nobody wants it any more need not come to its end.
    if (post.starting && !isWantedAs(name, post.as!)) post.starting.abort()
    post.work = follow(post.work, name, post)
    await post.work
  }

  function isWantedAs(name: string, as: Wanted): boolean {
    const wanted = wished.get(name)
    return wanted !== undefined && (wanted === as || options.isSame(as, wanted))
  }

  return {
    async want(wanted) {
      if (isStopped) return
      const leaving = [...posts.keys()].filter((name) => !wanted.has(name))
      wished = wanted
      for (const name of wanted.keys()) void bring(name)
      await Promise.all(leaving.map(bring))
    },
    get stands() {
      return new Map([...posts].flatMap(([name, { stand }]) => (stand ? [[name, stand] as const] : [])))
    },
    get failures() {
      const failed = [...posts].filter(([, { stand }]) => stand === 'failed')
      return new Map(failed.map(([name, { failure }]) => [name, failure]))
    },
    async settled() {
      await Promise.all([...posts.values()].map(({ work }) => work))
    },
    async stop() {
      isStopped = true
      wished = new Map()
      await Promise.all([...posts.keys()].map(bring))
    },
  }
}
