import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../kube/object.ts'
import type { CustomResourceDefinition } from '../../kube/types/apiextensions/v1.ts'
import { breakingObjects } from './breaking-objects.ts'

const crd: CustomResourceDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['size', 'mode'],
                properties: {
                  size: { type: 'integer', maximum: 5, default: 1 },
                  mode: { type: 'string', enum: ['on', 'off'] },
                  ports: {
                    type: 'array',
                    items: { type: 'object', properties: { port: { type: 'integer' } } },
                  },
                },
                'x-kubernetes-validations': [
                  { rule: "self.mode == 'on' || self.size == 1", message: 'off has size 1' },
                ],
              },
            },
          },
        },
      },
    ],
  },
}

function widget(name: string, spec: object): UntypedObject {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name, namespace: 'default', uid: 'u' }, spec }
}

describe('objects under a new CRD', () => {
  it('are named with the fields that they lose, or that are refused', () => {
    const objects = [
      widget('fine', { mode: 'on' }),
      widget('large', { mode: 'on', size: 9 }),
      widget('old', { mode: 'on', ports: [{ port: 1 }, { port: 2, name: 'http' }], colour: 'red' }),
      widget('ruled', { mode: 'off', size: 2 }),
    ]
    expect(breakingObjects(crd, 'v1', objects)).toEqual([
      {
        name: 'large',
        namespace: 'default',
        refused: [
          { field: 'spec.size', message: 'Invalid value: 9: spec.size in body should be less than or equal to 5' },
        ],
        lost: [],
      },
      { name: 'old', namespace: 'default', refused: [], lost: ['spec.colour', 'spec.ports[1].name'] },
      {
        name: 'ruled',
        namespace: 'default',
        refused: [{ field: 'spec', message: 'Invalid value: off has size 1' }],
        lost: [],
      },
    ])
  })

  it('need a version that the CRD has', () => {
    expect(() => breakingObjects(crd, 'v2', [])).toThrow(/has no version "v2".*v1/)
  })
})
