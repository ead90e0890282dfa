import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../client/connect.ts'
import command from './start.ts'

async function kubeconfigPath(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-start-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return path.join(folder, 'kubeconfig')
}

describe('muster start', () => {
  it('writes a kubeconfig for its owner only, and ends on request', async () => {
    const file = await kubeconfigPath()
    await writeFile(file, 'what was there before', { mode: 0o644 })
    const stop = new AbortController()
    const ready = Promise.withResolvers<string>()
    const run = command.run({
      flags: { 'kubeconfig-out': file },
      positionals: [],
      out: ready.resolve,
      err: ready.reject,
      signal: stop.signal,
    })
    const line = await ready.promise
    expect(line).toMatch(/^an embedded cluster is ready on https:\/\/127\.0\.0\.1:\d+; .*export KUBECONFIG=/)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const [, token = ''] = /token: (\S+)/.exec(await readFile(file, 'utf8')) ?? []
    expect(line).not.toContain(token)
    const client = await connect({ kubeconfig: file })
    expect((await client.discovery.resources()).length).toBeGreaterThan(60)
    const nodes = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }
    expect((await client.list(nodes)).items.map(({ metadata }) => metadata.name)).toEqual([
      'node-1',
      'node-2',
      'node-3',
    ])
    await client.close()
    stop.abort()
    expect(await run).toBe(0)
  })

  it('does not overwrite the kubeconfig of a running cluster, but that of one that has ended', async () => {
    const file = await kubeconfigPath()
    const start = async (): Promise<() => Promise<number>> => {
      const stop = new AbortController()
      const { promise, resolve } = Promise.withResolvers<string>()
      const flags = { 'kubeconfig-out': file, nodes: '0' }
      const run = command.run({ flags, positionals: [], out: resolve, err: resolve, signal: stop.signal })
      await Promise.race([promise, run])
      return async () => {
        stop.abort()
        return await run
      }
    }
    const end = await start()
    const first = await readFile(file, 'utf8')
    await expect(start()).rejects.toMatchObject({
      name: 'StorageInUse',
      message: expect.stringMatching(/leads to a cluster that runs on https:\/\/127\.0\.0\.1:\d+/) as string,
    })
    expect(await readFile(file, 'utf8')).toBe(first)
    await end()
    await (
      await start()
    )()
    expect(await readFile(file, 'utf8')).not.toBe(first)
  })

  it.each(['x', '-1', '65536', ''])('rejects %j as a port', async (port) => {
    const ignore = (): void => undefined
    const flags = { port, 'kubeconfig-out': await kubeconfigPath() }
    const run = command.run({ flags, positionals: [], out: ignore, err: ignore, signal: AbortSignal.abort() })
    await expect(run).rejects.toMatchObject({ name: 'InvalidFlag' })
  })

  it.each(['x', '-1', '1001', ''])('rejects %j as a number of nodes', async (nodes) => {
    const ignore = (): void => undefined
    const flags = { nodes, 'kubeconfig-out': await kubeconfigPath() }
    const run = command.run({ flags, positionals: [], out: ignore, err: ignore, signal: AbortSignal.abort() })
    await expect(run).rejects.toMatchObject({ name: 'InvalidFlag' })
  })
})
