/**
 * Whether the time of a request grows linearly or quadratically with its size.
 *
 * The measure is CPU time of this thread, not wall time: other load on the machine does not count. The same request is
 * sent in two sizes, one four times the other; linear work takes four times as long, quadratic work sixteen times. A
 * single measurement may be off (compilation, garbage collection), so a verdict needs three of them.
 */
import type { TransportRequest } from '../../src/transport/transport.ts'

/** A request of variable size; `size` counts characters or items. */
export interface Shape {
  readonly name: string
  readonly size: number
  readonly scene: (size: number) => Scene
  /** The expected status: another one would mean that nothing was measured. */
  readonly status?: number
}

/** A request with its set-up and clean-up. Only the request is measured. */
export interface Scene {
  readonly before?: readonly TransportRequest[]
  readonly request: TransportRequest
  readonly after?: readonly TransportRequest[]
}

export type Send = (request: TransportRequest) => Promise<number>

/** CPU time below this is acceptable, however it grows. */
const noConcernMs = 60
/** Between four (linear) and sixteen (quadratic). */
const mostRatio = 10
/** Only exponential work, or a large constant, takes so long for requests of these sizes. */
const ceilingMs = 5000
/** Texts of so few characters take no time, unless it doubles with each. */
const tinySizes = [4, 8, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32]
const tinyMs = 300

/** The problem with the growth; undefined if there is none. */
export async function growthProblem(shape: Shape, send: Send): Promise<string | undefined> {
  for (const tiny of tinySizes) {
    const { ms, problem } = await sent(shape, tiny, send)
    if (problem !== undefined) return problem
    if (ms > tinyMs) return `${tiny} take ${Math.round(ms)} ms`
  }
  // Step by step: fast growth is detected at small sizes.
  for (const share of [16, 4, 1]) {
    const problem = await stepProblem(Math.ceil(shape.size / share), shape, send)
    if (problem !== undefined) return problem
  }
  return undefined
}

async function stepProblem(size: number, shape: Shape, send: Send): Promise<string | undefined> {
  let problem: string | undefined
  for (let round = 0; round < 3; round++) {
    const { ms: largeMs, problem: refused } = await sent(shape, size, send)
    if (refused !== undefined) return refused
    if (largeMs <= noConcernMs) return undefined
    const { ms: smallMs } = await sent(shape, Math.ceil(size / 4), send)
    if (largeMs > ceilingMs) return `${size} take ${Math.round(largeMs)} ms`
    if (largeMs <= smallMs * mostRatio) return undefined
    problem = `${Math.ceil(size / 4)} take ${Math.round(smallMs)} ms, and ${size} take ${Math.round(largeMs)} ms`
  }
  return problem
}

async function sent(
  { scene, status }: Shape,
  size: number,
  send: Send,
): Promise<{ readonly ms: number; readonly problem?: string }> {
  const { before = [], request, after = [] } = scene(size)
  for (const one of before) {
    const answer = await send(one)
    if (answer !== 201) return { ms: 0, problem: `${one.path} for ${size} is answered with ${answer}` }
  }
  const start = process.threadCpuUsage()
  const answer = await send(request)
  const { user, system } = process.threadCpuUsage(start)
  for (const one of after) await send(one)
  const ms = (user + system) / 1000
  return answer === (status ?? answer) ? { ms } : { ms, problem: `${size} are answered with ${answer}` }
}
