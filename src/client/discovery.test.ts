import { describe, expect, it } from 'vitest'
import type { Clock } from '../clock/clock.ts'
import { virtualClock } from '../clock/virtual-clock.ts'
import { clientErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import type { Json } from '../kube/json.ts'
import type { GroupVersionKind } from '../kube/kind.ts'
import { bodyOf } from './body.ts'
import type { RawRequest } from './client.ts'
import { createDiscovery } from './discovery.ts'
import type { TransportResponse } from '../transport/transport.ts'

const kindOf = (of: string, kind: string): GroupVersionKind => ({ group: of, version: 'v1', kind })

function resource(kind: string): Json {
  return { resource: `${kind.toLowerCase()}s`, responseKind: { kind }, scope: 'Namespaced', verbs: ['get'] }
}

function group(name: string, kinds: readonly string[], freshness = 'Current'): Json {
  return { metadata: { name }, versions: [{ version: 'v1', freshness, resources: kinds.map(resource) }] }
}

/** A server whose documents a test may change. A function in place of a document fails with what it returns. */
function server(documents: Record<string, Json | (() => MusterError)>) {
  const clock = virtualClock()
  const asked: string[] = []
  const request = async (raw: RawRequest): Promise<TransportResponse> => {
    asked.push(raw.path)
    const document = documents[raw.path]
    await clock.sleep(10)
    if (typeof document === 'function') throw document()
    if (document === undefined) throw new MusterError(clientErrors.KindNotServed, raw.path)
    const etag = `"${Buffer.from(JSON.stringify(document)).toString('base64')}"`
    const isSame = raw.headers?.['if-none-match'] === etag
    if (isSame) asked.push('304')
    const body = bodyOf(Buffer.from(isSame ? '' : JSON.stringify(document)))
    return { status: isSame ? 304 : 200, headers: { etag }, body }
  }
  const set = { backMs: 0 }
  const own: Clock = {
    now: () => clock.now() - set.backMs,
    after: (ms, fire) => clock.after(ms, fire),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  }
  const discovery = createDiscovery({ request, clock: own })
  const within = async <T>(work: Promise<T>, ms = 100): Promise<T> => {
    work.catch(() => undefined)
    await clock.advance(ms)
    return await work
  }
  return { clock, asked, discovery, documents, within, set }
}

const aggregated = (...items: readonly Json[]): Json => ({ kind: 'APIGroupDiscoveryList', items })
const twoGroups = () => ({
  '/api': aggregated(group('', ['Pod', 'Node'])),
  '/apis': aggregated(group('apps', ['Deployment']), group('example.com', ['Widget'])),
})

describe('discovery', () => {
  it('requests a document on demand, once for concurrent callers', async () => {
    const { asked, discovery, within } = server(twoGroups())
    const pods = Array.from({ length: 50 }, () => discovery.resourceFor(kindOf('', 'Pod')))
    const found = await within(Promise.all(pods))
    expect(found).toHaveLength(50)
    expect(found[49]).toMatchObject({ plural: 'pods', namespaced: true })
    expect(asked).toEqual(['/api'])
    expect(await within(discovery.resourceFor(kindOf('apps', 'Deployment')))).toMatchObject({ group: 'apps' })
    await within(discovery.resourceFor(kindOf('', 'Node')))
    expect(asked).toEqual(['/api', '/apis'])
  })

  it('finds a CRD that is created later, and requests a missing one at most once in a few seconds', async () => {
    const { asked, clock, discovery, documents, within } = server(twoGroups())
    const missing = kindOf('example.com', 'Gadget')
    for (let second = 0; second < 20; second++) {
      expect(await within(discovery.resourceFor(missing))).toBeUndefined()
      expect(await within(discovery.resourceFor({ ...missing, kind: `Other${second}` }))).toBeUndefined()
      await clock.advance(800)
    }
    const before = asked.filter((path) => path === '/apis').length
    expect(before).toBeGreaterThan(2)
    expect(before).toBeLessThanOrEqual(5)
    documents['/apis'] = aggregated(group('example.com', ['Widget', 'Gadget']))
    await clock.advance(5_000)
    expect(await within(discovery.resourceFor(missing))).toMatchObject({ plural: 'gadgets' })
    await within(discovery.resourceFor(missing))
    expect(asked.filter((path) => path === '/apis')).toHaveLength(before + 1)
  })

  it('finds a CRD that is created later also after the clock was set back', async () => {
    const { discovery, documents, within, set } = server(twoGroups())
    const missing = kindOf('example.com', 'Gadget')
    expect(await within(discovery.resourceFor(missing))).toBeUndefined()
    documents['/apis'] = aggregated(group('example.com', ['Widget', 'Gadget']))
    set.backMs = 3_600_000
    expect(await within(discovery.resourceFor(missing))).toMatchObject({ plural: 'gadgets' })
  })

  it('revalidates an unchanged document with a 304', async () => {
    const { asked, discovery, within } = server(twoGroups())
    await within(discovery.resourceFor(kindOf('', 'Pod')))
    discovery.invalidate()
    expect(await within(discovery.resourceFor(kindOf('', 'Pod')))).toMatchObject({ plural: 'pods' })
    expect(asked).toEqual(['/api', '/api', '304'])
  })

  it('is invalidated on request, even while a response is in flight', async () => {
    const { asked, clock, discovery, documents, within } = server(twoGroups())
    const early = discovery.resourceFor(kindOf('', 'Pod'))
    await clock.advance(5)
    documents['/api'] = aggregated(group('', ['Node']))
    discovery.invalidate()
    const late = discovery.resourceFor(kindOf('', 'Pod'))
    expect(await within(early, 7)).toMatchObject({ plural: 'pods' })
    expect(await within(discovery.resourceFor(kindOf('', 'Pod')))).toBeUndefined()
    expect(await late).toBeUndefined()
    expect(await within(discovery.resourceFor(kindOf('', 'Node')))).toMatchObject({ plural: 'nodes' })
    expect(asked).toEqual(['/api', '/api'])
  })

  it('refreshes after a path is not found, at a limited rate', async () => {
    const { asked, clock, discovery, within } = server(twoGroups())
    const widget = kindOf('example.com', 'Widget')
    await within(discovery.resourceFor(widget))
    discovery.suspect()
    await within(discovery.resourceFor(widget))
    expect(asked).toEqual(['/apis'])
    await clock.advance(5_000)
    discovery.suspect()
    await within(discovery.resourceFor(widget))
    expect(asked).toEqual(['/apis', '/apis', '304'])
  })

  it('serves other groups when one server is unavailable, and does not report its kinds as missing', async () => {
    const { clock, discovery, documents, within } = server(twoGroups())
    await within(discovery.resourceFor(kindOf('example.com', 'Widget')))
    documents['/apis'] = aggregated(group('apps', ['Deployment']), group('example.com', [], 'Stale'))
    await clock.advance(5_000)
    const unknown = discovery.resourceFor(kindOf('example.com', 'Gadget'))
    await expect(within(unknown)).rejects.toMatchObject({ name: 'ServiceUnavailable' })
    expect(await within(discovery.resourceFor(kindOf('example.com', 'Widget')))).toMatchObject({ plural: 'widgets' })
    expect(await within(discovery.resourceFor(kindOf('apps', 'Deployment')))).toMatchObject({ plural: 'deployments' })
    expect(await within(discovery.resourceFor(kindOf('batch', 'Job')))).toBeUndefined()
    expect((await within(discovery.resources())).map(({ kind }) => kind)).toEqual([
      'Pod',
      'Node',
      'Deployment',
      'Widget',
    ])
  })

  it('retries after a failure, and continues when one caller aborts', async () => {
    const { asked, clock, discovery, documents, within } = server({
      '/api': () => new MusterError(clientErrors.ServerError, 'no'),
    })
    await expect(within(discovery.resourceFor(kindOf('', 'Pod')))).rejects.toMatchObject({ name: 'ServerError' })
    documents['/api'] = aggregated(group('', ['Pod']))
    const abort = new AbortController()
    const impatient = discovery.resourceFor(kindOf('', 'Pod'), { signal: abort.signal })
    const hurried = discovery.resourceFor(kindOf('', 'Pod'), { timeoutMs: 3 })
    const patient = discovery.resourceFor(kindOf('', 'Pod'))
    for (const one of [impatient, hurried]) one.catch(() => undefined)
    await clock.advance(5)
    abort.abort()
    await expect(impatient).rejects.toMatchObject({ name: 'Aborted' })
    await expect(hurried).rejects.toMatchObject({ name: 'RequestTimeout' })
    expect(await within(patient)).toMatchObject({ plural: 'pods' })
    expect(asked).toEqual(['/api', '/api'])
  })

  it('reports a server without discovery', async () => {
    const { discovery, within } = server({ '/api': { hello: 'world' } })
    await expect(within(discovery.resourceFor(kindOf('', 'Pod')))).rejects.toMatchObject({ name: 'UnexpectedAnswer' })
  })
})

describe('discovery of an old server', () => {
  const list = (...kinds: readonly string[]): Json => ({
    kind: 'APIResourceList',
    resources: kinds.flatMap((kind) => [
      { name: `${kind.toLowerCase()}s`, kind, namespaced: true, verbs: ['get'] },
      { name: `${kind.toLowerCase()}s/status`, kind, namespaced: true, verbs: ['get'] },
    ]),
  })
  const oldServer = () =>
    server({
      '/api': { kind: 'APIVersions', versions: ['v1'] },
      '/api/v1': list('Pod'),
      '/apis': {
        kind: 'APIGroupList',
        groups: [
          { name: 'apps', versions: [{ groupVersion: 'apps/v1' }] },
          { name: 'metrics', versions: [{ groupVersion: 'metrics/v1' }] },
          {
            name: 'example.com',
            versions: [{ groupVersion: 'example.com/v1alpha1' }, { groupVersion: 'example.com/v1' }],
            preferredVersion: { groupVersion: 'example.com/v1' },
          },
        ],
      },
      '/apis/apps/v1': list('Deployment'),
      '/apis/metrics/v1': () => new MusterError(clientErrors.ServiceUnavailable, 'down'),
      '/apis/example.com/v1': list('Widget'),
      '/apis/example.com/v1alpha1': list('Widget'),
    })

  it('requests only the group version that is needed', async () => {
    const { asked, discovery, within } = oldServer()
    expect(await within(discovery.resourceFor(kindOf('apps', 'Deployment')))).toMatchObject({
      subresources: ['status'],
    })
    await within(discovery.resourceFor(kindOf('apps', 'Deployment')))
    expect(asked).toEqual(['/apis', '/apis/apps/v1'])
  })

  it('treats a missing group version as not served, and checks again later', async () => {
    const { asked, clock, discovery, documents, within } = oldServer()
    const gadget = kindOf('new.example.com', 'Gadget')
    for (let count = 0; count < 3; count++) expect(await within(discovery.resourceFor(gadget))).toBeUndefined()
    expect(asked).toEqual(['/apis', '/apis/new.example.com/v1'])
    documents['/apis/new.example.com/v1'] = list('Gadget')
    await clock.advance(5_000)
    expect(await within(discovery.resourceFor(gadget))).toMatchObject({ plural: 'gadgets' })
  })

  it('lists all available resources, preferred versions first, even if one group is unavailable', async () => {
    const { discovery, within } = oldServer()
    const all = await within(discovery.resources())
    expect(all.map(({ kind, version }) => `${kind} ${version}`)).toEqual([
      'Pod v1',
      'Deployment v1',
      'Widget v1',
      'Widget v1alpha1',
    ])
    await expect(within(discovery.resourceFor(kindOf('metrics', 'NodeMetrics')))).rejects.toMatchObject({
      name: 'ServiceUnavailable',
    })
  })
})
