/** `muster run` while its API server is unavailable: it keeps running, reports it, and ends on request. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const operator = fileURLToPath(new URL('../../examples/memcached/operator.ts', import.meta.url))

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'muster-away-'))
})
afterAll(() => rm(folder, { recursive: true }))

interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/**
 * Runs it in a folder of that name, with further flags, on a server at that port until it is asked to end: by its
 * output, or by a request to the server.
 */
async function run(
  name: string,
  port: number,
  flags: readonly string[],
  ends: (stop: () => void, out: string, err: string) => void,
): Promise<Ran> {
  const cwd = path.join(folder, name)
  await mkdir(cwd)
  const kubeconfig = path.join(cwd, 'kubeconfig')
  const cluster = { server: `https://127.0.0.1:${port}` }
  const value = {
    clusters: [{ name: 'away', cluster }],
    users: [{ name: 'user', user: { token: 'sesame' } }],
    contexts: [{ name: 'away', context: { cluster: 'away', user: 'user' } }],
    'current-context': 'away',
  }
  await writeFile(kubeconfig, JSON.stringify(value))
  const quiet = ['--set', 'health.port=0', '--set', 'metrics.port=0']
  const words = ['--conditions=muster-source', main, 'run', operator, '--kubeconfig', kubeconfig, ...quiet, ...flags]
  const child = spawn(process.execPath, words, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  let isAsked = false
  const stop = (): void => {
    // Asked twice, it would end at once.
    if (!isAsked) child.kill('SIGINT')
    isAsked = true
  }
  const look = (): void => ends(stop, out, err)
  child.stdout.on('data', (text: Buffer) => {
    out += text.toString()
    look()
  })
  child.stderr.on('data', (text: Buffer) => {
    err += text.toString()
    look()
  })
  look()
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** No test listens there: a port that was free a moment ago may belong to another test by now. */
const closed = 1

/** Ends it when it has said all that a test reads. */
const afterAnnouncement = (stop: () => void, out: string, err: string): void => {
  if (out.includes('console: ') && err.includes('connection refused')) stop()
}

describe('muster run', () => {
  // Both wait for the retries of the client.
  it.concurrent('keeps running while its API server is unavailable', { timeout: 30_000 }, async () => {
    const { code, out, err } = await run('json', closed, [], afterAnnouncement)
    expect(code).toBe(0)
    expect(out).toMatch(
      /^no operator is running; 1 cannot be started, and will be tried again\nconsole: http:\/\/127\.0\.0\.1:\d+\n$/,
    )
    expect(err).toContain('connection refused')
    expect(err).not.toContain('sesame')
  })

  it.concurrent('writes its log in the format and from the level of the flags', { timeout: 30_000 }, async () => {
    const flags = ['--log-format', 'klog', '--log-level', 'warn']
    const { err } = await run('klog', closed, flags, afterAnnouncement)
    const lines = err.trim().split('\n')
    expect(lines.filter((line) => !/^[WE]\d{4} /.test(line))).toEqual([])
  })

  it.each([[], ['--install'], ['--configmap', 'default/muster']])(
    'ends on request while a server does not respond, with %s',
    async (...flags) => {
      // It accepts connections, and never responds.
      const silent = createServer()
      const asked = once(silent, 'connection')
      const port = await listen(silent)
      const { code, err } = await run(`silent-${port}`, port, flags, (stop) => void asked.then(stop, stop))
      silent.close()
      expect(code).toBe(0)
      // A process that is asked to end has not failed.
      expect(err).not.toContain('aborted by the caller')
    },
    // Less than the connection timeout.
    9000,
  )
})
