import { describe, expect, it } from 'vitest'
import { deleteVersion } from '../../cache/resource-version.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { KubeObject } from '../../kube/object.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import type { InputChange } from '../../operator/view/view.ts'
import type { ConflictFinding } from './finding.ts'
import { createCausalityTracker } from './causality-tracker.ts'

const object = (resourceVersion: string, name = 'a'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', resourceVersion, uid: `uid of ${name}` },
})
const changed = (after: KubeObject, resource = ConfigMap): InputChange => ({ resource, before: undefined, after })
const ref = { name: 'a', namespace: 'default' }
const author = { controller: {}, key: 'default/a' }

describe('the origin of a change', () => {
  it('is new when it came from outside, and the same for every caller', () => {
    const history = createCausalityTracker(virtualClock())
    const first = history.originOf(changed(object('1')))
    expect(history.originOf(changed(object('2')))).toBeGreaterThan(first)
    expect(history.originOf(changed(object('1')))).toBe(first)
  })

  it('is that of the reconcile when a hosted operator wrote it', () => {
    const history = createCausalityTracker(virtualClock())
    const first = history.originOf(changed(object('1')))
    const end = history.writing(ConfigMap, ref, { origin: first, author })
    // Other operators receive the event before the writer receives its response.
    expect(history.originOf(changed(object('2')))).toBe(first)
    expect(history.originOf(changed(object('3', 'b')))).toBeGreaterThan(first)
    end('2')
    expect(history.originOf(changed(object('2')))).toBe(first)
    expect(history.originOf(changed(object('4')))).toBeGreaterThan(first)
  })

  it('of two concurrent writes is the later one, until both have responses', () => {
    const history = createCausalityTracker(virtualClock())
    const [one, two] = [history.newOrigin(), history.newOrigin()]
    const ends = [two, one].map((origin) => history.writing(ConfigMap, ref, { origin, author }))
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

describe('the author of a change', () => {
  it('is known from the response on, by object and version', () => {
    const history = createCausalityTracker(virtualClock())
    const end = history.writing(ConfigMap, ref, { origin: 1, author })
    const change: InputChange = { ...changed(object('2')), version: '2' }
    expect(history.authorOf(change)).toBeUndefined()
    end('2')
    expect(history.authorOf(change)).toBe(author)
    expect(history.writerOf(ConfigMap, object('2'))).toBe(author)
    // Versions of other resources, and of other objects, may be equal.
    expect(history.authorOf({ ...change, resource: Secret })).toBeUndefined()
    expect(history.authorOf({ ...change, after: object('2', 'b') })).toBeUndefined()
    // A change whose version is unknown may contain changes of others.
    expect(history.authorOf({ ...change, version: '' })).toBeUndefined()
    expect(history.authorOf({ ...change, version: '1', isHidden: true })).toBeUndefined()
  })

  it('of a delete is known by the uid, which its writer knows', () => {
    const history = createCausalityTracker(virtualClock())
    history.writing(ConfigMap, ref, { origin: 1, author })(deleteVersion('uid of a'))
    const gone: InputChange = { resource: ConfigMap, before: object('8'), after: undefined, version: '9' }
    expect(history.authorOf(gone)).toBe(author)
    expect(history.authorOf({ ...gone, before: object('8', 'b') })).toBeUndefined()
    expect(history.originOf(gone)).toBe(1)
  })
})

describe('conflicts between operators', () => {
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

  it('name the operators with a recent finding on the same field of the same object', async () => {
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

  it('concern one kind: a Secret of that name is unrelated', () => {
    const history = createCausalityTracker(virtualClock())
    const first = history.originOf(changed(object('1')))
    history.writing(Secret, ref, { origin: first, author })
    expect(history.originOf(changed(object('2')))).toBeGreaterThan(first)
  })
})
