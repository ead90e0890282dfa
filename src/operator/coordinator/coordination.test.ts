import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { harbourConfig, harbourCoordinator, pier, Ship, ship } from '../../../test/coordinator-operator.ts'
import { ConfigMap, Node } from '../../kube/kinds.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import { operatorErrors } from '../errors.ts'
import { noReferences } from '../view/coverage.ts'
import { fields } from '../view/projected-input.ts'
import { Coordination } from './coordination.ts'
import { type CoordinatorChange, defineCoordinator } from './coordinator.ts'

const config = harbourConfig.read({})
const now = 1_000_000

/** Objects by kind and name, as a cluster has them. */
class World {
  readonly objects = new Map<string, { readonly resource: Resource; readonly object: KubeObject }>()

  list(resource: Resource): readonly KubeObject[] {
    return [...this.objects.values()].flatMap((each) =>
      formatResource(each.resource) === formatResource(resource) ? [each.object] : [],
    )
  }
}

function version(object: UntypedObject, uid: string, resourceVersion: number): KubeObject {
  return {
    ...object,
    metadata: {
      ...object.metadata,
      uid,
      resourceVersion: String(resourceVersion),
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
  }
}

const edits = fc.array(
  fc.record({
    resource: fc.constantFrom('ship' as const, 'pier' as const),
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    what: fc.constantFrom('put' as const, 'put' as const, 'delete' as const, 'recreate' as const),
    length: fc.integer({ min: 1, max: 6 }),
    priority: fc.integer({ min: 0, max: 2 }),
    isLabelled: fc.boolean(),
    decides: fc.boolean(),
  }),
  { maxLength: 40, size: 'max' },
)

describe('a coordination', () => {
  it('has the decisions of a fresh list after any changes, in any order, with any batches, and repeated reports', () => {
    fc.assert(
      fc.property(edits, (all) => {
        const world = new World()
        const taken: CoordinatorChange[] = []
        const coordinator = harbourCoordinator({ onTake: (change) => void taken.push(change) })
        const coordination = new Coordination(coordinator, noReferences)
        coordination.start(config, world)
        let count = 0
        const last = new Map<string, KubeObject | undefined>()
        for (const { resource: which, name, what, length, priority, isLabelled, decides } of all) {
          const resource = which === 'ship' ? Ship : ConfigMap
          const id = `${which} ${name}`
          const known = world.objects.get(id)
          count++
          if (what === 'delete') world.objects.delete(id)
          else {
            const uid = what === 'recreate' || !known ? `${id} ${count}` : (known.object.metadata.uid ?? '')
            const draft = which === 'ship' ? ship(name, { length, priority }) : pier(name, length)
            const plain = {
              ...draft,
              metadata: { ...draft.metadata, ...(which === 'pier' && !isLabelled && { labels: {} }) },
            }
            world.objects.set(id, { resource, object: version(plain, uid, count) })
          }
          const place = { namespace: 'default', name }
          const live = world.objects.get(id)?.object
          const before = taken.length
          coordination.note(resource, place, live)
          const after = taken.length
          // The same report once more is no news.
          expect(coordination.note(resource, place, live)).toBe(false)
          expect(taken.length).toBe(after)
          // Each change begins where the last one ended.
          for (const change of taken.slice(before)) {
            expect(change.before).toBe(last.get(id))
            last.set(id, change.object)
          }
          if (decides) coordination.decide(now)
        }
        coordination.decide(now)
        const fresh = new Coordination(harbourCoordinator(), noReferences)
        fresh.start(config, world)
        fresh.decide(now)
        expect(Object.fromEntries(coordination.decisions)).toEqual(Object.fromEntries(fresh.decisions))
        // Starting anew changes nothing either.
        coordination.start(config, world)
        expect(coordination.decide(now).changed).toEqual([])
      }),
    )
  })

  it('drops decisions that a new state does not make', () => {
    const world = new World()
    world.objects.set('pier', { resource: ConfigMap, object: version(pier('one', 4), 'p', 1) })
    world.objects.set('ship', { resource: Ship, object: version(ship('a', { length: 4 }), 'a', 2) })
    const coordination = new Coordination(harbourCoordinator(), noReferences)
    coordination.start(config, world)
    expect(coordination.decide(now).changed).toEqual(['a'])
    world.objects.delete('ship')
    coordination.start(harbourConfig.read({ reserve: 1 }), world)
    expect(coordination.decision('a')).toEqual({ docks: true })
    expect(coordination.decide(now).changed).toEqual(['a'])
    expect(coordination.decision('a')).toBeUndefined()
  })

  it('shows the declared fields only, and takes an object once, however many inputs select it', () => {
    const taken: CoordinatorChange[] = []
    const coordinator = defineCoordinator({
      name: 'nodes',
      reads: [fields(Node, ['spec.unschedulable'])],
      start: () => ({}),
      take: (_state, change) => void taken.push(change),
      decide: () => ({ decisions: [] }),
    })
    const coordination = new Coordination(coordinator, noReferences)
    coordination.start({}, { list: () => [] })
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n', uid: 'n' },
      spec: { unschedulable: true, podCIDR: '10.0.0.0/8' },
    }
    coordination.note(Node, { name: 'n' }, node)
    expect(taken).toEqual([{ resource: Node, before: undefined, object: { ...node, spec: { unschedulable: true } } }])
    expect(coordination.noteGone(Node)).toBe(true)
    expect(taken.at(-1)).toMatchObject({ before: { metadata: { name: 'n' } }, object: undefined })
    expect(coordination.noteGone(Node)).toBe(false)
  })

  it('refuses what is no decision, and freezes what is one', () => {
    const deciding = (decide: () => never): Coordination => {
      const coordinator = defineCoordinator({
        name: 'odd',
        reads: [Node],
        start: () => ({}),
        take: () => undefined,
        decide,
      })
      const coordination = new Coordination(coordinator, noReferences)
      coordination.start({}, { list: () => [] })
      return coordination
    }
    const answers = [
      { decisions: [[1, {}]] },
      { decisions: [], again: Number.NaN },
      { decisions: [], again: '5' },
      {
        decisions: (function* () {
          for (;;) yield ['a', 1]
        })(),
      },
    ]
    for (const answer of answers) {
      let error: unknown
      try {
        deciding(() => answer as never).decide(now)
      } catch (thrown) {
        error = thrown
      }
      expect(isMusterError(error, operatorErrors.InvalidCoordinator)).toBe(true)
    }
    const coordination = deciding(() => ({ decisions: [['a', { list: [{ x: 1 }] }]], again: Infinity }) as never)
    expect(coordination.decide(now)).toEqual({ changed: ['a'], again: undefined })
    expect(Object.isFrozen((coordination.decision('a') as { list: readonly object[] }).list[0])).toBe(true)
    // Equal decisions are no change.
    expect(coordination.decide(now).changed).toEqual([])
  })
})
