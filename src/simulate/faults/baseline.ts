/**
 * The baseline of a simulation: what all runs share. The operator's kinds are installed once, each scene runs once
 * without faults, and its end is the start of the scenes that follow it.
 */
import { createRecall, type Recall } from '../../kube/recall.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { seededRandom } from '../../clock/random.ts'
import { MusterError } from '../../kube/errors.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { openCluster, type Snapshot } from './cluster.ts'
import { type EndStateMask, maskOf } from './end-state.ts'
import type { Fault } from './fault.ts'
import { type MakeOutside, type SimulatedRun, type SimulatedRunOptions, runScene } from './run.ts'
import type { Scene } from './scene.ts'
import type { SimulatedSubject } from './subject.ts'

interface BaselineOptions {
  readonly subject: SimulatedSubject
  readonly seed: number
  readonly workloads: boolean
  readonly outside: MakeOutside
  /** The memo of pure computations; `noRecall` disables it. @default a new one */
  readonly recall?: Recall | undefined
}

/** A scene without faults. */
export interface BaselineRun {
  readonly scene: Scene
  readonly from: Snapshot
  readonly run: SimulatedRun
  /** Random values, which are not compared. */
  readonly mask: EndStateMask
}

export interface Baseline {
  readonly subject: SimulatedSubject
  readonly seed: number
  reference(scene: Scene): Promise<BaselineRun>
  play(reference: BaselineRun, faults: readonly Fault[], onHalt?: SimulatedRunOptions['onHalt']): Promise<SimulatedRun>
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

  const find = async (scene: Scene): Promise<BaselineRun> => {
    const before = scene.after === undefined ? undefined : await references.get(scene.after)
    const from = scene.after === undefined ? empty : before?.run.snapshot
    if (!from) throw new MusterError('InvalidPlan', `scene ${scene.name} follows ${scene.after}, which was not played.`)
    const play = (own: number): Promise<SimulatedRun> =>
      runScene({ subject, scene, faults: [], from, seed: own, workloads, outside, answers, recall, observes: true })
    // A warm-up: modules that load lazily take real time, which must not show in a trace.
    const other = await play(seed + 1)
    const run = await play(seed)
    // A value that was random in the previous scene stays so.
    return { scene, from, run, mask: new Set([...(before?.mask ?? []), ...maskOf(run.end, other.end)]) }
  }

  return {
    subject,
    seed,
    reference(scene) {
      let known = references.get(scene.name)
      if (!known) references.set(scene.name, (known = find(scene)))
      return known
    },
    play: ({ scene, from }, faults, onHalt) =>
      runScene({ subject, scene, faults, from, seed, workloads, outside, answers, recall, onHalt }),
  }
}

/** A cluster with only the operator's kinds. */
async function emptyCluster({ subject, seed, workloads }: BaselineOptions): Promise<Snapshot> {
  const cluster = openCluster({ seed, workloads })
  const { time, server } = cluster
  const client = createClient({ transport: inProcessTransport(server), clock: time, random: seededRandom(seed) })
  for (const kind of subject.kinds) await client.create(crds, kind.crd() as unknown as UntypedObject)
  await time.run(10_000)
  cluster.halt()
  return cluster.snapshot()
}
