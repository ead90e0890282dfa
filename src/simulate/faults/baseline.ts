/**
 * The stage: everything that is the same for all runs of a simulation. The kinds of the operator are installed
 * once, each scene is played once without faults, and where it ended is where those that come after it begin.
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

export interface BaselineOptions {
  readonly subject: SimulatedSubject
  readonly seed: number
  readonly workloads: boolean
  readonly outside: MakeOutside
  /** What is worked out once for all runs; `noRecall` works it out each time. @default one of its own */
  readonly recall?: Recall | undefined
}

/** A scene as it goes when nothing goes wrong. */
export interface BaselineRun {
  readonly scene: Scene
  readonly from: Snapshot
  readonly run: SimulatedRun
  /** What is chance. */
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
    // What is loaded when it is first used is loaded here: real time passes for it, and that must not show in a trace.
    const other = await play(seed + 1)
    const run = await play(seed)
    // What was chance when it was made is chance when it is made anew.
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

/** A cluster with the operator's kinds, and nothing else. */
async function emptyCluster({ subject, seed, workloads }: BaselineOptions): Promise<Snapshot> {
  const cluster = openCluster({ seed, workloads })
  const { time, server } = cluster
  const client = createClient({ transport: inProcessTransport(server), clock: time, random: seededRandom(seed) })
  for (const kind of subject.kinds) await client.create(crds, kind.crd() as unknown as UntypedObject)
  await time.run(10_000)
  cluster.halt()
  return cluster.snapshot()
}
