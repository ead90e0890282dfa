/** One process that plays plans of the memcached example, and says on standard output how long that took. */
import { memcached as operator } from '../../test/examples.ts'
import { someOf } from '../../src/simulate/faults/plans.ts'
import { samplesOf } from '../../src/simulate/scorecard/sample.ts'
import { openSimulator } from '../../src/simulate/faults/simulate.ts'
import { operatorSubject } from '../../src/simulate/faults/subject.ts'

export interface RateOptions {
  readonly workloads: boolean
  readonly quick: boolean
}

export interface Rate {
  readonly all: number
  readonly played: number
  readonly broken: number
  /** Of the processor. */
  readonly seconds: number
  readonly wall: number
}

const { workloads, quick } = JSON.parse(process.argv[2]!) as RateOptions
const subject = await operatorSubject(() => operator)
const sample = samplesOf(operator)
// The rate is that of a set that goes on: what is new to the machine is compiled first, and counts in the whole set. By
// another simulator with another seed: nothing that is played then has been played before.
const other = await openSimulator({ subject, sample, workloads, seed: 2 })
await Array.fromAsync(other.playAll(someOf(await Array.fromAsync(other.plans()), quick ? 20 : 400, 2)))
const simulator = await openSimulator({ subject, sample, workloads })
const all = await Array.fromAsync(simulator.plans())
const plans = quick ? someOf(all, 80, 1) : all
const begun = performance.now()
// Of the process, so that what else runs on the machine does not count; what compiles and collects beside it does.
const before = process.cpuUsage()
let broken = 0
for await (const [, { failings }] of simulator.playAll(plans)) if (failings.length > 0) broken++
const { user, system } = process.cpuUsage(before)
const rate: Rate = {
  all: all.length,
  played: plans.length,
  broken,
  seconds: (user + system) / 1_000_000,
  wall: (performance.now() - begun) / 1000,
}
process.stdout.write(JSON.stringify(rate))
