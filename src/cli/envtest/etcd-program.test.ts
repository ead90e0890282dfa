import { createServer, type AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../../test/free-port.ts'
import { serveEtcd } from './etcd-program.ts'

const ignore = (): void => undefined

describe('etcd of a test control plane', () => {
  it('is healthy, reports that it stores nothing, and ends on request', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void taken.close())
    const end = new AbortController()
    const context = { signal: end.signal, out: ignore, env: {} }
    const wordsFor = (place: number): readonly string[] => [
      '--data-dir=/nowhere',
      `--listen-client-urls=http://127.0.0.1:${place}`,
    ]
    const inUse = serveEtcd(wordsFor((taken.address() as AddressInfo).port), { ...context, say: ignore })
    await expect(inUse).rejects.toMatchObject({ name: 'ListenFailed' })

    const port = await freePort()
    const serves = Promise.withResolvers<string>()
    const ended = serveEtcd(wordsFor(port), { ...context, say: serves.resolve })
    expect(await serves.promise).toBe(`serving client traffic on 127.0.0.1:${port}`)
    const health = await fetch(`http://127.0.0.1:${port}/health?exclude=x`)
    expect([health.status, await health.json()]).toEqual([200, { health: 'true', reason: '' }])
    const kept = await fetch(`http://127.0.0.1:${port}/v3/kv/range`, { method: 'POST' })
    expect([kept.status, await kept.text()]).toEqual([404, expect.stringContaining('the API server keeps the objects')])
    end.abort()
    await ended
    await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow('fetch failed')
  })

  it('prints its version', async () => {
    const said: string[] = []
    await serveEtcd(['--version'], {
      signal: AbortSignal.abort(),
      out: (line) => said.push(line),
      say: ignore,
      env: {},
    })
    expect(said.join()).toMatch(/^etcd Version: 3\.\d+\.\d+\n/)
  })
})
