/** Which fields selectors may name, kind by kind, and what they select. */
import { describe, expect, it } from 'vitest'
import { builtinResources } from '../../src/kube/builtin.ts'
import type { JsonObject } from '../../src/kube/json.ts'
import { at, openServer } from './server.ts'

const server = openServer()

/** Every field that some kind knows. */
const fields = [
  'metadata.name',
  'metadata.namespace',
  'name',
  'reason',
  'source',
  'type',
  'involvedObject.name',
  'regarding.name',
  'reportingComponent',
  'reportingController',
  'spec.clusterIP',
  'spec.driver',
  'spec.nodeName',
  'spec.podName',
  'spec.pool.name',
  'spec.signerName',
  'spec.type',
  'spec.unschedulable',
  'status.phase',
  'status.replicas',
  'status.successful',
]

async function listed(groupVersion: string): Promise<readonly string[]> {
  const { resources } = (await server.must('GET', groupVersion)) as unknown as {
    readonly resources: readonly { readonly name: string; readonly verbs: readonly string[] }[]
  }
  return resources.filter(({ verbs }) => verbs.includes('list')).map(({ name }) => `${groupVersion}/${name}`)
}

describe('a field selector', () => {
  it('supports the fields of its kind', async () => {
    const { groups } = (await server.must('GET', '/apis')) as unknown as {
      readonly groups: readonly {
        readonly name: string
        readonly versions: readonly { readonly groupVersion: string }[]
      }[]
    }
    // Other cases may define kinds in groups of their own meanwhile.
    const known = new Set(builtinResources().map(({ group }) => group))
    const versions = groups.flatMap((group) => (known.has(group.name) ? group.versions : []))
    const builtIn = versions.map(({ groupVersion }) => `/apis/${groupVersion}`).toSorted()
    const paths = (await Promise.all(['/api/v1', ...builtIn].map(listed))).flat()
    const shown: Record<string, string> = {}
    for (const path of paths) {
      const answers = await Promise.all(
        fields.map((field) => server.call('GET', path, { query: { fieldSelector: `${field}=x`, limit: '1' } })),
      )
      const named = fields.filter((_, index) => answers[index]!.status === 200)
      const refusal = answers.find(({ status }) => status !== 200)
      shown[path] = `${named.join(' ')} | ${(at(refusal?.body ?? {}, 'message') as string | undefined) ?? ''}`
    }
    expect(shown).toMatchSnapshot()
  })

  it.each(['/api/v1', '/apis/events.k8s.io/v1'])('selects events by the fields of %s', async (groupVersion) => {
    const namespace = await server.namespace()
    const about = { apiVersion: 'v1', namespace, uid: 'u1', resourceVersion: '5' }
    const older = {
      metadata: { name: 'older' },
      involvedObject: { ...about, kind: 'Pod', name: 'p' },
      reason: 'Started',
      type: 'Normal',
      source: { component: 'kubelet' },
    }
    const newer = {
      metadata: { name: 'newer' },
      regarding: { ...about, kind: 'Node', name: 'n' },
      reason: 'Failed',
      type: 'Warning',
      action: 'Do',
      reportingController: 'example.com/controller',
      reportingInstance: 'one',
      eventTime: '2026-01-01T00:00:00.000000Z',
    }
    await server.must('POST', `/api/v1/namespaces/${namespace}/events`, { body: older })
    await server.must('POST', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, { body: newer })
    const path = `${groupVersion}/namespaces/${namespace}/events`
    const values = ['Pod', 'Node', 'p', 'n', 'u1', '5', 'Started', 'Warning', 'kubelet', 'example.com/controller', '']
    const object = groupVersion === '/api/v1' ? 'involvedObject' : 'regarding'
    const named = ['kind', 'name', 'uid', 'resourceVersion', 'fieldPath'].map((member) => `${object}.${member}`)
    const own = groupVersion === '/api/v1' ? ['source', 'reportingComponent'] : ['reportingController']
    const found: Record<string, string> = {}
    for (const field of [...named, ...own, 'reason', 'type']) {
      for (const value of values) {
        const { items } = (await server.must('GET', path, {
          query: { fieldSelector: `${field}=${value}` },
        })) as unknown as { readonly items: readonly JsonObject[] }
        if (items.length > 0)
          found[`${field}=${value}`] = items.map((item) => at(item, 'metadata', 'name') as string).join(' ')
      }
    }
    expect(found).toMatchSnapshot()
  })

  it('selects watch events of events in the newer group', async () => {
    const namespace = await server.namespace()
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`
    const watching = await server.watch(`${path}?watch=1&fieldSelector=regarding.name=b`)
    for (const name of ['a', 'b']) {
      const involvedObject = { kind: 'Pod', namespace, name }
      await server.must('POST', `/api/v1/namespaces/${namespace}/events`, {
        body: { metadata: { name }, involvedObject },
      })
    }
    const event = await watching.next()
    watching.stop()
    expect(at(event?.object ?? {}, 'metadata', 'name')).toBe('b')
  })
})
