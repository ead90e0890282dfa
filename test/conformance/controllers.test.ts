/** What the controllers of a cluster write, and what the server makes of it. */
import { describe, expect, it } from 'vitest'
import { at, openServer } from './server.ts'

const server = openServer()

interface Counted {
  readonly metadata: { readonly generation: number; readonly annotations?: Readonly<Record<string, string>> }
  readonly status: { readonly replicas?: number }
}

describe('a controller', () => {
  it.each(['deployments', 'statefulsets'])(
    'may annotate objects in a status update (%s), without a new generation',
    async (plural) => {
      const collection = `/apis/apps/v1/namespaces/${await server.namespace()}/${plural}`
      const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i:1' }] } }
      const spec = {
        selector: { matchLabels: { a: 'b' } },
        serviceName: plural === 'statefulsets' ? 's' : undefined,
        template,
      }
      await server.must('POST', collection, { body: { metadata: { name: 'x' }, spec } })
      const annotate = (path: string, revision: string): Promise<unknown> =>
        server.must('PATCH', `${collection}/x${path}`, {
          body: {
            metadata: { annotations: { 'deployment.kubernetes.io/revision': revision } },
            status: { replicas: 1 },
          },
          type: 'application/merge-patch+json',
        })
      const read = async (): Promise<Counted> =>
        (await server.call('GET', `${collection}/x`)).body as unknown as Counted
      await annotate('/status', '1')
      const reported = await read()
      expect(reported.metadata).toMatchObject({
        generation: 1,
        annotations: { 'deployment.kubernetes.io/revision': '1' },
      })
      expect(reported.status.replicas).toBe(1)
      await annotate('', '2')
      // Through the main door, annotations of a Deployment count as a wish.
      expect((await read()).metadata.generation).toBe(plural === 'deployments' ? 2 : 1)
    },
  )
})

interface ServiceRange {
  readonly spec: { readonly cidrs: readonly string[] }
  readonly status: { readonly conditions: readonly Readonly<Record<string, string>>[] }
}

describe('the API server', () => {
  it('writes the ServiceCIDR', async () => {
    // The Endpoints that it writes as well cannot be compared: a real server on loopback is refused its own.
    const path = '/apis/networking.k8s.io/v1/servicecidrs/kubernetes'
    const { body } = await server.until(path, (answer) => at(answer.body, 'status', 'conditions') !== undefined)
    const { spec, status } = body as unknown as ServiceRange
    expect(spec.cidrs[0]).toMatch(/^10\.0\.0\.0\/\d+$/)
    expect(status.conditions.map(({ lastTransitionTime: _time, ...condition }) => condition)).toEqual([
      { type: 'Ready', status: 'True', reason: '', message: 'Kubernetes default Service CIDR is ready' },
    ])
  })
})
