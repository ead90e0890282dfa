/**
 * Whether the time of a request grows with its size, or with the square of it.
 *
 * The measure is processor time of this thread, not the clock: other programs on the machine do not count. The same request is
 * sent in two sizes, one four times the other; linear work takes four times as long, quadratic work sixteen times. A single
 * measurement may be off (the engine compiles, memory is cleaned up), so a verdict needs three of them.
 */
import type { TransportRequest } from '../../src/transport/transport.ts'

/** A request that can be made in any size; `size` counts characters or items. */
export interface Shape {
  readonly name: string
  readonly size: number
  readonly request: (size: number) => TransportRequest
}

export type Send = (request: TransportRequest) => Promise<number>

/** Processor time up to here is no concern, however it grows. */
const noConcernMs = 60
/** Between four (linear) and sixteen (quadratic). */
const mostRatio = 10
/** Only exponential work, or a large constant, takes so long on requests of these sizes. */
const ceilingMs = 5000
/** Texts of so few characters take no time at all, unless it doubles with each. */
const tinySizes = [4, 8, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32]
const tinyMs = 300

/** What is wrong with the growth; undefined when nothing is. */
export async function growthProblem({ size, request }: Shape, send: Send): Promise<string | undefined> {
  for (const tiny of tinySizes) {
    const ms = await cpuMs(send, request(tiny))
    if (ms > tinyMs) return `${tiny} take ${Math.round(ms)} ms`
  }
  // Step by step: what grows too fast is found while it is still small.
  for (const share of [16, 4, 1]) {
    const problem = await stepProblem(Math.ceil(size / share), request, send)
    if (problem !== undefined) return problem
  }
  return undefined
}

async function stepProblem(size: number, request: Shape['request'], send: Send): Promise<string | undefined> {
  const [small, large] = [request(Math.ceil(size / 4)), request(size)]
  let problem: string | undefined
  for (let round = 0; round < 3; round++) {
    const largeMs = await cpuMs(send, large)
    if (largeMs <= noConcernMs) return undefined
    const smallMs = await cpuMs(send, small)
    if (largeMs > ceilingMs) return `${size} take ${Math.round(largeMs)} ms`
    if (largeMs <= smallMs * mostRatio) return undefined
    problem = `${Math.ceil(size / 4)} take ${Math.round(smallMs)} ms, and ${size} take ${Math.round(largeMs)} ms`
  }
  return problem
}

async function cpuMs(send: Send, request: TransportRequest): Promise<number> {
  const before = process.threadCpuUsage()
  await send(request)
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
