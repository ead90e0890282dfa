/**
 * Request sequences by chance. A sequence deals with a few kinds and a few names in a namespace of its own, so that
 * writes meet each other: creates of what is there, conflicts of managers, updates of what is being deleted.
 */
import { chanceOf } from './chance.ts'
import { clusterKinds } from './kinds-cluster.ts'
import { coreKinds } from './kinds-core.ts'
import { customKinds } from './kinds-custom.ts'
import { policyKinds } from './kinds-policy.ts'
import { storageKinds } from './kinds-storage.ts'
import { workloadKinds } from './kinds-workload.ts'
import { getStep, listStep, oddStep, ownQuery, watchSteps } from './reads.ts'
import { collectionOf, createStep, isBuiltIn, type Scene } from './scene.ts'
import type { Kind, Sequence, Step } from './step.ts'
import {
  actionStep,
  anyCreate,
  applyStep,
  deleteCollectionStep,
  deleteStep,
  jsonPatchStep,
  mergePatchStep,
  replaceStep,
  scaleStep,
  statusStep,
  strategicPatchStep,
} from './writes.ts'

export interface GeneratorOptions {
  readonly seed: number
  /** Requests in the sequence. */
  readonly length: number
  /** Of the custom kinds. */
  readonly group: string
  /** A namespace that no other sequence uses. */
  readonly namespace: string
  /** Only these, by plural. */
  readonly only?: readonly string[] | undefined
}

export function generate({ seed, length, group, namespace, only }: GeneratorOptions): Sequence {
  const chance = chanceOf(seed)
  const scene: Scene = { chance, namespace }
  const all = [
    ...coreKinds,
    ...workloadKinds,
    ...clusterKinds,
    ...storageKinds,
    ...policyKinds,
    ...customKinds(group),
    ...customKinds(group),
  ]
  const some = only ? all.filter(({ plural }) => only.includes(plural)) : all
  const kinds = [chance.pick(some), chance.pick(some)]
  const steps: Step[] = kinds.map((kind) => createStep(scene, kind, 'a', []))
  while (steps.length < length - 2 * kinds.length) steps.push(...stepsOf(scene, chance.pick(kinds)))
  for (const [index, kind] of kinds.entries()) {
    steps.push(...watchSteps(scene, kind, `last-${index}`), {
      method: 'GET',
      path: collectionOf(scene, kind),
      query: ownQuery(scene, kind),
    })
  }
  const tried = new Set(kinds.filter(({ isDryRun }) => isDryRun).map((kind) => collectionOf(scene, kind)))
  return { seed, namespace, steps: steps.map((step) => (isUnder(step.path, tried) ? dryRun(step) : step)) }
}

function isUnder(path: string, collections: ReadonlySet<string>): boolean {
  return [...collections].some((collection) => path === collection || path.startsWith(`${collection}/`))
}

function dryRun(step: Step): Step {
  if (step.method === 'GET')
    return step.until === undefined ? step : { method: 'GET', path: step.path, query: ownOnly(step) }
  return { ...step, query: { ...step.query, dryRun: 'All' } }
}

function ownOnly({ query }: Step): Readonly<Record<string, string>> {
  const { labelSelector } = query ?? {}
  return labelSelector === undefined ? {} : { labelSelector }
}

function stepsOf(scene: Scene, kind: Kind): readonly Step[] {
  const { chance } = scene
  const { status, hasScale, actions } = kind
  const make = chance.weigh<(scene: Scene, kind: Kind) => readonly Step[]>([
    [10, (s, k) => [anyCreate(s, k)]],
    [12, (s, k) => [replaceStep(s, k)]],
    [6, (s, k) => [jsonPatchStep(s, k)]],
    [10, (s, k) => [mergePatchStep(s, k)]],
    [isBuiltIn(kind) ? 8 : 1, (s, k) => [strategicPatchStep(s, k)]],
    [20, (s, k) => [applyStep(s, k)]],
    [status ? 12 : 1, (s, k) => [statusStep(s, k)]],
    [hasScale ? 4 : 0, (s, k) => [scaleStep(s, k)]],
    [actions ? 6 : 0, (s, k) => [actionStep(s, k)]],
    [7, (s, k) => [deleteStep(s, k)]],
    [1, (s, k) => [deleteCollectionStep(s, k)]],
    [6, (s, k) => [getStep(s, k)]],
    [8, (s, k) => [listStep(s, k)]],
    [1, (s, k) => watchSteps(s, k, `w${s.chance.below(1e6)}`)],
    [2, (s, k) => [oddStep(s, k)]],
  ])
  return make(scene, kind)
}
