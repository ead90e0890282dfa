import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { KubeObject } from '../../kube/object.ts'
import { ConfigMap, Secret } from '../../operator/kinds.ts'
import type { InputChange } from '../../operator/view.ts'
import type { ConflictFinding } from './finding.ts'
import { createCausalityTracker } from './causality-tracker.ts'

const object = (resourceVersion: string, name = 'a'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', resourceVersion, uid: `uid of ${name}` },
})
const changed = (after: KubeObject, resource = ConfigMap): InputChange => ({ resource, before: undefined, after })
const ref = { name: 'a', namespace: 'default' }

describe('the origin of a change', () => {
  it('is a new one when it came from outside, and the same for every caller', () => {
    const history = createCausalityTracker(virtualClock())
    const first = history.originOf(changed(object('1')))
    expect(history.originOf(changed(object('2')))).toBeGreaterThan(first)
    expect(history.originOf(changed(object('1')))).toBe(first)
  })

  it('is that of the reconcile, when an operator here wrote it', () => {
    const history = createCausalityTracker(virtualClock())
    const first = history.originOf(changed(object('1')))
    const end = history.writing(ConfigMap, ref, first)
    // Others are told before the one who wrote is answered.
    expect(history.originOf(changed(object('2')))).toBe(first)
    expect(history.originOf(changed(object('3', 'b')))).toBeGreaterThan(first)
    end(object('2'))
    expect(history.originOf(changed(object('2')))).toBe(first)
    expect(history.originOf(changed(object('4')))).toBeGreaterThan(first)
  })

  it('of two writes under way is the later one, until both are answered', () => {
    const history = createCausalityTracker(virtualClock())
    const [one, two] = [history.newOrigin(), history.newOrigin()]
    const ends = [history.writing(ConfigMap, ref, two), history.writing(ConfigMap, ref, one)]
    expect(history.originOf(changed(object('5')))).toBe(two)
    ends[0]!(undefined)
    expect(history.originOf(changed(object('6')))).toBe(one)
    ends[1]!(undefined)
    expect(history.originOf(changed(object('7')))).toBeGreaterThan(two)
  })

  it('of a delete is identified by the uid', () => {
    const history = createCausalityTracker(virtualClock())
    const gone: InputChange = { resource: ConfigMap, before: object('8'), after: undefined }
    expect(history.originOf(gone)).toBe(history.originOf({ ...gone, before: object('9') }))
    expect(history.originOf({ ...gone, before: object('9', 'b') })).toBeGreaterThan(history.originOf(gone))
  })
})

describe('quarrels', () => {
  const conflict = (operator: string, fields: readonly string[], at: number, name = 'a'): ConflictFinding => ({
    kind: 'conflict',
    operator,
    controller: 'c',
    key: 'default/x',
    at,
    object: { kind: 'v1 ConfigMap', name: { name, namespace: 'default' } },
    fields,
    times: 8,
    withinMs: 700,
    with: [],
  })

  it('name those who have found the same about the same field of the same object, lately', async () => {
    const clock = virtualClock()
    const history = createCausalityTracker(clock)
    const mine = conflict('mine', ['data.size'], clock.now())
    history.quarrel(mine)
    expect(history.opponents(mine)).toEqual([])
    history.quarrel(conflict('theirs', ['data.size', 'data.colour'], clock.now()))
    history.quarrel(conflict('about another field', ['data.colour'], clock.now()))
    history.quarrel(conflict('about another object', ['data.size'], clock.now(), 'b'))
    expect(history.opponents(mine)).toEqual(['theirs'])
    expect(history.opponents(conflict('theirs', ['data.size'], clock.now()))).toEqual(['mine'])
    await clock.advance(600_000)
    expect(history.opponents(mine)).toEqual([])
  })

  it('are of one kind of object: a Secret of that name is another matter', () => {
    const history = createCausalityTracker(virtualClock())
    const first = history.originOf(changed(object('1')))
    history.writing(Secret, ref, first)
    expect(history.originOf(changed(object('2')))).toBeGreaterThan(first)
  })
})
