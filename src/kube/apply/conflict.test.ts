import { describe, expect, it } from 'vitest'
import { kubeErrors } from '../errors.ts'
import { isMusterError } from '../muster-error.ts'
import { ApplyConflict, conflictsOver } from './conflict.ts'
import { fieldSet } from './field-set.ts'
import type { Ownership } from './managed-fields.ts'
import { keyElement } from './path-element.ts'

const owner = (more: Partial<Ownership> = {}): Ownership => ({
  manager: 'kubectl',
  operation: 'Update',
  apiVersion: 'apps/v1',
  subresource: '',
  time: undefined,
  fields: [],
  ...more,
})

const image = ['spec', 'containers', keyElement([{ name: 'name', value: 'a' }]), 'image']

describe('a rejected apply', () => {
  it('names the managers and fields, as the server does', () => {
    const error = new ApplyConflict(conflictsOver(fieldSet(['spec', 'replicas']), owner()))
    expect(isMusterError(error, kubeErrors.ApplyConflict)).toBe(true)
    expect(error.retry).toBe('conflict')
    expect(error.message).toBe('Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas')
    expect(error.conflicts).toMatchObject([
      { field: '.spec.replicas', message: 'conflict with "kubectl" using apps/v1', owner: { manager: 'kubectl' } },
    ])
  })

  it('lists several conflicts by manager', () => {
    const error = new ApplyConflict([
      ...conflictsOver(fieldSet(image, ['spec', 'replicas']), owner({ manager: 'z"é', operation: 'Apply' })),
      ...conflictsOver(fieldSet(['status']), owner({ manager: 'a', subresource: 'status' })),
    ])
    expect(error.message).toBe(
      [
        'Apply failed with 3 conflicts: conflicts with "a" with subresource "status" using apps/v1:',
        '- .status',
        'conflicts with "z\\"é":',
        '- .spec.replicas',
        '- .spec.containers[name="a"].image',
      ].join('\n'),
    )
  })
})
