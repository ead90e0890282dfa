import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SimulationReport } from '../simulate/simulate.ts'
import type { Flags, FlagValues } from './command.ts'
import { command } from './simulate.ts'

const module = fileURLToPath(new URL('../../examples/memcached/operator.ts', import.meta.url))

async function run(
  flags: Readonly<Record<string, string | boolean>>,
  ...positionals: readonly string[]
): Promise<{ readonly code: number; readonly out: string }> {
  const lines: string[] = []
  const code = await command.run({
    flags: flags as FlagValues<Flags>,
    positionals,
    out: (line) => void lines.push(line),
    err: () => undefined,
    signal: new AbortController().signal,
  })
  return { code, out: lines.join('\n') }
}

describe('muster simulate', () => {
  let folder: string
  beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), 'muster-simulate-'))))
  afterAll(async () => await rm(folder, { recursive: true }))

  it('plays plans of the groups asked for, and writes a report', async () => {
    const file = path.join(folder, 'report.json')
    const { code, out } = await run({ bare: true, plans: 'crash', limit: '5', report: file }, module)
    expect(out).toContain('memcached: no law is broken')
    expect(code).toBe(0)
    const report = JSON.parse(await readFile(file, 'utf8')) as SimulationReport
    expect(report).toMatchObject({ operator: 'memcached', seed: 1, passed: true, byGroup: { crash: 5 } })
  }, 120_000)

  it('replays a plan, and tells all that happened', async () => {
    const { code, out } = await run({ bare: true, replay: 'create: crash@1' }, module)
    expect(out).toMatch(/process 1 crashes before it hears of write 1[^]*process 2 starts[^]*no law is broken$/)
    expect(code).toBe(0)
  }, 120_000)

  it('plays scenes of one’s own, with an application that is played', async () => {
    const [operator, sample, live, scenes] = ['operator.ts', 'sample.yaml', 'outside.ts', 'scenes.yaml'].map((name) =>
      fileURLToPath(new URL(`../../examples/database/${name}`, import.meta.url)),
    ) as [string, string, string, string]
    const flags = { bare: true, sample, live, scenes }
    const { code, out } = await run({ ...flags, replay: 'back up: crash@1' }, operator)
    expect(out).toMatch(/process 2 starts[^]*write 2: patch databases\/status[^]*no law is broken$/)
    expect(code).toBe(0)
    const wrong = path.join(folder, 'scenes.yaml')
    await writeFile(wrong, 'grow: { spec: { size: 3 } }')
    await expect(run({ ...flags, scenes: wrong }, operator)).rejects.toThrow('is no list of patches by name')
    await expect(run({ ...flags, scenes: path.join(folder, 'none') }, operator)).rejects.toThrow('cannot be read')
  }, 120_000)

  it('says what it lacks', async () => {
    await expect(run({})).rejects.toMatchObject({ name: 'InvalidFlag' })
    await expect(run({ seed: 'x' }, module)).rejects.toMatchObject({ name: 'InvalidFlag' })
    await expect(run({ plans: 'crashes' }, module)).rejects.toMatchObject({ name: 'InvalidFlag' })
    await expect(run({ bare: true, replay: 'nowhere: crash@1' }, module)).rejects.toMatchObject({ name: 'InvalidPlan' })
  }, 120_000)
})
