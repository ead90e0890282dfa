/** `muster run` while its API server is away: it stays, says so, and ends when it is told to. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
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

/** Runs it with more flags on a server at that port, until it is told to end: by what it says, or by what the server sees. */
async function run(
  port: number,
  flags: readonly string[],
  ends: (stop: () => void, out: string) => void,
): Promise<Ran> {
  const kubeconfig = path.join(folder, `${port}.kubeconfig`)
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
  const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  const look = (): void => ends(() => void child.kill('SIGINT'), out)
  child.stdout.on('data', (text: Buffer) => {
    out += text.toString()
    look()
  })
  child.stderr.on('data', (text: Buffer) => (err += text.toString()))
  look()
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

describe('muster run', () => {
  it('stays while its API server is away', async () => {
    const nobody = createServer()
    const port = await listen(nobody)
    nobody.close()
    const { code, out, err } = await run(port, [], (stop, said) => {
      if (said.includes('cannot be started, and will be tried again')) stop()
    })
    expect([code, out]).toEqual([0, 'no operator is running; 1 cannot be started, and will be tried again\n'])
    expect(err).toContain('connection refused')
    expect(err).not.toContain('sesame')
  }, 30_000)

  it.each([[], ['--install'], ['--configmap', 'default/muster']])(
    'ends when it is told to while a server does not answer, with %s',
    async (...flags) => {
      // It takes connections, and says nothing.
      const silent = createServer()
      const asked = once(silent, 'connection')
      const port = await listen(silent)
      const { code, err } = await run(port, flags, (stop) => void asked.then(stop, stop))
      silent.close()
      expect(code).toBe(0)
      // Who is told to end has not failed.
      expect(err).not.toContain('aborted by the caller')
    },
    // Less than a connection may take.
    9000,
  )
})
