/** Helm's engine in a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { RenderCase, RenderResult } from './render-case.ts'

/** The results of Helm's engine, in the order of the cases. @param program path of `helm-engine` */
export async function renderWithHelm(program: string, cases: readonly RenderCase[]): Promise<readonly RenderResult[]> {
  const results: RenderResult[] = []
  // A process ends with the first template that does not; the next process continues after it.
  do {
    const answers = await renderInOneProcess(program, cases.slice(results.length))
    results.push(...answers)
    if (results.length < cases.length && !answers.at(-1)?.unbounded)
      throw new Error(`Helm answered ${results.length} of ${cases.length} cases`)
  } while (results.length < cases.length)
  return results
}

async function renderInOneProcess(program: string, cases: readonly RenderCase[]): Promise<readonly RenderResult[]> {
  const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, TZ: 'UTC' } })
  const closed = once(child, 'close')
  const results: RenderResult[] = []
  const reading = (async () => {
    for await (const line of createInterface({ input: child.stdout })) results.push(JSON.parse(line) as RenderResult)
  })()
  const requests = Readable.from(cases.values().map((one) => `${JSON.stringify(one)}\n`))
  // Requests that an ended process did not read are not lost: the caller counts the answers.
  await pipeline(requests, child.stdin).catch(() => undefined)
  await Promise.all([reading, closed])
  return results
}
