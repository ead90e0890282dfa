/** What plugins add to objects from the classes that they name, and who may approve and sign certificates. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { serverPair } from '../loopback.ts'
import { putCluster, until } from './admission.ts'
import { outcomeOf, tryCreate } from './outcome.ts'
import { at, openServer } from './server.ts'

const server = openServer()
const pods = '/api/v1/namespaces/default/pods'

const pod = (spec: object): JsonObject => ({ spec: { containers: [{ name: 'c', image: 'i' }], ...spec } })

describe('a runtime class', () => {
  const scheduled = async (spec: object): Promise<Json> => {
    const outcome = (await tryCreate(server, pods, pod(spec))) as JsonObject
    if (!outcome['spec']) return outcome
    const { overhead, nodeSelector, tolerations } = outcome['spec'] as JsonObject
    return { overhead: overhead ?? null, nodeSelector: nodeSelector ?? null, tolerations: tolerations ?? null }
  }

  it('sets the overhead and scheduling of a pod', async () => {
    const name = server.unique('runtime')
    await putCluster(server, '/apis/node.k8s.io/v1/runtimeclasses', {
      metadata: { name },
      handler: 'x',
      overhead: { podFixed: { cpu: '100m', memory: '10Mi' } },
      scheduling: { nodeSelector: { kind: 'fast' }, tolerations: [{ key: 'fast', operator: 'Exists' }] },
    })
    expect(await scheduled({ runtimeClassName: name })).toMatchSnapshot('first')
    expect(await scheduled({ runtimeClassName: name, nodeSelector: { zone: 'a' } })).toMatchSnapshot('second')
    expect(await scheduled({ runtimeClassName: name, nodeSelector: { kind: 'slow' } })).toMatchSnapshot('third')
    expect(await scheduled({ runtimeClassName: name, overhead: { cpu: '1' } })).toMatchSnapshot('fourth')
  })

  it('must exist', async () => {
    expect(await scheduled({ runtimeClassName: 'nothing' })).toMatchSnapshot('first')
    expect(await scheduled({ overhead: { cpu: '1' } })).toMatchSnapshot('second')
  })
})

describe('certificates', () => {
  const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const requests = {
    developers:
      'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIZk1JR0dBZ0VBTUNReEV6QVJCZ05WQkFvTUNtUmxkbVZzYjNCbGNuTXhEVEFMQmdOVkJBTU1CR3BoYm1VdwpXVEFUQmdjcWhrak9QUUlCQmdncWhrak9QUU1CQndOQ0FBU1NZc1ZBSllkZjRQbHFqWVFORTgrRExXK0xqSnN3Cmd5UW9ONS9IL1dlUmxjdG03UEJsUnAvcGpkaUxXd3RjWWJGekFSaENsWlUxaDdhVzNJcjlQUDVSb0FBd0NnWUkKS29aSXpqMEVBd0lEU0FBd1JRSWhBSkdTSXh3VlNFeThxb1dCR3ExVEp5UDJxNlUxV2NXOWRWMFdwUHM4eHJJTgpBaUJadlJWWnNtZnRjV011b1NEWHI3YkxsVVExKzM1SHJwZ0RFSHJuWCtBNFlnPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==',
    masters:
      'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIak1JR0tBZ0VBTUNneEZ6QVZCZ05WQkFvTURuTjVjM1JsYlRwdFlYTjBaWEp6TVEwd0N3WURWUVFEREFScQpZVzVsTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFa21MRlFDV0hYK0Q1YW8yRURSUFBneTF2Cmk0eWJNSU1rS0RlZngvMW5rWlhMWnV6d1pVYWY2WTNZaTFzTFhHR3hjd0VZUXBXVk5ZZTJsdHlLL1R6K1VhQUEKTUFvR0NDcUdTTTQ5QkFNQ0EwZ0FNRVVDSUV5UTZ1bkZqVTVUcm1nNDZ4ekNabWlodG9HSVdGMmthMFlBTm1teQpDeDJjQWlFQTBCUW9hNitqOVZjeEV2Wm9iTmpvaXN6eWhTRFVvdFVrR3pxVnNKNE5lMWM9Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=',
  }
  const request = (name: string, signerName: string, of: keyof typeof requests = 'developers'): JsonObject => ({
    metadata: { name },
    spec: { request: requests[of], signerName, usages: ['client auth'] },
  })

  it('are approved and signed by users of the signer', async () => {
    const user = server.unique('user')
    const signer = `${server.unique('signer')}.example.com/x`
    const grant = async (rules: readonly object[]): Promise<void> => {
      const name = server.unique('role')
      await putCluster(server, `${rbac}/clusterroles`, { metadata: { name }, rules })
      await putCluster(server, `${rbac}/clusterrolebindings`, {
        metadata: { name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
      })
    }
    const group = { apiGroups: ['certificates.k8s.io'] }
    const doors = ['certificatesigningrequests/approval', 'certificatesigningrequests/status']
    await grant([{ ...group, resources: doors, verbs: ['update'] }])
    const name = server.unique('request')
    const made = await putCluster(server, path, request(name, signer))
    const headers = { 'impersonate-user': user }
    const condition = { type: 'Approved', status: 'True', reason: 'x', message: 'y' }
    const approved = { ...made, status: { conditions: [condition] } }
    const signed = { ...made, status: { certificate: Buffer.from(serverPair.cert).toString('base64') } }
    const approve = async (): Promise<Json> =>
      outcomeOf(server, await server.call('PUT', `${path}/${name}/approval`, { headers, body: approved }))
    const sign = async (): Promise<Json> =>
      outcomeOf(server, await server.call('PUT', `${path}/${name}/status`, { headers, body: signed }))
    await until(async () => {
      const { message = '' } = (await approve()) as { readonly message?: string }
      return !message.includes('cannot update')
    }, 'the role is known')
    expect([await approve(), await sign()]).toMatchSnapshot()
    const domain = `${signer.split('/', 1)[0]}/*`
    await grant([{ ...group, resources: ['signers'], resourceNames: [domain], verbs: ['approve'] }])
    await until(async () => at(await approve(), 'code') === undefined, 'the approver is known')
    expect(at(await server.must('GET', `${path}/${name}`), 'status', 'conditions', 0, 'type')).toBe('Approved')
  })

  it('cannot add a user to system:masters', async () => {
    const signer = 'kubernetes.io/kube-apiserver-client'
    expect(await tryCreate(server, path, request('a', signer, 'masters'))).toMatchSnapshot()
    const other = await server.call('POST', `${path}?dryRun=All`, { body: request('a', 'example.com/x', 'masters') })
    const developer = await server.call('POST', `${path}?dryRun=All`, { body: request('a', signer) })
    expect([other.status, developer.status]).toEqual([201, 201])
  })
})
