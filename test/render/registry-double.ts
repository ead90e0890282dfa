/** A registry for tests, on loopback and in memory: artifacts of any layers, and whatever goes wrong with it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { archiveDigest } from '../../src/render/source/source-cache.ts'
import { type ChartServer, startChartServer } from './chart-server.ts'

export interface ArtifactLayer {
  readonly mediaType: string
  readonly data: Buffer
  /** The name of a file. */
  readonly title?: string
}

export interface RegistryDouble extends ChartServer {
  /** Makes a tag mean these layers. Returns the digest of the manifest. */
  push(repository: string, tag: string, layers: readonly ArtifactLayer[]): string
  /** Answers a request instead of the registry, if it returns true. */
  instead: (request: IncomingMessage, response: ServerResponse) => boolean
}

export const fluxType = 'application/vnd.cncf.flux.content.v1.tar+gzip'

/** Ends with the test. */
export async function startRegistryDouble(login?: {
  readonly username: string
  readonly password: string
}): Promise<RegistryDouble> {
  const contents = new Map<string, Buffer>()
  const tags = new Map<string, string[]>()
  const basic = login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`
  const double: { current?: RegistryDouble } = {}
  const server = await startChartServer((request, response) => {
    if (double.current?.instead(request, response)) return
    if (basic !== undefined && request.headers.authorization !== basic) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="registry"' }).end()
      return
    }
    const { pathname } = new URL(request.url ?? '/', 'http://registry')
    const [, listed] = /^\/v2\/(.+)\/tags\/list$/.exec(pathname) ?? []
    const found =
      listed === undefined ? contents.get(pathname) : Buffer.from(JSON.stringify({ tags: tags.get(listed) ?? [] }))
    if (found) response.end(found)
    else response.writeHead(404).end()
  })
  double.current = {
    ...server,
    instead: () => false,
    push(repository, tag, layers) {
      const listed = layers.map(({ mediaType, data, title }) => {
        contents.set(`/v2/${repository}/blobs/${archiveDigest(data)}`, data)
        const annotations = title === undefined ? {} : { annotations: { 'org.opencontainers.image.title': title } }
        return { mediaType, digest: archiveDigest(data), size: data.length, ...annotations }
      })
      const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, layers: listed }))
      const digest = archiveDigest(manifest)
      for (const name of [tag, digest]) contents.set(`/v2/${repository}/manifests/${name}`, manifest)
      tags.set(repository, [...new Set([...(tags.get(repository) ?? []), tag])])
      return digest
    },
  }
  return double.current
}
