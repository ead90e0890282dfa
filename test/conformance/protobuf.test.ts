/** Go clients of built-in kinds send protobuf; what they get is as if they had sent JSON. */
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/kube/json.ts'
import { encodeProtobuf } from '../../src/kube/protobuf/encode.ts'
import { at, openServer } from './server.ts'

const server = openServer()
const type = 'application/vnd.kubernetes.protobuf'
const bytes = (object: JsonObject): Uint8Array => encodeProtobuf(object)!
const configMap = (name: string, rest: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...rest,
})

describe('a protobuf body', () => {
  it('creates the same object as JSON', async () => {
    const namespace = await server.namespace()
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`
    const deployment = (name: string): JsonObject => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, labels: { app: 'web' } },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            containers: [
              {
                name: 'main',
                image: 'image',
                ports: [{ containerPort: 80 }],
                resources: { requests: { cpu: '100m' } },
                readinessProbe: { httpGet: { path: '/', port: 'http' } },
              },
            ],
          },
        },
      },
    })
    const created = await server.call('POST', path, { body: bytes(deployment('binary')), type })
    expect(server.masked(created)).toMatchSnapshot()
    const told = await server.must('POST', path, { body: deployment('text') })
    const { name: _binary, ...metadata } = at(server.maskedJson(created.body), 'metadata') as JsonObject
    expect(server.maskedJson(told)).toMatchObject({ metadata, spec: at(created.body, 'spec') })
  })

  it('updates, and may contain delete options', async () => {
    const namespace = await server.namespace()
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    const created = await server.must('POST', path, { body: bytes(configMap('a', { data: { x: '1' } })), type })
    const updated = await server.call('PUT', `${path}/a`, { body: bytes({ ...created, data: { x: '2' } }), type })
    expect(server.masked(updated)).toMatchSnapshot('updated')
    const options = (uid: string): JsonObject => ({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } })
    const other = await server.call('DELETE', `${path}/a`, { body: bytes(options('other')), type })
    expect(server.masked(other)).toMatchSnapshot('another uid')
    const own = at(created, 'metadata', 'uid') as string
    expect((await server.call('DELETE', `${path}/a`, { body: bytes(options(own)), type })).status).toBe(200)
    expect((await server.call('GET', `${path}/a`)).status).toBe(404)
  })

  it('may be a review or a token request', async () => {
    const namespace = await server.namespace()
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { namespace, verb: 'get', resource: 'pods' } },
    }
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
    expect(server.masked(await server.call('POST', path, { body: bytes(review), type }))).toMatchSnapshot()
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`
    await server.must('POST', accounts, {
      body: bytes({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sa' } }),
      type,
    })
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
    const token = await server.call('POST', `${accounts}/sa/token`, { body: bytes(request), type })
    expect([token.status, typeof at(token.body, 'status', 'token')]).toEqual([201, 'string'])
  })

  it('that cannot be decoded is a bad request', async () => {
    const namespace = await server.namespace()
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    const whole = bytes(configMap('a', { data: { x: '1' } }))
    for (const body of [Buffer.from('{}'), whole.subarray(0, 4), whole.subarray(0, 20), whole.subarray(0, -10)]) {
      const { status, body: refusal } = await server.call('POST', path, { body, type })
      expect([status, at(refusal, 'reason')]).toEqual([400, 'BadRequest'])
    }
  })

  it('of another kind than the URL is rejected', async () => {
    const namespace = await server.namespace()
    const path = `/api/v1/namespaces/${namespace}/secrets`
    expect((await server.call('POST', path, { body: bytes(configMap('a')), type })).status).toBe(400)
  })
})
