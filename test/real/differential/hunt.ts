/**
 * A hunt for differences: many sequences side by side, each difference seen twice before it counts (the two servers do
 * not look at the clock at the same moment), one of each sort made as short as can be.
 */
import { randomBytes } from 'node:crypto'
import type { Access } from '../cluster.ts'
import { generate } from './generator.ts'
import { definitions } from './kinds-custom.ts'
import { describeDifference, inNamespace, minimise, signatureOf } from './minimise.ts'
import { type Bench, type Difference, runSequence } from './runner.ts'
import { realSide } from './servers.ts'

export interface HuntOptions {
  readonly seed: number
  /** Requests in all. */
  readonly requests: number
  /** Requests in a sequence. @default 40 */
  readonly length?: number
  /** Sequences at a time. @default 8 */
  readonly lanes?: number
  readonly only?: readonly string[] | undefined
  /** How many sorts of differences are shortened. @default 20 */
  readonly minimised?: number
  /** Told as they are found. */
  readonly onDifference?: (text: string) => void
}

export interface HuntResult {
  readonly requests: number
  /** By sort: the shortest, told. */
  readonly differences: readonly string[]
  readonly counts: ReadonlyMap<string, number>
}

export async function hunt(access: Access, options: HuntOptions): Promise<HuntResult> {
  const { seed, requests, length = 40, lanes = 8, only, minimised = 20, onDifference } = options
  const run = randomBytes(3).toString('hex')
  const group = `diff-${run}.example.com`
  const bench: Bench = { real: realSide(access), definitions: definitions(group) }
  let taken = 0
  const namespace = (): string => `diff-${run}-${taken++}`
  const found: Difference[] = []
  let sent = 0
  try {
    await define(bench, group)
    const seeds = Array.from({ length: Math.ceil(requests / length) }, (_none, index) => seed * 100_003 + index)
    const lane = async (): Promise<void> => {
      for (let one = seeds.shift(); one !== undefined; one = seeds.shift()) {
        const sequence = generate({ seed: one, length, group, namespace: namespace(), only })
        sent += sequence.steps.length
        const difference = await runSequence(bench, sequence)
        const again = difference && (await runSequence(bench, inNamespace(sequence, namespace())))
        if (again) found.push(again)
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    const sorts = Map.groupBy(found, signatureOf)
    const all = [...sorts.values()].map((same) => same.reduce((a, b) => (b.index < a.index ? b : a)))
    const shortest = all.slice(0, minimised)
    const told: string[] = all.slice(minimised).map(describeDifference)
    for (const text of told) onDifference?.(text)
    const shorten = async (): Promise<void> => {
      for (let one = shortest.shift(); one; one = shortest.shift()) {
        const text = describeDifference(await minimise(bench, one, namespace))
        told.push(text)
        onDifference?.(text)
      }
    }
    await Promise.all(Array.from({ length: lanes }, shorten))
    return {
      requests: sent,
      differences: told,
      counts: new Map([...sorts].map(([sort, same]) => [sort, same.length])),
    }
  } finally {
    for (const { metadata } of bench.definitions as unknown as readonly {
      readonly metadata: { readonly name: string }
    }[]) {
      await request(bench, 'DELETE', `${crds}/${metadata.name}`)
    }
    bench.real.close()
  }
}

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** Defines the custom kinds on the real server, and waits until it serves them. */
async function define(bench: Bench, group: string): Promise<void> {
  for (const body of bench.definitions) {
    const status = await request(bench, 'POST', crds, JSON.stringify(body))
    if (status !== 201) throw new Error(`a CRD was answered with ${status}`)
  }
  const paths = ['v1/widgets', 'v1beta1/widgets', 'v1/rules', 'v1/opens'].map((path) => `/apis/${group}/${path}`)
  for (const path of paths)
    while ((await request(bench, 'GET', path)) !== 200) await new Promise((resolve) => setImmediate(resolve))
}

async function request(
  { real }: Bench,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: string,
): Promise<number> {
  const headers = { authorization: 'Bearer admin-token', ...(body && { 'content-type': 'application/json' }) }
  const reply = await real.send({ method, path, headers, body, signal: AbortSignal.timeout(30_000) })
  await Array.fromAsync(reply.body)
  return reply.status
}
