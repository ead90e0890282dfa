import { describe, expect, it } from 'vitest'
import type { UntypedObject } from '../../kube/object.ts'
import { withIngressClass } from './default-ingress-class.ts'

const ingress = (spec: object = {}, annotations: Readonly<Record<string, string>> = {}): UntypedObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata: { name: 'a', annotations },
  spec,
})

const ingressClass = (name: string, creationTimestamp: string, isDefault = 'true'): UntypedObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name, creationTimestamp, annotations: { 'ingressclass.kubernetes.io/is-default-class': isDefault } },
})

const [old, young] = ['2020-01-01T00:00:00Z', '2021-01-01T00:00:00Z'] as const

describe('the class of an ingress', () => {
  it('is the newest default, and of equally old ones the first by name', () => {
    const classes = [
      ingressClass('z', old),
      ingressClass('b', young),
      ingressClass('a', young),
      ingressClass('c', young, 'no'),
    ]
    expect(withIngressClass(ingress(), classes)).toMatchObject({ spec: { ingressClassName: 'a' } })
  })

  it('is kept if the ingress sets it by field or annotation', () => {
    const classes = [ingressClass('a', old)]
    for (const own of [ingress({ ingressClassName: 'own' }), ingress({}, { 'kubernetes.io/ingress.class': 'own' })]) {
      expect(withIngressClass(own, classes)).toBe(own)
    }
  })

  it('is not set without a default', () => {
    const own = ingress()
    expect(withIngressClass(own, [ingressClass('a', old, 'false')])).toBe(own)
  })
})
