import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type Answer,
  type ChartServer,
  packedChart,
  startChartServer,
  testClock,
  type TestClock,
} from '../../../test/render/chart-server.ts'
import { seededRandom } from '../../clock/random.ts'
import { renderErrors } from '../errors.ts'
import { fetchChart, type ChartSource, type ChartSourceOptions } from './chart-source.ts'
import { archiveDigest } from './source-cache.ts'

const chart = packedChart('web', '1.2.0')
const digest = archiveDigest(chart)
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))
const chartType = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip'
const manifest = json({ schemaVersion: 2, layers: [{ mediaType: chartType, digest, size: chart.length }] })

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'muster-charts-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

interface Fetching {
  readonly clock: TestClock
  readonly warnings: string[]
  versions(this: void, source: ChartSource, options?: Partial<ChartSourceOptions>): Promise<string>
}

function fetching(): Fetching {
  const clock = testClock()
  const warnings: string[] = []
  return {
    clock,
    warnings,
    async versions(source, options = {}) {
      const files = await fetchChart(source, {
        clock,
        random: seededRandom(1),
        warn: (message) => void warnings.push(message),
        env: {},
        plainHttp: true,
        ...options,
      })
      return /version: (.*)/.exec(new TextDecoder().decode(files.get('Chart.yaml')))?.[1] ?? ''
    },
  }
}

/** A registry that behaves. */
const registry: Answer = (request, response) => {
  const { url = '' } = request
  if (url.startsWith('/v2/charts/web/tags/list'))
    response.end(json({ tags: ['1.0.0', '1.2.0', '2.0.0-rc.1', 'latest'] }))
  else if (url === '/v2/charts/web/manifests/1.2.0') response.end(manifest)
  else if (url === `/v2/charts/web/manifests/${archiveDigest(manifest)}`) response.end(manifest)
  else if (url === '/v2/charts/web/manifests/index')
    response.end(json({ manifests: [{ digest: archiveDigest(manifest) }] }))
  else if (url === `/v2/charts/web/blobs/${digest}`) response.end(chart)
  else response.writeHead(404).end()
}

const error = (definition: { readonly code: string }): unknown => expect.objectContaining({ code: definition.code })
const oci = ({ host }: ChartServer, tag = ':1.2.0'): ChartSource => ({ source: `oci://${host}/charts/web${tag}` })

describe('a chart in a registry', () => {
  it('is found by tag, by digest, through an index, and by the newest version in a range', async () => {
    const server = await startChartServer(registry)
    const { versions } = fetching()
    for (const reference of [':1.2.0', `@${archiveDigest(manifest)}`, ':index', ''])
      expect(await versions(oci(server, reference))).toBe('1.2.0')
    expect(await versions({ ...oci(server, ''), version: '^1.1' })).toBe('1.2.0')
    await expect(versions({ ...oci(server, ''), version: '>5' })).rejects.toEqual(error(renderErrors.SourceNotFound))
    await expect(versions(oci(server, ':9.9.9'))).rejects.toEqual(error(renderErrors.SourceNotFound))
  })

  it('is fetched with a token, for which user and password are given', async () => {
    const server: ChartServer = await startChartServer((request, response) => {
      if (request.url?.startsWith('/token')) response.end(json({ token: 'secret' }))
      else if (request.headers.authorization === 'Bearer secret') registry(request, response)
      else {
        const challenge = `Bearer realm="${server.url}/token",service="registry",scope="repository:charts/web:pull"`
        response.writeHead(401, { 'www-authenticate': challenge }).end()
      }
    })
    const { versions } = fetching()
    const credentials = { username: 'me', password: 'word' }
    expect(await versions(oci(server), { credentials })).toBe('1.2.0')
    const basic = `Basic ${Buffer.from('me:word').toString('base64')}`
    const token = server.asked.filter(({ path: asked }) => asked.startsWith('/token'))
    expect(token).toEqual([
      { path: '/token?service=registry&scope=repository%3Acharts%2Fweb%3Apull', authorization: basic },
    ])
    expect(server.asked.filter(({ authorization }) => authorization === basic)).toEqual(token)
  })

  it('is fetched with user and password, if the registry asks for them', async () => {
    const basic = `Basic ${Buffer.from('me:word').toString('base64')}`
    const server = await startChartServer((request, response) => {
      if (request.headers.authorization === basic) registry(request, response)
      else response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
    })
    const { versions } = fetching()
    expect(await versions(oci(server), { credentials: { username: 'me', password: 'word' } })).toBe('1.2.0')
    await expect(versions(oci(server))).rejects.toEqual(error(renderErrors.SourceRefused))
    const wrong = { credentials: { username: 'me', password: 'hunter2' } }
    const refusal = await versions(oci(server), wrong).catch((caught: unknown) => caught)
    expect(refusal).toEqual(error(renderErrors.SourceRefused))
    expect(String(refusal)).not.toContain('hunter2')
  })

  it('is refused if manifest or archive are not what their digests say', async () => {
    for (const lie of ['manifests', 'blobs']) {
      const server = await startChartServer((request, response) => {
        if (request.url?.includes(lie))
          response.end(lie === 'blobs' ? Buffer.alloc(chart.length) : json({ layers: [] }))
        else registry(request, response)
      })
      const { versions } = fetching()
      await expect(versions(oci(server, `@${archiveDigest(manifest)}`))).rejects.toEqual(
        error(renderErrors.DigestMismatch),
      )
    }
  })

  it('may be elsewhere: credentials do not follow a redirect to another host', async () => {
    const storage = await startChartServer((_, response) => void response.end(chart))
    const server = await startChartServer((request, response) => {
      if (request.headers.authorization === undefined)
        response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
      else if (request.url?.includes('blobs')) response.writeHead(307, { location: `${storage.url}/signed?x=1` }).end()
      else registry(request, response)
    })
    const { versions } = fetching()
    expect(await versions(oci(server), { credentials: { username: 'me', password: 'word' } })).toBe('1.2.0')
    expect(storage.asked).toEqual([{ path: '/signed?x=1', authorization: undefined }])
  })

  it('is asked for again after 429, no earlier than the registry says, and after errors of the server', async () => {
    let requests = 0
    const server = await startChartServer((request, response) => {
      requests++
      if (requests === 1) response.writeHead(429, { 'retry-after': '7' }).end()
      else if (requests === 2) response.writeHead(503).end()
      else if (requests === 3) response.writeHead(429, { 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' }).end()
      else registry(request, response)
    })
    const { versions, clock } = fetching()
    expect(await versions(oci(server))).toBe('1.2.0')
    const [first = 0, second = 0, third = 0, ...more] = clock.waits
    expect([first >= 7000, second > 0 && second < 5000, third > 40_000, more.length]).toEqual([true, true, true, 0])
  })

  it('fails after a bounded number of attempts, and at once if the wait is too long', async () => {
    const broken = await startChartServer((_, response) => void response.writeHead(500).end())
    const { versions, clock } = fetching()
    await expect(versions(oci(broken))).rejects.toEqual(error(renderErrors.SourceUnavailable))
    expect([broken.asked.length, clock.waits.length]).toEqual([4, 3])
    const busy = await startChartServer((_, response) => void response.writeHead(429, { 'retry-after': '3600' }).end())
    await expect(versions(oci(busy))).rejects.toMatchObject({ retryAfterMs: 3_600_000 })
    expect(busy.asked).toHaveLength(1)
  })

  it('fails if the registry does not answer, or stops in the middle', async () => {
    for (const beginning of ['', 'half']) {
      const { versions, clock } = fetching()
      const server = await startChartServer((_, response) => {
        if (beginning !== '') response.writeHead(200, { 'content-length': '1000' }).write(beginning)
        // The deadline passes.
        setImmediate(() => setImmediate(() => clock.expire()))
      })
      await expect(versions(oci(server))).rejects.toEqual(error(renderErrors.SourceUnavailable))
    }
  })

  it('fails if redirects never end, or an answer is too long', async () => {
    const { versions } = fetching()
    const round = await startChartServer((request, response) =>
      response.writeHead(302, { location: request.url ?? '/' }).end(),
    )
    await expect(versions(oci(round))).rejects.toEqual(error(renderErrors.SourceRefused))
    const long = await startChartServer((_, response) => {
      response.writeHead(200, { 'content-length': String(2 ** 40) })
      response.write('x')
    })
    await expect(versions(oci(long))).rejects.toEqual(error(renderErrors.SourceRefused))
  })
})

describe('the cache of sources', () => {
  it('keeps archives by digest: a known one is not fetched again', async () => {
    const server = await startChartServer(registry)
    const cache = folder()
    const { versions } = fetching()
    expect(await versions(oci(server), { cache })).toBe('1.2.0')
    expect(await versions(oci(server), { cache })).toBe('1.2.0')
    expect(server.asked.filter(({ path: asked }) => asked.includes('blobs'))).toHaveLength(1)
    const [file = ''] = readdirSync(path.join(cache, 'sha256'))
    expect(statSync(path.join(cache, 'sha256', file)).mode & 0o777).toBe(0o600)
  })

  it('serves a chart without a network, with a warning', async () => {
    let isUp = true
    const server = await startChartServer((request, response) => {
      if (isUp) registry(request, response)
      else response.socket?.destroy()
    })
    const cache = folder()
    const { versions, warnings } = fetching()
    await versions(oci(server), { cache })
    isUp = false
    expect(await versions(oci(server), { cache })).toBe('1.2.0')
    expect(warnings).toEqual([expect.stringContaining(digest)])
    await expect(versions({ ...oci(server, ''), version: '1.0.0' }, { cache })).rejects.toMatchObject({
      retry: 'transient',
    })
  })

  it('does not use a damaged archive', async () => {
    const server = await startChartServer(registry)
    const cache = folder()
    const { versions } = fetching()
    await versions(oci(server), { cache })
    const [file = ''] = readdirSync(path.join(cache, 'sha256'))
    writeFileSync(path.join(cache, 'sha256', file), 'damaged')
    expect(await versions(oci(server), { cache })).toBe('1.2.0')
    expect(server.asked.filter(({ path: asked }) => asked.includes('blobs'))).toHaveLength(2)
  })
})

describe('a chart in a repository', () => {
  const index = (urls: readonly string[], sum: string = digest.slice(7)): string =>
    `entries:\n  web:\n  - { version: 1.2.0, digest: "${sum}", urls: [${urls.join(', ')}] }\n  - { version: 1.10.0-rc1, urls: [no] }\n  - { version: 0.9.0, urls: [no] }\n`

  it('is found by version or range, at a relative address', async () => {
    const server = await startChartServer((request, response) => {
      if (request.url === '/stable/index.yaml') response.end(index(['charts/web-1.2.0.tgz']))
      else if (request.url === '/stable/charts/web-1.2.0.tgz') response.end(chart)
      else response.writeHead(404).end()
    })
    const { versions } = fetching()
    for (const version of [undefined, '1.2.0', '~1.2', '>=1'])
      expect(await versions({ source: 'web', repository: `${server.url}/stable`, version })).toBe('1.2.0')
    await expect(versions({ source: 'other', repository: server.url })).rejects.toEqual(
      error(renderErrors.SourceNotFound),
    )
    await expect(versions({ source: 'web', repository: `${server.url}/stable`, version: '2.x' })).rejects.toEqual(
      error(renderErrors.SourceNotFound),
    )
  })

  it('has credentials for the host of the repository alone', async () => {
    const storage = await startChartServer((_, response) => void response.end(chart))
    const server = await startChartServer((_, response) => void response.end(index([`${storage.url}/web.tgz`])))
    const { versions } = fetching()
    const credentials = { username: 'me', password: 'word' }
    expect(await versions({ source: 'web', repository: server.url }, { credentials })).toBe('1.2.0')
    expect(server.asked[0]?.authorization).toMatch(/^Basic /)
    expect(storage.asked).toEqual([{ path: '/web.tgz', authorization: undefined }])
  })

  it('is refused if the archive is not what the index says', async () => {
    const server = await startChartServer((request, response) =>
      response.end(request.url === '/index.yaml' ? index(['web.tgz'], '0'.repeat(64)) : chart),
    )
    const { versions } = fetching()
    await expect(versions({ source: 'web', repository: server.url })).rejects.toEqual(
      error(renderErrors.DigestMismatch),
    )
  })

  it('may be a URL of an archive', async () => {
    const server = await startChartServer((_, response) => void response.end(chart))
    const { versions } = fetching()
    expect(await versions({ source: `${server.url}/web-1.2.0.tgz` })).toBe('1.2.0')
  })
})
