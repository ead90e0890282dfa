/** Helm's engine in a process of its own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { RenderCase, RenderResult } from './render-case.ts'

/** The results of Helm's engine, in the order of the cases. @param program path of `helm-engine` */
export async function renderWithHelm(program: string, cases: readonly RenderCase[]): Promise<readonly RenderResult[]> {
  const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const results: RenderResult[] = []
  const reading = (async () => {
    for await (const line of createInterface({ input: child.stdout })) results.push(JSON.parse(line) as RenderResult)
  })()
  for (const one of cases) {
    if (!child.stdin.write(`${JSON.stringify(one)}\n`)) await once(child.stdin, 'drain')
  }
  child.stdin.end()
  await Promise.all([reading, closed])
  if (results.length !== cases.length) throw new Error(`Helm answered ${results.length} of ${cases.length} cases`)
  return results
}
