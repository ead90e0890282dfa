/**
 * The baseline of a simulation: what all runs share. The operator's kinds are installed once, each scenario runs once
 * without faults, and its end is the start of the scenarios that follow it.
 */
import { createRecall, type Recall } from './recall.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { seededRandom } from '../../clock/random.ts'
import { simulateErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import { openCluster, type Snapshot } from './cluster.ts'
import { type EndStateMask, maskOf } from './end-state.ts'
import type { Fault } from './fault.ts'
import { type MakeOutside, type SimulatedRun, type SimulatedRunOptions, runScenario } from './run.ts'
import type { Scenario } from './scenario.ts'
import type { SimulatedSubject } from './subject.ts'

interface BaselineOptions {
  readonly subject: SimulatedSubject
  readonly seed: number
  readonly workloads: boolean
  readonly outside: MakeOutside
  /** The memo of pure computations; `noRecall` disables it. @default a new one */
  readonly recall?: Recall | undefined
}

/** A scenario without faults. */
export interface BaselineRun {
  readonly scenario: Scenario
  readonly from: Snapshot
  readonly run: SimulatedRun
  /** Random values, which are not compared. */
  readonly mask: EndStateMask
}

export interface Baseline {
  readonly subject: SimulatedSubject
  readonly seed: number
  reference(scenario: Scenario): Promise<BaselineRun>
  runPlan(
    reference: BaselineRun,
    faults: readonly Fault[],
    onHalt?: SimulatedRunOptions['onHalt'],
  ): Promise<SimulatedRun>
}

const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

export async function openBaseline(options: BaselineOptions): Promise<Baseline> {
  const { subject, seed, workloads, outside } = options
  const empty = await emptyCluster(options)
  const answers = new Map()
  const recall = options.recall ?? createRecall()
  const references = new Map<string, Promise<BaselineRun>>()

  const find = async (scenario: Scenario): Promise<BaselineRun> => {
    const before = scenario.after === undefined ? undefined : await references.get(scenario.after)
    const from = scenario.after === undefined ? empty : before?.run.snapshot
    if (!from)
      throw new MusterError(
        simulateErrors.InvalidPlan,
        `scenario ${scenario.name} follows ${scenario.after}, which was not run.`,
      )
    const runPlan = (own: number): Promise<SimulatedRun> =>
      runScenario({
        subject,
        scenario,
        faults: [],
        from,
        seed: own,
        workloads,
        outside,
        answers,
        recall,
        observes: true,
      })
    // A warm-up: modules that load lazily take real time, which must not show in a trace.
    const other = await runPlan(seed + 1)
    const run = await runPlan(seed)
    // A value that was random in the previous scenario stays so.
    return { scenario, from, run, mask: new Set([...(before?.mask ?? []), ...maskOf(run.end, other.end)]) }
  }

  return {
    subject,
    seed,
    reference(scenario) {
      let known = references.get(scenario.name)
      if (!known) references.set(scenario.name, (known = find(scenario)))
      return known
    },
    runPlan: ({ scenario, from }, faults, onHalt) =>
      runScenario({ subject, scenario, faults, from, seed, workloads, outside, answers, recall, onHalt }),
  }
}

/** A cluster with only the operator's kinds. */
async function emptyCluster({ subject, seed, workloads }: BaselineOptions): Promise<Snapshot> {
  const cluster = openCluster({ seed, workloads })
  const { time, server } = cluster
  const client = createClient({ transport: inProcessTransport(server), clock: time, random: seededRandom(seed) })
  for (const kind of subject.kinds) await client.create(crds, kind.crd())
  await time.run(10_000)
  cluster.halt()
  return cluster.snapshot()
}
