import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Client } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import { loadConnection } from '../../client/load-connection.ts'
import { configMap, configMaps } from '../../../test/embedded.ts'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

let folder = ''
let child: ChildProcess | undefined
const clients: Client[] = []

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'muster-apiserver-'))
})
afterEach(async () => {
  await Promise.all(clients.splice(0).map(async (client) => await client.close()))
  if (child && child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  await rm(folder, { recursive: true, force: true })
})

/** Starts the command and returns the line it says when it is ready, with a client of it. */
async function start(...flags: readonly string[]): Promise<{ readonly line: string; readonly client: Client }> {
  const kubeconfig = path.join(folder, 'kubeconfig')
  const args = [main, 'apiserver', '--kubeconfig-out', kubeconfig, ...flags]
  child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string]
  const client = await connect({ connection: await loadConnection({ kubeconfig }) })
  clients.push(client)
  return { line, client }
}

async function kill(): Promise<void> {
  const ended = once(child!, 'exit')
  child!.kill('SIGKILL')
  await ended
}

describe('muster apiserver', () => {
  it('keeps acknowledged writes when it is killed while writing', { timeout: 60_000 }, async () => {
    const data = path.join(folder, 'data')
    const first = await start('--data', data)
    expect(first.line).toMatch(/^API server ready on https:\/\/127\.0\.0\.1:\d+; to use it: export KUBECONFIG=/)
    const acknowledged: string[] = []
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let index = 0; ; index++) {
        const name = `w${writer}-${index}`
        await first.client.create(configMaps, configMap(name, { index: String(index) }))
        acknowledged.push(name)
      }
    }).map(async (writing) => await writing.catch(() => undefined))
    while (acknowledged.length < 100) await new Promise((resolve) => setImmediate(resolve))
    await kill()
    await Promise.all(writers)

    const second = await start('--data', data)
    const { items } = await second.client.list(configMaps, { namespace: 'default' })
    const found = new Set(items.map(({ metadata }) => metadata.name))
    expect(acknowledged.filter((name) => !found.has(name))).toEqual([])
    const created = await second.client.create(configMaps, configMap('after'))
    const versions = items.map(({ metadata }) => Number(metadata.resourceVersion))
    expect(Number(created.metadata.resourceVersion)).toBeGreaterThan(Math.max(...versions))
  })

  it('locks its folder', { timeout: 60_000 }, async () => {
    const data = path.join(folder, 'data')
    await start('--data', data)
    const other = spawn(
      process.execPath,
      [main, 'apiserver', '--data', data, '--kubeconfig-out', path.join(folder, 'other')],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    let said = ''
    other.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    const [code] = (await once(other, 'close')) as [number]
    expect(code).not.toBe(0)
    expect(said).toContain('MUS1603 StorageInUse')
    expect(await readdir(data)).toContain('lock.json')
  })
})
