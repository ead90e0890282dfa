/** A process that executes plans of the memcached example and prints the time on standard output. */
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
  readonly executed: number
  readonly broken: number
  /** CPU time. */
  readonly seconds: number
  readonly wall: number
}

const { workloads, quick } = JSON.parse(process.argv[2]!) as RateOptions
const subject = await operatorSubject(() => operator)
const sample = samplesOf(operator)
// The rate is that of a warm process: a set begins with compilation, which counts in the time of the whole set. The
// warm-up uses another simulator with another seed, so that none of the measured plans has been executed before.
const other = await openSimulator({ subject, sample, workloads, seed: 2 })
await Array.fromAsync(other.runPlans(someOf(await Array.fromAsync(other.plans()), quick ? 20 : 400, 2)))
const simulator = await openSimulator({ subject, sample, workloads })
const all = await Array.fromAsync(simulator.plans())
const plans = quick ? someOf(all, 80, 1) : all
const begun = performance.now()
// CPU time of the process, so that other load on the machine does not count; its compiler and collector threads do.
const before = process.cpuUsage()
let broken = 0
for await (const [, { violations }] of simulator.runPlans(plans)) if (violations.length > 0) broken++
const { user, system } = process.cpuUsage(before)
const rate: Rate = {
  all: all.length,
  executed: plans.length,
  broken,
  seconds: (user + system) / 1_000_000,
  wall: (performance.now() - begun) / 1000,
}
process.stdout.write(JSON.stringify(rate))
