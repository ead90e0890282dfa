import { describe, expect, it } from 'vitest'
import type { Condition } from '../../kube/condition.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { emptied, emptying, markedForDeletion, nextCrdStep } from './controller.ts'

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

function told(object: UntypedObject): readonly string[] {
  const { conditions } = object['status'] as { readonly conditions: readonly Condition[] }
  return conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)
}

/** All steps until nothing is left to do. */
function settle(object: UntypedObject): readonly (readonly string[])[] {
  const steps: (readonly string[])[] = []
  for (let next = nextCrdStep(object, [object], 0); next; next = nextCrdStep(next, [next], 0)) steps.push(told(next))
  return steps
}

describe('a definition', () => {
  it('is accepted, then established, and then left alone', () => {
    expect(settle(definition())).toEqual([
      ['NamesAccepted=True NoConflicts', 'Established=False Installing'],
      ['NamesAccepted=True NoConflicts', 'Established=True InitialNamesAccepted'],
    ])
  })

  it('of a protected group says how it was approved', () => {
    const annotations = { 'api-approved.kubernetes.io': 'https://example.com/1' }
    const steps = settle(definition({ group: 'x.k8s.io' }, { annotations }))
    expect(steps.at(-1)).toContain('KubernetesAPIApprovalPolicyConformant=True ApprovedAnnotation')
  })

  it('with a webhook whose certificates cannot be read is not established', () => {
    const conversion = {
      strategy: 'Webhook',
      webhook: { clientConfig: { url: 'https://a', caBundle: 'bm9uc2Vuc2U=' } },
    }
    expect(settle(definition({ conversion })).at(-1)).toContain('Established=False InvalidCABundle')
  })

  it('says how far its end has come', () => {
    const marked = markedForDeletion(definition(), 0)
    expect(marked.metadata).toMatchObject({ finalizers: ['customresourcecleanup.apiextensions.k8s.io'] })
    expect(told(marked)).toEqual(['Terminating=True InstanceDeletionPending'])
    const begun = emptying(marked, 0)
    expect(told(begun)).toEqual(['Terminating=True InstanceDeletionInProgress'])
    expect(emptying(begun, 0)).toBe(begun)
    const done = emptied(begun, 0)
    expect(told(done)).toEqual(['Terminating=False NeverEstablished'])
    expect(done.metadata.finalizers).toBeUndefined()
  })
})
