/** The law of coordinators for the queue: any order of changes leads to the decisions that a fresh list leads to. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { components, job } from '../../../test/appwrapper-environment.ts'
import { Node, Pod } from '../../kube/kinds.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { CoordinatorChange } from '../../operator/coordinator/coordinator.ts'
import { workloadsConfig } from '../configuration/workloads-config.ts'
import type { QueueDecision } from '../core/phases/phases.ts'
import { AppWrapper } from './appwrapper.ts'
import { uidLabel } from './labels.ts'
import { queueCoordinator } from './queue-coordinator.ts'

const settings = workloadsConfig.read({ mcad: { preemption: true, backoffTime: 0 } })
const start = Date.UTC(2026, 0, 1)
const time = new Date(start).toISOString()

const appWrapper = fc.record({
  cpu: fc.integer({ min: 1, max: 4 }),
  count: fc.integer({ min: 1, max: 3 }),
  priority: fc.integer({ min: 0, max: 2 }),
  age: fc.integer({ min: 0, max: 3 }),
  phase: fc.constantFrom(undefined, 'Suspended', 'Resuming', 'Running', 'Suspending', 'Succeeded'),
  pods: fc.integer({ min: 0, max: 3 }),
})
const world = fc.record({
  wrappers: fc.array(appWrapper, { maxLength: 8 }),
  nodes: fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 4 }),
  foreign: fc.array(fc.integer({ min: 1, max: 2 }), { maxLength: 3 }),
})

type World = typeof world extends fc.Arbitrary<infer Value> ? Value : never

function changesOf({ wrappers, nodes, foreign }: World): readonly CoordinatorChange[] {
  const pod = (name: string, cpu: number, at: number, labels: Readonly<Record<string, string>>): CoordinatorChange => ({
    resource: Pod,
    object: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default', uid: name, labels },
      spec: {
        nodeName: `n${at % Math.max(nodes.length, 1)}`,
        containers: [{ name: 'main', resources: { requests: { cpu: `${cpu}` } } }],
      },
      status: { phase: 'Running' },
    } as KubeObject,
  })
  return [
    ...nodes.map((cpu, at): CoordinatorChange => {
      const status = { allocatable: { cpu: `${cpu}`, pods: '10' } }
      const metadata = { name: `n${at}`, labels: {} }
      return { resource: Node, object: { apiVersion: 'v1', kind: 'Node', metadata, spec: {}, status } as KubeObject }
    }),
    ...foreign.map((cpu, at) => pod(`foreign-${at}`, cpu, at, {})),
    ...wrappers.flatMap(({ cpu, count, priority, age, phase, pods }, at): readonly CoordinatorChange[] => {
      const uid = `uid-${at}`
      const isReserved = phase === 'Resuming' || phase === 'Running' || phase === 'Suspending'
      const status = phase && {
        phase,
        transitions: [{ time, phase, reason: phase === 'Suspending' ? 'Preempted' : 'x', message: '' }],
        dispatchTime: time,
        conditions: [{ type: 'QuotaReserved', status: isReserved ? 'True' : 'False', reason: 'x', message: '' }],
      }
      const creationTimestamp = new Date(start - age * 60_000).toISOString()
      const object = {
        apiVersion: 'workload.codeflare.dev/v1beta2',
        kind: 'AppWrapper',
        metadata: { name: `w${at}`, namespace: 'default', uid, creationTimestamp, labels: {} },
        spec: { scheduling: { priority }, ...components(job(`j${at}`, count, { requests: { cpu: `${cpu}` } })) },
        ...(status && { status }),
      } as KubeObject
      const own = isReserved ? Math.min(pods, count) : 0
      return [
        { resource: AppWrapper, object },
        ...Array.from({ length: own }, (_, index) => pod(`${uid}-${index}`, cpu, at + index, { [uidLabel]: uid })),
      ]
    }),
  ]
}

/** By AppWrapper. */
function decisionsAfter(changes: readonly CoordinatorChange[]): Readonly<Record<string, string>> {
  const coordinator = queueCoordinator()
  const state = coordinator.start({ config: settings })
  const all = new Map<string, QueueDecision>()
  for (const change of changes) coordinator.take(state, change)
  for (const [uid, decision] of coordinator.decide(state, start).decisions) if (decision) all.set(uid, decision)
  const texts = [...all].map(([uid, decision]) => [uid, decision.what] as const)
  return Object.fromEntries(texts.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

describe('the queue of AppWrappers', () => {
  it('decides the same whatever order the objects come in', () => {
    fc.assert(
      fc.property(
        world.chain((one) => {
          const changes = changesOf(one)
          // Nodes that fit a pod equally well are taken in the order in which they came.
          const nodes = changes.filter(({ resource }) => resource === Node)
          const others = changes.filter(({ resource }) => resource !== Node)
          const shuffled = fc.shuffledSubarray([...others], { minLength: others.length })
          return fc.tuple(
            fc.constant(changes),
            shuffled.map((rest) => nodes.concat(rest)),
          )
        }),
        ([listed, shuffled]) => {
          expect(decisionsAfter(shuffled)).toEqual(decisionsAfter(listed))
        },
      ),
    )
  })

  it('has nothing left of what has come and gone', () => {
    fc.assert(
      fc.property(world, world, (gone, kept) => {
        const others = changesOf(gone).filter(({ resource }) => resource !== Node)
        const passing = others.map(({ resource, object }): CoordinatorChange => {
          const metadata = {
            ...object!.metadata,
            name: `old-${object!.metadata.name}`,
            uid: `old-${object!.metadata.uid}`,
          }
          return { resource, object: { ...object!, metadata } }
        })
        const removed = passing.map(({ resource, object }): CoordinatorChange => ({ resource, before: object }))
        const changes = [...passing, ...removed, ...changesOf(kept)]
        expect(decisionsAfter(changes)).toEqual(decisionsAfter(changesOf(kept)))
      }),
    )
  })
})
