import { describe, expect, it } from 'vitest'
import { embedded } from '../../../test/embedded.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { formatResource } from '../../kube/kind.ts'

describe('discovery', () => {
  it('has the same content aggregated and unaggregated', async () => {
    const { client, server, clock } = embedded()
    const old = createClient({
      clock,
      transport: inProcessTransport({
        handle: (request) => server.handle({ ...request, headers: { ...request.headers, accept: 'application/json' } }),
      }),
    })
    const [one, many] = [await client.discovery.resources(), await old.discovery.resources()]
    expect(one.length).toBeGreaterThan(60)
    const summary = (resources: typeof one): readonly string[] =>
      resources
        .map((resource) => `${formatResource(resource)} ${resource.kind} ${resource.subresources.join()}`)
        .toSorted()
    expect(summary(many)).toEqual(summary(one))
  })

  it('lists the preferred version first', async () => {
    const { raw } = embedded()
    const { json } = await raw('GET', '/apis/autoscaling')
    expect(json).toMatchObject({ kind: 'APIGroup', preferredVersion: { groupVersion: 'autoscaling/v2' } })
    expect((await raw('GET', '/api')).json).toMatchObject({ kind: 'APIVersions', versions: ['v1'] })
    expect((await raw('GET', '/apis/no.such.group')).status).toBe(404)
  })
})
