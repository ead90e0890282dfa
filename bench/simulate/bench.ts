/** How many plans a second the simulator plays on one core, for the memcached example; and how long all of them take. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { memcached as operator } from '../../test/examples.ts'
import { someOf } from '../../src/simulate/plans.ts'
import { samplesOf } from '../../src/simulate/scorecard/sample.ts'
import { openSimulator } from '../../src/simulate/simulate.ts'
import { operatorSubject } from '../../src/simulate/subject.ts'
import { type BenchReport, figure, type Figure } from '../figure.ts'
import type { BenchOptions } from '../main.ts'

/** What an operator's author can wait for. */
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
  return { figures, missing: [] }
}

async function measure(
  name: string,
  workloads: boolean,
  quick: boolean,
  log: BenchOptions['log'],
): Promise<readonly Figure[]> {
  const subject = await operatorSubject(() => operator)
  const simulator = await openSimulator({ subject, sample: samplesOf(operator), workloads })
  const all = await Array.fromAsync(simulator.plans())
  const plans = quick ? someOf(all, 80, 1) : all
  // The rate is that of a set that goes on: what is new to the machine is compiled first, and that is counted below.
  for (const plan of someOf(all, quick ? 20 : 400, 2)) await simulator.play(plan)
  const warm = performance.now()
  // Of the process, so that what else runs on the machine does not count; what compiles and collects beside it does.
  const before = process.cpuUsage()
  let broken = 0
  for (const plan of plans) if ((await simulator.play(plan)).failings.length > 0) broken++
  const { user, system } = process.cpuUsage(before)
  const seconds = (user + system) / 1_000_000
  const wall = (performance.now() - warm) / 1000
  log(
    `${name}: ${plans.length} of ${all.length} plans, ${broken} broken, ${seconds.toFixed(1)} s of CPU, ${wall.toFixed(1)} s`,
  )
  return [
    figure('simulate', `plans a second of CPU, ${name}`, plans.length / seconds, wantedPlansPerSecond, 'wanted', {
      relation: '>=',
      limit: 1,
    }),
    ...(quick ? [] : [await wholeSet(name, workloads)]),
  ]
}

/** As its author waits for it: the command, from its start to its end, on all cores. */
async function wholeSet(name: string, workloads: boolean): Promise<Figure> {
  const [main, module] = ['src/cli/main.ts', 'examples/memcached/operator.ts'].map((file) =>
    fileURLToPath(new URL(`../../${file}`, import.meta.url)),
  )
  const words = ['simulate', module!, ...(workloads ? [] : ['--bare'])]
  const begun = performance.now()
  const child = spawn(process.execPath, ['--conditions=muster-source', main!, ...words], { stdio: 'ignore' })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`muster simulate ended with ${code}`)
  const seconds = (performance.now() - begun) / 1000
  return figure('simulate', `seconds for all plans, ${name}`, seconds, wantedSeconds, 'wanted', {
    relation: '<=',
    limit: 1,
  })
}
