/** What the own objects of a component that is left alone say. */
import { describe, expect, it } from 'vitest'
import type { Json } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { externalProblems } from './external-health.ts'

const pump = (name: string, status: Json): UntypedObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Pump',
  metadata: { name, namespace: 'shop' },
  status,
})
const condition = (type: string, status: string, message = ''): Json => ({ type, status, reason: 'Probe', message })
const problemsOf = (...objects: readonly UntypedObject[]) => externalProblems(objects, [], 0)

describe('objects of a component that is left alone', () => {
  it('that are ready, or say nothing, are no problem', () => {
    const conditions = [
      condition('Ready', 'True'),
      condition('Degraded', 'False', 'it was'),
      condition('Other', 'False'),
    ]
    expect(problemsOf(pump('a', { conditions }), pump('b', {}), pump('c', null))).toEqual([])
  })

  it('pass on the worst first: failed, then degraded, then on its way', () => {
    const problems = problemsOf(
      pump('slow', { conditions: [condition('Ready', 'False', 'starting')] }),
      pump('poor', { conditions: [condition('Ready', 'True'), condition('Degraded', 'True')] }),
      pump('stuck', { conditions: [condition('Stalled', 'True', 'no such volume')] }),
    )
    expect(problems).toEqual([
      { state: 'Error', reason: 'Probe', message: 'Pump shop/stuck: no such volume' },
      { state: 'Warning', reason: 'Degraded', message: 'Pump shop/poor: Degraded: Probe' },
      { state: 'Processing', reason: 'Probe', message: 'Pump shop/slow: starting' },
    ])
  })

  it('are judged by rules where there are some, and a rule that fails is said', () => {
    const rule = { apiVersion: 'example.com/v1', kind: 'Pump' }
    const broken = pump('a', { phase: 'Broken' })
    const failed = "status.phase == 'Broken'"
    expect(externalProblems([broken], [{ ...rule, failed }], 0)).toMatchObject([{ state: 'Error' }])
    expect(externalProblems([broken], [{ ...rule, failed: 'status.' }], 0)).toMatchObject([{ state: 'Warning' }])
  })

  it('may have conditions of any shape', () => {
    for (const conditions of ['text', 5, {}, null, [null], [5], [{}]] as Json[])
      expect(problemsOf(pump('odd', { conditions }))).toEqual([])
  })
})
