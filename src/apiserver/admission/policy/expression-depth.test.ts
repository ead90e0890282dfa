import { expect, it } from 'vitest'
import { embedded } from '../../../../test/embedded.ts'

it.each([
  [500, 201],
  [501, 422],
])(
  'answers a write under a policy with %d variables, each defined by the one before, with %d',
  async (count, status) => {
    const { raw } = embedded()
    const variables = Array.from({ length: count }, (_, index) => ({
      name: `v${index}`,
      expression: index === 0 ? '1' : `variables.v${index - 1} + 1`,
    }))
    const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] }]
    const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
    const validations = [{ expression: `variables.v${count - 1} > 0` }]
    const spec = { matchConstraints: { resourceRules }, variables, validations }
    const headers = { 'content-type': 'application/json' }
    await raw('POST', policies, { headers, body: { metadata: { name: 'deep' }, spec } })
    const binding = { metadata: { name: 'deep' }, spec: { policyName: 'deep', validationActions: ['Deny'] } }
    await raw('POST', policies.replace('policies', 'policybindings'), { headers, body: binding })
    const write = await raw('POST', '/api/v1/namespaces/default/configmaps', {
      headers,
      body: { metadata: { name: 'a' } },
    })
    expect(write.status).toBe(status)
    expect(write.text.includes('its variables are nested too deep')).toBe(status === 422)
  },
)
