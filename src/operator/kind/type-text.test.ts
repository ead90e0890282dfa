import { describe, expect, it } from 'vitest'
import { boolean, defineKind, integer, intOrString, list, map, object, oneOf, optional, string } from '../index.ts'
import { typesOfCrd } from './type-text.ts'

const Thing = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Thing',
  description: 'Ends a comment: */ and goes on.\n\nSecond paragraph.',
  spec: {
    size: integer({ default: 1, description: 'How many.' }),
    mode: optional(oneOf(['a', 'b'])),
    'odd-name': optional(boolean()),
    ports: list(object({ name: string(), port: intOrString() })),
    labels: optional(map(list(string()))),
  },
  status: { phase: optional(string()) },
})

describe('types of a CRD', () => {
  it('match its schema', () => {
    expect(typesOfCrd(Thing.crd())).toMatchInlineSnapshot(`
      "/** Made by \`muster generate types\` from a CustomResourceDefinition. Do not edit: make it again. */
      // things.example.com
      import type { KubeObject } from '@muster-dev/muster/kube'
      import type { TypedResource } from '@muster-dev/muster/operator'

      /**
       * Ends a comment: *\\/ and goes on.
       *
       * Second paragraph.
       */
      export interface Thing extends KubeObject {
        readonly apiVersion: 'example.com/v1'
        readonly kind: 'Thing'
        readonly spec: {
          /** How many. */
          readonly size: number
          readonly mode?: 'a' | 'b'
          readonly 'odd-name'?: boolean
          readonly ports: readonly {
            readonly name: string
            readonly port: number | string
          }[]
          readonly labels?: Readonly<Record<string, readonly string[]>>
        }
        readonly status?: {
          /** What is known about the object, one observation a type. */
          readonly conditions?: readonly {
            readonly type: string
            readonly status: 'True' | 'False' | 'Unknown'
            readonly reason: string
            readonly message: string
            readonly lastTransitionTime: string
            readonly observedGeneration?: number
          }[]
          /** The generation of the object that the operator saw last. */
          readonly observedGeneration?: number
          readonly phase?: string
        }
      }

      export const thingResource: TypedResource<Thing> = {
        group: 'example.com',
        version: 'v1',
        kind: 'Thing',
        plural: 'things',
        namespaced: true,
      }
      "
    `)
  })

  it('contain no code from a foreign file', () => {
    const crd = Thing.crd()
    const evil = { ...crd, spec: { ...crd.spec, names: { ...crd.spec.names, kind: "X' }; evil(); //" } } }
    expect(() => typesOfCrd(evil)).toThrow('makes no types')
    const odd = { ...crd, spec: { ...crd.spec, group: "it's \\ odd" } }
    expect(typesOfCrd(odd)).toContain(JSON.stringify("it's \\ odd/v1"))
  })

  it('are named by version where there are several', () => {
    const crd = Thing.crd()
    const [first] = crd.spec.versions
    const versions = [first!, { ...first!, name: 'v2beta1', storage: false }]
    const text = typesOfCrd({ ...crd, spec: { ...crd.spec, versions } })
    expect(text).toContain('export interface ThingV1 extends KubeObject')
    expect(text).toContain('export interface ThingV2beta1 extends KubeObject')
    expect(text).toContain('export const thingV2beta1Resource: TypedResource<ThingV2beta1>')
  })
})
