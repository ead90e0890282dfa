import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../../test/loopback.ts'
import { offlineEnvironment } from './network-isolation.ts'

const source = fileURLToPath(new URL('..', import.meta.url))

/** Tries everything that an operator could think of, once it is offline, and tells what came of it. */
const program = `
import { cutOff } from ${JSON.stringify(path.join(source, 'contract/network-isolation.ts'))}
await cutOff((line) => process.stderr.write(line + '\\n'))
const { loadConnection } = await import(${JSON.stringify(path.join(source, 'client/load-connection.ts'))})
const { openSync, readdirSync, readFileSync } = await import('node:fs')
const [dgram, http, net, tls] = await Promise.all(['dgram', 'http', 'net', 'tls'].map((name) => import('node:' + name)))
const port = Number(process.argv[2])
const tried = async (reach) => await new Promise((resolve, reject) => reach(resolve, reject)).then(() => 'reached', (error) => error.cause?.code ?? error.code ?? error.message)
const read = (file) => { try { return readFileSync(file, 'utf8') } catch (error) { return error.code } }
const outcome = {
  fetch: await tried((done, failed) => fetch('http://127.0.0.1:' + port).then(done, failed)),
  http: await tried((done, failed) => http.get({ host: '127.0.0.1', port }, done).on('error', failed)),
  net: await tried((done, failed) => net.connect(port, '127.0.0.1', done).on('error', failed)),
  tls: await tried((done, failed) => tls.connect(port, '127.0.0.1', done).on('error', failed)),
  dgram: await tried((done, failed) => dgram.createSocket('udp4').send('x', port, '127.0.0.1', (error) => (error ? failed(error) : done()))),
  connection: await loadConnection().then(({ server }) => server, ({ name }) => name),
  home: read(process.env.HOME + '/.kube/config'),
  named: read(process.env.NAMED),
  run: readdirSync('/run').length,
  sys: readdirSync('/sys').length,
  kernel: (() => { try { return openSync('/proc/sys/kernel/core_pattern', 'r+') } catch { return 'refused' } })(),
  environment: process.env,
}
process.stdout.write(JSON.stringify(outcome))
process.exit(7)
`

const kubeconfig = `
clusters: [{name: c, cluster: {server: "https://10.0.0.1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

interface Tried {
  readonly code: number | null
  readonly stderr: string
  readonly outcome: Readonly<Record<string, string>> & { readonly environment: Readonly<Record<string, string>> }
}

/** In a process of its own, with a kubeconfig in its home and another that is named. */
async function tryOut(environment: Readonly<Record<string, string>> = {}): Promise<Tried & { readonly calls: number }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-cut-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [file, named] = [path.join(folder, 'try.ts'), path.join(folder, 'kubeconfig')]
  writeFileSync(file, program)
  mkdirSync(path.join(folder, '.kube'))
  for (const each of [named, path.join(folder, '.kube/config')]) writeFileSync(each, kubeconfig)
  let calls = 0
  const port = await listen(
    createServer((socket) => {
      calls++
      socket.end('HTTP/1.1 204 No Content\r\n\r\n')
    }),
  )
  const env = { ...process.env, HOME: folder, KUBECONFIG: named, NAMED: named, ...environment }
  const child = spawn(process.execPath, ['--conditions=muster-source', file, String(port)], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { code, stderr, calls, outcome: JSON.parse(stdout || '{}') as Tried['outcome'] }
}

const given = {
  MUSTER_NETWORK_CUT: '1',
  KUBERNETES_SERVICE_HOST: '10.0.0.1',
  KUBERNETES_SERVICE_PORT: '443',
  HTTPS_PROXY: 'http://10.0.0.2:3128',
  no_proxy: 'localhost',
  GITHUB_TOKEN: 'ghp',
  FLAVOUR: 'plain',
}

describe('an offline process', () => {
  it('reaches no network and finds no cluster, whatever its environment', async () => {
    const { code, stderr, calls, outcome } = await tryOut(given)
    expect({ code, stderr, calls }).toEqual({ code: 7, stderr: '', calls: 0 })
    const { environment, ...tried } = outcome
    const none = 'ENETUNREACH'
    expect(tried).toEqual({
      fetch: none,
      http: none,
      net: none,
      tls: none,
      dgram: none,
      connection: 'KubeconfigNotFound',
      home: 'ENOENT',
      named: '',
      run: 0,
      sys: 0,
      kernel: 'refused',
    })
    expect(Object.keys(environment).filter((name) => /^KUBE|proxy|TOKEN/i.test(name))).toEqual([])
    expect(environment).toMatchObject({ FLAVOUR: 'plain', PATH: process.env['PATH'] })
  })

  it('verifies that it has no network itself, and does not trust its parent', async () => {
    const { code, stderr, calls } = await tryOut({ MUSTER_NETWORK_CUT: String(process.pid) })
    expect(code).toBe(1)
    expect(stderr).toContain('NetworkNotCut')
    expect(calls).toBe(0)
  })

  it('refuses connections in process where namespaces are unavailable, and warns', async () => {
    const { code, stderr, calls, outcome } = await tryOut({ ...given, PATH: '/nowhere' })
    expect(stderr).toBe(
      'warning: no network namespace can be made here: connections are only refused within this process\n',
    )
    expect({ code, calls }).toEqual({ code: 7, calls: 0 })
    const { environment, connection, ...tried } = outcome
    const none = 'ENETUNREACH'
    expect(tried).toMatchObject({ fetch: none, http: none, net: none, tls: none, dgram: none })
    // The home of its user is there, but not what leads to a cluster.
    expect(connection).not.toBe('https://10.0.0.1')
    expect(environment).toMatchObject({ FLAVOUR: 'plain', KUBECONFIG: '/dev/null' })
    expect(Object.keys(environment).filter((name) => /^KUBERNETES|proxy|TOKEN/i.test(name))).toEqual([])
  })
})

describe('the environment of an offline process', () => {
  it('contains no cluster, no proxy and no credentials', () => {
    const kept = {
      PATH: '/bin',
      HOME: '/root',
      TOKENIZER: 'x',
      MUSTER_SEED: '1',
      MUSTER__operators__a__config__token: 't',
    }
    const gone = [
      'KUBECONFIG',
      'KUBERNETES_PORT_443_TCP',
      'HTTP_PROXY',
      'all_proxy',
      'npm_config_https_proxy',
      'NPM_TOKEN',
      'AWS_SECRET_ACCESS_KEY',
      'AWS_WEB_IDENTITY_TOKEN_FILE',
      'GOOGLE_APPLICATION_CREDENTIALS',
      'DB_PASSWORD',
      'MAPS_API_KEY',
      'SSH_AUTH_SOCK',
      'DOCKER_HOST',
    ]
    expect(offlineEnvironment({ ...kept, ...Object.fromEntries(gone.map((name) => [name, 'x'])) })).toEqual(kept)
  })
})
