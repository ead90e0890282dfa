import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from '../builtin.ts'
import type { Json } from '../json.ts'
import { type ApplyShape, shapeOf } from './shape.ts'

/** An object of which no field is set. */
function zero(shape: ApplyShape | undefined): Json {
  const fields = [...(shape?.map?.zeros ?? [])].map(([name, value]): [string, Json] => {
    const isStruct = typeof value === 'object' && value !== null
    return [name, isStruct ? zero(shape?.map?.field(name)) : value]
  })
  return Object.fromEntries(fields)
}

const builtin = (group: string, version: string, kind: string): ApplyShape =>
  shapeOf(builtinSchema({ group, version, kind }), builtinDefinitions())

describe('fields that are always present', () => {
  it.each([
    ['', 'v1', 'ConfigMap', { metadata: {} }],
    ['', 'v1', 'Pod', { metadata: {}, spec: { containers: null }, status: {} }],
    ['', 'v1', 'Service', { metadata: {}, spec: {}, status: { loadBalancer: {} } }],
    [
      'apps',
      'v1',
      'Deployment',
      {
        metadata: {},
        spec: { selector: null, strategy: {}, template: { metadata: {}, spec: { containers: null } } },
        status: {},
      },
    ],
    ['rbac.authorization.k8s.io', 'v1', 'Role', { metadata: {}, rules: null }],
    ['rbac.authorization.k8s.io', 'v1', 'RoleBinding', { metadata: {}, roleRef: { apiGroup: '', kind: '', name: '' } }],
    [
      '',
      'v1',
      'Event',
      {
        metadata: {},
        involvedObject: {},
        source: {},
        eventTime: null,
        firstTimestamp: null,
        lastTimestamp: null,
        reportingComponent: '',
        reportingInstance: '',
      },
    ],
    ['admissionregistration.k8s.io', 'v1', 'ValidatingAdmissionPolicyBinding', { metadata: {}, spec: {} }],
    [
      'certificates.k8s.io',
      'v1',
      'CertificateSigningRequest',
      { metadata: {}, spec: { request: null, signerName: '' }, status: {} },
    ],
  ])('in %s/%s %s', (group, version, kind, expected) => {
    expect(zero(builtin(group, version, kind))).toEqual(expected)
  })

  it('in a custom object are none, whatever its schema defaults and requires', () => {
    const spec = { type: 'object', default: {}, properties: { a: { type: 'string', default: 'x' } } } as const
    expect(zero(shapeOf({ type: 'object', required: ['spec'], properties: { spec } }))).toEqual({})
  })
})
