/** The real registry of the field (distribution) with basic authentication and TLS; charts are pushed by the real Helm. */
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { realHelm, realRegistry } from '../../scripts/real-binaries.ts'
import { archiveDigest } from '../../src/render/source/source-cache.ts'
import { makeCa } from '../certificates.ts'
import { freePort } from '../free-port.ts'
import type { ArtifactLayer } from '../render/registry-double.ts'

const run = promisify(execFile)

export const registryCredentials = { username: 'team', password: 'correct-horse' }

export interface RunningRegistry {
  /** A folder of its own, which goes with it. */
  readonly folder: string
  readonly host: string
  /** The certificate of its authority, in PEM. */
  readonly ca: string
  /** Pushes a chart to `charts/NAME`. */
  push(name: string, version: string, templates: Readonly<Record<string, string>>): Promise<void>
  /** Pushes an artifact of any layers, as Flux, ORAS and Kyma do. */
  pushArtifact(repository: string, tag: string, layers: readonly ArtifactLayer[]): Promise<void>
  /** Ends it; its folder stays. */
  stop(): void
  remove(): Promise<void>
}

export async function startRegistry(): Promise<RunningRegistry> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-registry-'))
  const port = await freePort()
  const authority = makeCa()
  const server = authority.issue({ commonName: 'localhost', dnsNames: ['localhost'], server: true })
  const file = (name: string): string => path.join(folder, name)
  const helm = async (...words: readonly string[]): Promise<string> => {
    const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_CACHE_HOME: folder, XDG_DATA_HOME: folder }
    const { stdout } = await run(await realHelm(), [...words], { env })
    return stdout
  }
  const writeChart = async (
    name: string,
    version: string,
    templates: Readonly<Record<string, string>>,
  ): Promise<string> => {
    const place = path.join(folder, 'sources', `${name}-${version}`)
    await mkdir(path.join(place, 'templates'), { recursive: true })
    await writeFile(path.join(place, 'Chart.yaml'), `apiVersion: v2\nname: ${name}\nversion: ${version}\n`)
    for (const [one, text] of Object.entries(templates)) await writeFile(path.join(place, 'templates', one), text)
    return place
  }
  const { username, password } = registryCredentials
  // The registry wants bcrypt; Helm can make it.
  const line = { 'a.yaml': `line: '{{ htpasswd "${username}" "${password}" }}'\n` }
  const rendered = await helm('template', await writeChart('password', '1.0.0', line))
  await writeFile(file('htpasswd'), `${/line: '(.*)'/.exec(rendered)?.[1] ?? ''}\n`)
  await writeFile(file('ca.pem'), authority.cert)
  await writeFile(file('cert.pem'), server.cert)
  await writeFile(file('key.pem'), server.key)
  const config = {
    version: '0.1',
    log: { level: 'error', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: file('storage') } },
    http: { addr: `localhost:${port}`, tls: { certificate: file('cert.pem'), key: file('key.pem') } },
    auth: { htpasswd: { realm: 'test', path: file('htpasswd') } },
  }
  await writeFile(file('config.yml'), JSON.stringify(config))
  const registry = spawn(await realRegistry(), ['serve', file('config.yml')], {
    stdio: 'ignore',
    env: { OTEL_TRACES_EXPORTER: 'none' },
  })
  await untilOpen(port)
  const host = `localhost:${port}`
  const send = async (
    method: string,
    target: string,
    body: Buffer = Buffer.alloc(0),
    type = 'application/octet-stream',
  ): Promise<IncomingHttpHeaders> =>
    await new Promise((resolve, reject) => {
      const headers = { 'content-type': type, 'content-length': body.length }
      const options = { method, headers, ca: authority.cert, auth: `${username}:${password}` }
      const sent = request(`https://${host}${target}`, options, (answer) => {
        answer.resume()
        if (answer.statusCode! < 300) resolve(answer.headers)
        else reject(new Error(`${method} ${target}: ${answer.statusCode}`))
      })
      sent.on('error', reject).end(body)
    })
  await helm('registry', 'login', host, '--username', username, '--password', password, '--ca-file', file('ca.pem'))
  return {
    folder,
    host,
    ca: authority.cert,
    async push(name, version, templates) {
      await helm('package', await writeChart(name, version, templates), '--destination', folder)
      await helm('push', file(`${name}-${version}.tgz`), `oci://${host}/charts`, '--ca-file', file('ca.pem'))
    },
    async pushArtifact(repository, tag, layers) {
      const empty = { mediaType: 'application/vnd.oci.empty.v1+json', data: Buffer.from('{}') }
      const descriptors: object[] = []
      for (const { mediaType, data, title } of [empty, ...layers] as readonly ArtifactLayer[]) {
        const digest = archiveDigest(data)
        const { location = '' } = await send('POST', `/v2/${repository}/blobs/uploads/`)
        const upload = new URL(location, `https://${host}`)
        upload.searchParams.set('digest', digest)
        await send('PUT', upload.pathname + upload.search, data, 'application/octet-stream')
        const annotations = title === undefined ? {} : { annotations: { 'org.opencontainers.image.title': title } }
        descriptors.push({ mediaType, digest, size: data.length, ...annotations })
      }
      const mediaType = 'application/vnd.oci.image.manifest.v1+json'
      const [first, ...rest] = descriptors
      const manifest = { schemaVersion: 2, mediaType, config: first, layers: rest }
      await send('PUT', `/v2/${repository}/manifests/${tag}`, Buffer.from(JSON.stringify(manifest)), mediaType)
    },
    stop: () => void registry.kill(),
    async remove() {
      registry.kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function untilOpen(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, 'localhost', () => resolve(true)).on('error', () => resolve(false))
      socket.unref()
    })
    if (isOpen) return
    await sleep(100)
  }
  throw new Error('the registry does not start')
}
