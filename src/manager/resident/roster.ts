/**
 * A roster: things that shall stand, by name, and do. What is wanted may change at any moment; each name is brought there
 * one step after the other, and names do not wait for each other: one that cannot be started is tried again later, and
 * keeps nobody waiting.
 */
import type { Clock, Timer } from '../../clock/clock.ts'

export interface RosterOptions<Wanted, Standing> {
  readonly clock: Clock
  /** The signal says that it is not wanted any more, as it is: give up. */
  start(name: string, wanted: Wanted, signal: AbortSignal): Promise<Standing>
  /** Lets what is under way finish. */
  end(name: string, standing: Standing): Promise<void>
  /** Changes what stands, or says that it has to be started anew. */
  adjust(standing: Standing, before: Wanted, after: Wanted): boolean
  /** A start that failed, and when it is tried again; an end that failed, and is not. */
  onProblem(name: string, error: unknown, retryMs: number | undefined): void
  /** @default 1 s */
  readonly firstRetryMs?: number
  /** @default 60 s */
  readonly mostRetryMs?: number
}

export type Stand = 'starting' | 'standing' | 'ending' | 'failed'

export interface Roster<Wanted> {
  /** From now on. Resolves when what is not wanted any more has ended; what is new may still be starting. */
  want(wanted: ReadonlyMap<string, Wanted>): Promise<void>
  readonly stands: ReadonlyMap<string, Stand>
  /** Resolves when every start has succeeded or failed at least once. */
  settled(): Promise<void>
  /** Ends everything. */
  stop(): Promise<void>
}

interface Post<Wanted, Standing> {
  stand: Stand | undefined
  /** What it was started with, last. */
  as: Wanted | undefined
  standing: Standing | undefined
  failures: number
  retry: Timer | undefined
  /** Aborts the start under way. */
  starting: AbortController | undefined
  /** What is being done, or was done last. */
  work: Promise<void>
}

export function createRoster<Wanted, Standing extends object>(
  options: RosterOptions<Wanted, Standing>,
): Roster<Wanted> {
  const { clock, firstRetryMs = 1000, mostRetryMs = 60_000 } = options
  let wished: ReadonlyMap<string, Wanted> = new Map()
  const posts = new Map<string, Post<Wanted, Standing>>()

  const postOf = (name: string): Post<Wanted, Standing> => {
    let post = posts.get(name)
    if (!post) {
      post = {
        stand: undefined,
        as: undefined,
        standing: undefined,
        failures: 0,
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
      if (starting.signal.aborted) return
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
      if (!options.adjust(post.standing, post.as!, wanted)) await end(name, post)
      post.as = wanted
    }
    if (!post.standing && (post.stand !== 'failed' || post.as !== wanted)) {
      post.retry?.cancel()
      const now = wished.get(name)
      if (now !== undefined) await start(name, post, now)
    }
  }

  async function bring(name: string): Promise<void> {
    const post = postOf(name)
    // What is being started as nobody wants it any more need not come to its end.
    if (post.starting && post.as !== wished.get(name)) post.starting.abort()
    post.work = post.work.then(() => step(name, post))
    await post.work
  }

  return {
    async want(wanted) {
      const leaving = [...posts.keys()].filter((name) => !wanted.has(name))
      wished = wanted
      for (const name of wanted.keys()) void bring(name)
      await Promise.all(leaving.map(bring))
    },
    get stands() {
      return new Map([...posts].flatMap(([name, { stand }]) => (stand ? [[name, stand] as const] : [])))
    },
    async settled() {
      await Promise.all([...posts.values()].map(({ work }) => work))
    },
    async stop() {
      wished = new Map()
      await Promise.all([...posts.keys()].map(bring))
    },
  }
}
