import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Scorecard } from '../../simulate/scorecard/scorecard.ts'
import type { Flags, FlagValues } from '../command/command.ts'
import command from './scorecard.ts'

const example = fileURLToPath(new URL('../../../examples/memcached', import.meta.url))

async function run(
  flags: { readonly sample?: string; readonly live?: string; readonly json?: boolean },
  ...positionals: readonly string[]
): Promise<{
  readonly code: number
  readonly out: readonly string[]
}> {
  const out: string[] = []
  const { signal } = new AbortController()
  const code = await command.run({
    flags: flags as FlagValues<Flags>,
    positionals,
    out: (line) => void out.push(line),
    err: () => undefined,
    signal,
  })
  return { code, out }
}

describe('muster scorecard', () => {
  it('finds no broken rule in the memcached example, with JSON output', async () => {
    const { code, out } = await run({ json: true, sample: `${example}/sample.yaml` }, `${example}/operator.ts`)
    const card = JSON.parse(out.join('\n')) as Scorecard
    expect(card.lines.filter(({ result }) => result !== 'passed').map(({ rule }) => rule)).toEqual(['least access'])
    expect(card).toMatchObject({ operator: 'memcached', passed: true, level: { level: 2 }, unanswered: 0 })
    expect(code).toBe(0)
  }, 60_000)

  it('explains what is missing', async () => {
    await expect(run({})).rejects.toMatchObject({ name: 'InvalidFlag' })
    await expect(run({ sample: 'nowhere.yaml' }, `${example}/operator.ts`)).rejects.toMatchObject({
      name: 'InvalidFlag',
    })
    await expect(run({ live: `${example}/operator.ts` }, `${example}/operator.ts`)).rejects.toMatchObject({
      name: 'ModuleUnusable',
    })
  })
})
