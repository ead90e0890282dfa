import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually, listen } from '../../test/loopback.ts'
import { systemClock } from '../clock/system-clock.ts'
import { virtualClock } from '../clock/virtual-clock.ts'
import { noEnvironment } from './action-folder.ts'
import { probe, type ProbeAnswer, type ProbeSpec } from './probe.ts'

const context = { clock: systemClock, environment: process.env, signal: new AbortController().signal }
type WithoutTime<T> = T extends unknown ? Omit<T, 'timeoutMs'> : never
const ask = (spec: WithoutTime<ProbeSpec>): Promise<ProbeAnswer> => probe({ ...spec, timeoutMs: 30_000 }, context)

/** A port that was free a moment ago. */
async function closedPort(): Promise<number> {
  const server = createTcpServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

describe('an HTTP probe', () => {
  it('reads status and body, and ignores a body of another format', async () => {
    const answers = new Map([
      ['/ok', [200, '{"status":{"phase":" running ","list":["a","b"],"deep":{}}}']],
      ['/bad', [503, 'overloaded']],
    ] as const)
    const server = createServer((request, response) => {
      const [status, body] = answers.get(request.url as '/ok') ?? [404, '']
      response.writeHead(status).end(body)
    })
    const at = `http://127.0.0.1:${await listen(server)}`
    const http = { kind: 'http', status: 200 } as const
    expect(await ask({ ...http, url: `${at}/ok`, path: ['status', 'phase'] })).toEqual({
      reached: true,
      ok: true,
      code: 200,
      word: 'running',
      message: undefined,
    })
    expect(await ask({ ...http, url: `${at}/ok`, path: ['status', 'list', '1'] })).toMatchObject({ word: 'b' })
    for (const steps of [
      ['status', 'deep'],
      ['status', 'constructor'],
      ['x', 'y'],
    ])
      expect(await ask({ ...http, url: `${at}/ok`, path: steps })).toMatchObject({ ok: true, word: undefined })
    const bad = { reached: true, ok: false, code: 503, message: 'status 503' }
    expect(await ask({ ...http, url: `${at}/bad` })).toMatchObject(bad)
    expect(await ask({ ...http, url: `${at}/bad`, status: 503 })).toMatchObject({ ok: true })
  })

  it('is unreachable without a listener, and its message contains neither address nor password', async () => {
    const url = `http://user:hidden@127.0.0.1:${await closedPort()}/`
    expect(await ask({ kind: 'http', url, status: 200 })).toEqual({
      reached: false,
      ok: false,
      message: 'ECONNREFUSED',
    })
  })

  it('respects its timeout, and releases the connection', async () => {
    let open = 0
    const server = createServer(() => undefined).on('connection', (socket) => {
      open++
      socket.once('close', () => open--)
    })
    const url = `http://127.0.0.1:${await listen(server)}/`
    const clock = virtualClock()
    const answer = probe({ kind: 'http', url, status: 200, timeoutMs: 1000 }, { ...context, clock })
    await eventually(() => open === 1)
    await clock.advance(1000)
    expect(await answer).toEqual({ reached: false, ok: false, message: 'no answer within 1000 ms' })
    await eventually(() => open === 0)
  })
})

describe('a file probe', () => {
  it('reads the content', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'muster-probe-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = path.join(folder, 'phase')
    expect(await ask({ kind: 'file', file })).toEqual({ reached: false, ok: false, message: 'ENOENT' })
    await writeFile(file, ' loading\n')
    expect(await ask({ kind: 'file', file })).toEqual({ reached: true, ok: true, word: 'loading' })
    await writeFile(file, 'x'.repeat(100_000))
    expect((await ask({ kind: 'file', file })).word).toHaveLength(200)
  })
})

describe('a command probe', () => {
  const command = (script: string, answers = [0]): WithoutTime<ProbeSpec> => ({
    kind: 'command',
    command: [process.execPath, '-e', script],
    answers,
    environment: { ...noEnvironment, pass: ['HOME'], set: { PHASE: 'up' } },
  })

  it('reads stdout and the exit code', async () => {
    expect(await ask(command('console.log(process.env.PHASE)'))).toMatchObject({ reached: true, ok: true, word: 'up' })
    const script = "console.log('odd'); process.exitCode = 3"
    const odd = { ok: false, code: 3, word: 'odd', message: 'exit code 3' }
    expect(await ask(command(script))).toEqual({ ...odd, reached: false })
    expect(await ask(command(script, [0, 3]))).toEqual({ ...odd, reached: true })
  })

  it('gets only the given environment', async () => {
    const { word } = await ask(command("console.log(Object.keys(process.env).sort().join(' '))"))
    expect(word).toBe('HOME PATH PHASE')
  })

  it('is unreachable when the program is missing or killed', async () => {
    const absent = { kind: 'command', command: ['/no/such'], answers: [0], environment: noEnvironment } as const
    expect(await ask(absent)).toEqual({ reached: false, ok: false, message: 'ENOENT' })
    expect(await ask(command("process.kill(process.pid, 'SIGKILL')"))).toMatchObject({ message: 'ended by SIGKILL' })
  })
})

describe('a TCP probe', () => {
  it('is reachable with a listener', async () => {
    const port = await listen(createTcpServer())
    expect(await ask({ kind: 'tcp', host: '127.0.0.1', port })).toEqual({ reached: true, ok: true })
    const closed = await closedPort()
    expect(await ask({ kind: 'tcp', host: '127.0.0.1', port: closed })).toMatchObject({ reached: false, ok: false })
  })
})
