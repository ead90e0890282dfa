/** The rate of the simulator in plans per second on one core, for the memcached example, and the time of all plans. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text as readText } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { engineFlags } from '../../src/cli/testing/simulate-parts.ts'
import { type BenchReport, figure, type Figure } from '../figure.ts'
import type { BenchOptions } from '../main.ts'
import type { Rate, RateOptions } from './rate.ts'

/** The longest acceptable wait for an author. */
const wantedPlansPerSecond = 200
const wantedSeconds = 60

export async function run({ quick, only, log }: BenchOptions): Promise<BenchReport> {
  const figures: Figure[] = []
  for (const [name, workloads] of [
    ['no workloads', false],
    ['workloads', true],
  ] as const) {
    if (only === undefined || only === name) figures.push(...(await measure(name, workloads, quick, log)))
  }
  if (!quick && (only === undefined || only === 'database'))
    figures.push(await wholeSet('the database', 'database', true))
  return { figures, missing: [] }
}

/** In a process like those of the command. */
async function measure(
  name: string,
  workloads: boolean,
  quick: boolean,
  log: BenchOptions['log'],
): Promise<readonly Figure[]> {
  const rate = fileURLToPath(new URL('rate.ts', import.meta.url))
  const options: RateOptions = { workloads, quick }
  const flags = ['--conditions=muster-source', ...engineFlags(workloads)]
  const child = spawn(process.execPath, [...flags, rate, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [text] = await Promise.all([readText(child.stdout), once(child, 'close')])
  const { all, executed, broken, seconds, wall } = JSON.parse(text) as Rate
  log(`${name}: ${executed} of ${all} plans, ${broken} broken, ${seconds.toFixed(1)} s of CPU, ${wall.toFixed(1)} s`)
  return [
    figure('simulate', `plans a second of CPU, ${name}`, executed / seconds, wantedPlansPerSecond, 'wanted', {
      relation: '>=',
      limit: 1,
    }),
    ...(quick ? [] : [await wholeSet(name, 'memcached', workloads)]),
  ]
}

/** The inputs of the simulation besides the sample. */
const further = {
  memcached: [],
  database: [
    ['--sample', 'sample.yaml'],
    ['--live', 'outside.ts'],
    ['--scenarios', 'scenarios.yaml'],
  ],
} as const satisfies Readonly<Record<string, readonly (readonly [flag: string, file: string])[]>>

/** As an author runs it: the command, from its start to its end, on all cores. */
async function wholeSet(name: string, example: keyof typeof further, workloads: boolean): Promise<Figure> {
  const place = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url))
  const files = further[example].flatMap(([flag, file]) => [flag, place(`examples/${example}/${file}`)])
  const words = ['simulate', place(`examples/${example}/operator.ts`), ...files, ...(workloads ? [] : ['--bare'])]
  const begun = performance.now()
  const child = spawn(process.execPath, ['--conditions=muster-source', place('src/cli/main.ts'), ...words], {
    stdio: 'ignore',
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`muster simulate ended with ${code}`)
  const seconds = (performance.now() - begun) / 1000
  return figure('simulate', `seconds for all plans, ${name}`, seconds, wantedSeconds, 'wanted', {
    relation: '<=',
    limit: 1,
  })
}
