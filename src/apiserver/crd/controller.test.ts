import { describe, expect, it } from 'vitest'
import type { Condition } from '../../kube/meta/condition.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { withoutCleanupFinalizer, withTerminatingCondition, markedForDeletion, nextCrdStep } from './controller.ts'

const names = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' }

function definition(spec: object = {}, metadata: object = {}): UntypedObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com', ...metadata },
    spec: { group: 'example.com', names, ...spec },
    status: { acceptedNames: { plural: '', kind: '' }, conditions: null, storedVersions: ['v1'] },
  }
}

function conditionsIn(object: UntypedObject): readonly string[] {
  const { conditions } = object['status'] as { readonly conditions: readonly Condition[] }
  return conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)
}

/** All steps until nothing is left to do. */
function allSteps(object: UntypedObject): readonly (readonly string[])[] {
  const steps: (readonly string[])[] = []
  for (let next = nextCrdStep(object, [object], 0); next; next = nextCrdStep(next, [next], 0))
    steps.push(conditionsIn(next))
  return steps
}

describe('a CustomResourceDefinition', () => {
  it('is accepted, then established, and then unchanged', () => {
    expect(allSteps(definition())).toEqual([
      ['NamesAccepted=True NoConflicts', 'Established=False Installing'],
      ['NamesAccepted=True NoConflicts', 'Established=True InitialNamesAccepted'],
    ])
  })

  it('of a protected group reports its API approval', () => {
    const annotations = { 'api-approved.kubernetes.io': 'https://example.com/1' }
    const steps = allSteps(definition({ group: 'x.k8s.io' }, { annotations }))
    expect(steps.at(-1)).toContain('KubernetesAPIApprovalPolicyConformant=True ApprovedAnnotation')
  })

  it('with an invalid CA bundle of its webhook is not established', () => {
    const conversion = {
      strategy: 'Webhook',
      webhook: { clientConfig: { url: 'https://a', caBundle: 'bm9uc2Vuc2U=' } },
    }
    expect(allSteps(definition({ conversion })).at(-1)).toContain('Established=False InvalidCABundle')
  })

  it('reports the progress of its deletion', () => {
    const marked = markedForDeletion(definition(), 0)
    expect(marked.metadata).toMatchObject({ finalizers: ['customresourcecleanup.apiextensions.k8s.io'] })
    expect(conditionsIn(marked)).toEqual(['Terminating=True InstanceDeletionPending'])
    const terminating = withTerminatingCondition(marked, 0)
    expect(conditionsIn(terminating)).toEqual(['Terminating=True InstanceDeletionInProgress'])
    expect(withTerminatingCondition(terminating, 0)).toBe(terminating)
    const done = withoutCleanupFinalizer(terminating, 0)
    expect(conditionsIn(done)).toEqual(['Terminating=False NeverEstablished'])
    expect(done.metadata.finalizers).toBeUndefined()
  })
})
