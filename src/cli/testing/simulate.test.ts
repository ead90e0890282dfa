import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SimulationReport } from '../../simulate/faults/simulate.ts'
import type { Flags, FlagValues } from '../command/command.ts'
import command from './simulate.ts'

const module = fileURLToPath(new URL('../../../examples/memcached/operator.ts', import.meta.url))

/** It knows which sizes it has seen, until it starts anew. */
const forgetful = `
import { defineController, defineKind, defineOperator, defineDependent, integer } from '${import.meta.resolve('../../operator/index.ts')}'
import { ConfigMap } from '${import.meta.resolve('../../kube/kinds.ts')}'
const Diary = defineKind({ group: 'test.example.com', version: 'v1', kind: 'Diary', spec: { size: integer({ default: 1 }) } })
const seen = []
const page = defineDependent({
  for: Diary,
  kind: ConfigMap,
  name: ({ cr }) => cr.metadata.name,
  fromCR: ({ cr }) => {
    if (seen.at(-1) !== cr.spec.size) seen.push(cr.spec.size)
    return { data: { seen: seen.join() } }
  },
})
export const operator = defineOperator({ name: 'forgetful', controllers: [defineController({ for: Diary, dependents: [page] })] })
`

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

  it('runs plans of the selected groups, and writes a report', async () => {
    const file = path.join(folder, 'report.json')
    const { code, out } = await run({ bare: true, plans: 'crash', limit: '5', report: file }, module)
    expect(out).toContain('memcached: no law is broken')
    expect(code).toBe(0)
    const report = JSON.parse(await readFile(file, 'utf8')) as SimulationReport
    expect(report).toMatchObject({ operator: 'memcached', seed: 1, passed: true, byGroup: { crash: 5 } })
  }, 120_000)

  it('replays a plan, and prints the whole trace', async () => {
    const { code, out } = await run({ bare: true, replay: 'create: crash@1' }, module)
    expect(out).toMatch(/process 1 crashes before it hears of write 1[^]*process 2 starts[^]*no law is broken$/)
    expect(code).toBe(0)
  }, 120_000)

  it('runs custom scenarios, with a simulated application', async () => {
    const [operator, sample, live, scenarios] = ['operator.ts', 'sample.yaml', 'outside.ts', 'scenarios.yaml'].map(
      (name) => fileURLToPath(new URL(`../../../examples/database/${name}`, import.meta.url)),
    ) as [string, string, string, string]
    const flags = { bare: true, sample, live, scenarios }
    const { code, out } = await run({ ...flags, replay: 'back up: crash@1' }, operator)
    expect(out).toMatch(/process 2 starts[^]*write 2: patch databases\/status[^]*no law is broken$/)
    expect(code).toBe(0)
    const wrong = path.join(folder, 'scenarios.yaml')
    await writeFile(wrong, 'grow: { spec: { size: 3 } }')
    await expect(run({ ...flags, scenarios: wrong }, operator)).rejects.toThrow('is no list of patches by name')
    await expect(run({ ...flags, scenarios: path.join(folder, 'none') }, operator)).rejects.toThrow('cannot be read')
  }, 120_000)

  it('prints a replay command for a failure, which fails the same way', async () => {
    // What a shell would take apart.
    const place = path.join(folder, "it's here")
    await mkdir(path.join(place, 'bin'), { recursive: true })
    const [broken, sample] = [path.join(place, 'forgetful.ts'), path.join(place, 'my sample.yaml')]
    await writeFile(broken, forgetful)
    await writeFile(
      sample,
      'apiVersion: test.example.com/v1\nkind: Diary\nmetadata: {name: one, namespace: default}\nspec: {size: 2}\n',
    )
    const { code, out } = await run({ bare: true, plans: 'crash', limit: '12', seed: '7', sample }, broken)
    expect(code).toBe(1)
    const [, replayed = ''] = /^ {2}replay: (.+)$/m.exec(out) ?? []
    expect(replayed).toMatch(/^muster simulate .* --seed 7 --sample .* --bare --replay /)

    const main = fileURLToPath(new URL('../main.ts', import.meta.url))
    const muster = path.join(place, 'bin', 'muster')
    await writeFile(muster, `#!/bin/sh\nexec '${process.execPath}' --conditions=muster-source '${main}' "$@"\n`)
    await chmod(muster, 0o755)
    const env = { ...process.env, PATH: `${path.dirname(muster)}:${process.env['PATH']}` }
    const child = spawn('sh', ['-c', replayed], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const [printed, [ended]] = await Promise.all([text(child.stdout), once(child, 'close') as Promise<[number]>])
    // The law of the trace.
    const [, law = 'none'] = /^ {2}broken: ([^:]+):/m.exec(out) ?? []
    expect(printed).toContain(`broken: ${law}:`)
    expect(ended).toBe(1)
  }, 120_000)

  it('reports the same with one process and with three, including violations', async () => {
    const broken = path.join(folder, 'forgetful.ts')
    await writeFile(broken, forgetful)
    const report = async (jobs: string): Promise<SimulationReport> => {
      const file = path.join(folder, `jobs-${jobs}.json`)
      const words = [
        'simulate',
        broken,
        '--bare',
        '--plans',
        'crash',
        '--limit',
        '12',
        '--jobs',
        jobs,
        '--report',
        file,
      ]
      const main = fileURLToPath(new URL('../main.ts', import.meta.url))
      const child = spawn(process.execPath, ['--conditions=muster-source', main, ...words], { stdio: 'ignore' })
      await once(child, 'close')
      return JSON.parse(await readFile(file, 'utf8')) as SimulationReport
    }
    const [one, three] = await Promise.all([report('1'), report('3')])
    expect(one.failures.length).toBeGreaterThan(0)
    expect(one.plans.executed).toBe(12)
    expect(three).toEqual(one)
  }, 120_000)

  it('explains what is missing', async () => {
    await expect(run({})).rejects.toMatchObject({ name: 'InvalidFlag' })
    await expect(run({ seed: 'x' }, module)).rejects.toMatchObject({ name: 'InvalidFlag' })
    for (const part of ['0/2', '3/2', '1', 'x/y', '1/0'])
      await expect(run({ part }, module)).rejects.toMatchObject({ name: 'InvalidFlag' })
    await expect(run({ plans: 'crashes' }, module)).rejects.toMatchObject({ name: 'InvalidFlag' })
    await expect(run({ bare: true, replay: 'nowhere: crash@1' }, module)).rejects.toMatchObject({ name: 'InvalidPlan' })
  }, 120_000)
})
