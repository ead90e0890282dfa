import { describe, expect, it } from 'vitest'
import type { Method } from '../../transport/transport.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { type Json, parseJson, stringifyJson } from '../../kube/json.ts'
import { createApiServer } from '../server/api-server.ts'

type Call = (method: Method, path: string, body?: object) => Promise<{ readonly status: number; readonly body: Json }>

function open(): Call {
  const server = createApiServer({ clock: systemClock })
  return async (method, path, body) => {
    const headers = { accept: 'application/json', 'content-type': 'application/json' }
    const answer = await server.handle({ method, path, headers, body: body && stringifyJson(body) })
    const chunks: Uint8Array[] = []
    for await (const chunk of answer.body) chunks.push(chunk)
    return { status: answer.status, body: parseJson(Buffer.concat(chunks).toString()) }
  }
}

const registration = '/apis/admissionregistration.k8s.io/v1'
const configMaps = '/api/v1/namespaces/default/configmaps'
const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }

/** A real server keeps the parameters of policies in a cache that is known to stay empty: so this is no conformance case. */
describe('parameters of a policy', () => {
  it('are all objects that the selector matches, and the policy must hold for each', async () => {
    const call = open()
    for (const most of ['1', '3']) {
      const metadata = { name: `most-${most}`, labels: { limits: 'yes' } }
      await call('POST', configMaps, { metadata, data: { most } })
    }
    await call('POST', `${registration}/validatingadmissionpolicies`, {
      metadata: { name: 'small' },
      spec: {
        matchConstraints: { resourceRules: [rule] },
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        validations: [
          {
            expression: 'size(object.data) <= int(params.data.most)',
            messageExpression: "'at most ' + params.data.most + ' of ' + params.kind",
          },
        ],
      },
    })
    await call('POST', `${registration}/validatingadmissionpolicybindings`, {
      metadata: { name: 'here' },
      spec: {
        policyName: 'small',
        validationActions: ['Deny'],
        paramRef: { selector: { matchLabels: { limits: 'yes' } }, parameterNotFoundAction: 'Deny' },
      },
    })
    const create = async (data: object): Promise<unknown> =>
      await call('POST', configMaps, { metadata: { name: 'a' }, data })
    expect(await create({ a: '', b: '' })).toMatchObject({
      status: 422,
      body: {
        message:
          "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'small' with binding 'here' denied request: at most 1 of ConfigMap",
      },
    })
    expect(await create({ a: '' })).toMatchObject({ status: 201 })
  })
})
