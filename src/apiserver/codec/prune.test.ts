import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from '../../kube/builtin.ts'
import { pruneUnknownFields } from './prune.ts'

describe('pruning', () => {
  it("keeps the fields of a built-in kind's schema, and reports the others", () => {
    const schema = builtinSchema({ group: 'apps', version: 'v1', kind: 'Deployment' })
    const spec = { replicas: 1, replicsa: 2, template: { spec: { containers: [{ name: 'a', imag: 'x' }] } } }
    const { object, unknown } = pruneUnknownFields(
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'a', labels: { l: '1' }, creationTimestamp: null },
        spec,
      },
      { schema, definitions: builtinDefinitions(), custom: false },
    )
    expect(unknown).toEqual(['spec.replicsa', 'spec.template.spec.containers[0].imag'])
    expect(object).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'a', labels: { l: '1' } },
      spec: { replicas: 1, template: { spec: { containers: [{ name: 'a' }] } } },
    })
  })
})
