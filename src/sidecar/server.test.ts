/** The protocol on a real socket, with a real observer and real actions behind it. */
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failure } from '../../test/loopback.ts'
import { systemClock } from '../clock/system-clock.ts'
import type { Json } from '../kube/json.ts'
import { readConfig } from './config.ts'
import { refusals } from './refusal.ts'
import { type Sidecar, type SidecarOptions, startSidecar } from './sidecar.ts'

const token = 'the-token-of-this-suite'
const authorization = `Bearer ${token}`
let folder = ''
const started: Sidecar[] = []
const lines: string[] = []

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'muster-sidecar-'))
  await writeFile(path.join(folder, 'token'), token)
  await writeFile(path.join(folder, 'phase'), 'up')
  lines.length = 0
})
afterEach(async () => {
  await Promise.all(started.splice(0).map((sidecar) => sidecar.stop()))
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
})

async function start(config: Json = {}, options: Partial<SidecarOptions> = {}): Promise<Sidecar> {
  const sidecar = await startSidecar({
    clock: systemClock,
    config: readConfig(
      {
        listen: '127.0.0.1:0',
        tokenFile: 'token',
        stateDirectory: 'state',
        interval: '5ms',
        probes: { phase: { file: 'phase' } },
        states: [{ state: 'acting', action: 'echo' }, { state: 'up', probe: 'phase', word: 'up' }, { state: 'down' }],
        actions: {
          echo: {
            command: [process.execPath, '-e', 'process.stdin.pipe(process.stdout)'],
          },
        },
        ...(config as object),
      },
      folder,
    ),
    log: (line) => lines.push(line),
    ...options,
  })
  started.push(sidecar)
  return sidecar
}

interface Reply {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Headers
}

async function ask(
  sidecar: Sidecar,
  method: string,
  where: string,
  body?: string | object,
  auth = authorization,
): Promise<Reply> {
  const answer = await fetch(`${sidecar.url}${where}`, {
    method,
    headers: auth ? { authorization: auth } : {},
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: answer.status, body: (await answer.json()) as Reply['body'], headers: answer.headers }
}

async function stateUntil(sidecar: Sidecar, state: string): Promise<Reply['body']> {
  for (let since = 'nothing'; ;) {
    const { body } = await ask(sidecar, 'GET', `/v1/state?since=${encodeURIComponent(since)}&wait=30`)
    if (body['state'] === state) return body
    since = String(body['since'])
  }
}

/** A connection that has sent this much. */
async function opened({ url }: Sidecar, words: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.resume().on('error', () => undefined)
  await once(socket, 'connect')
  if (words !== '') socket.write(words)
  return socket
}

/** The whole answer to a request on a connection that is closed afterwards: `fetch` keeps connections, and uses them again. */
async function onOwnConnection({ url }: Sidecar, where: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(`GET ${where} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\nconnection: close\r\n\r\n`)
  return await text(socket)
}

describe('authentication', { timeout: 60_000 }, () => {
  it('is required for everything except health', async () => {
    const sidecar = await start()
    expect(await ask(sidecar, 'GET', '/healthz', undefined, '')).toMatchObject({ status: 200, body: { status: 'ok' } })
    for (const auth of ['', 'Bearer wrong', `Basic ${token}`, `${authorization}x`])
      for (const [method, where] of [
        ['GET', '/v1/state'],
        ['GET', '/v1/actions'],
        ['POST', '/v1/actions'],
        ['GET', '/nothing'],
      ] as const) {
        const reply = await ask(sidecar, method, where, undefined, auth)
        expect(reply).toMatchObject({ status: 401, body: { error: 'Unauthorized' } })
        expect(reply.headers.get('www-authenticate')).toBe('Bearer')
      }
  })

  it('fails while the token file is missing, with the reason in the log only', async () => {
    const sidecar = await start()
    await rm(path.join(folder, 'token'))
    expect(await ask(sidecar, 'GET', '/v1/state')).toMatchObject({ status: 500, body: { error: 'Internal' } })
    expect(lines.some((line) => line.includes('ENOENT'))).toBe(true)
    await writeFile(path.join(folder, 'token'), 'another-token-instead')
    expect(await ask(sidecar, 'GET', '/v1/state')).toMatchObject({ status: 401 })
    expect(await ask(sidecar, 'GET', '/v1/state', undefined, 'Bearer another-token-instead')).toMatchObject({
      status: 200,
    })
  })
})

describe('the state', { timeout: 60_000 }, () => {
  it('is that of the application, and a request can wait for a change', async () => {
    const sidecar = await start()
    const up = await stateUntil(sidecar, 'up')
    expect(up).toEqual({ state: 'up', reachable: true, since: expect.any(String) as string })
    const waiting = ask(sidecar, 'GET', `/v1/state?since=${encodeURIComponent(String(up['since']))}&wait=60`)
    await writeFile(path.join(folder, 'phase'), 'odd')
    expect((await waiting).body).toMatchObject({ state: 'down', reachable: true })
    await rm(path.join(folder, 'phase'))
    expect(await stateUntil(sidecar, 'down')).toMatchObject({ state: 'down' })
  })

  it('is returned when the wait ends without a change', async () => {
    const sidecar = await start()
    const up = await stateUntil(sidecar, 'up')
    const waited = await ask(sidecar, 'GET', `/v1/state?since=${encodeURIComponent(String(up['since']))}&wait=0.02`)
    expect(waited.body).toEqual(up)
  })

  it('is returned at once without a known state or a timeout', async () => {
    const sidecar = await start()
    for (const query of ['wait=5', 'wait=long&since=x', 'wait=-1&since=x', 'wait=1e3&since=x'])
      expect(await ask(sidecar, 'GET', `/v1/state?${query}`)).toMatchObject({ status: 400 })
  })
})

describe('actions', { timeout: 60_000 }, () => {
  it('202 at first, 200 afterwards, 409 for another input; listed, read, waited for', async () => {
    const sidecar = await start()
    const action = { key: 'a/b ü', name: 'echo', input: { progress: 0.25, result: [1] } }
    const first = await ask(sidecar, 'POST', '/v1/actions', action)
    expect(first).toMatchObject({ status: 202, body: { key: 'a/b ü', name: 'echo', state: 'running' } })
    expect(await ask(sidecar, 'POST', '/v1/actions', action)).toMatchObject({ status: 200 })
    expect(await ask(sidecar, 'POST', '/v1/actions', { ...action, input: 1 })).toMatchObject({
      status: 409,
      body: { error: 'Conflict' },
    })
    const at = `/v1/actions/${encodeURIComponent(action.key)}`
    let { body } = first
    while (body['state'] === 'running')
      ({ body } = await ask(sidecar, 'GET', `${at}?since=${encodeURIComponent(String(body['updatedAt']))}&wait=30`))
    expect(body).toMatchObject({ state: 'succeeded', exitCode: 0, ...action.input })
    expect((await ask(sidecar, 'GET', '/v1/actions')).body).toEqual({ actions: [body] })
    expect(await ask(sidecar, 'DELETE', at)).toMatchObject({ status: 200, body })
    expect(await ask(sidecar, 'POST', `${at}/cancel`)).toMatchObject({ status: 200, body })
    await stateUntil(sidecar, 'up')
  })

  it('are limited: 429 with the key of the running one and a retry delay', async () => {
    const sidecar = await start({
      actions: { wait: { command: [process.execPath, '-e', 'setInterval(() => undefined, 1000)'] } },
      states: [],
    })
    await ask(sidecar, 'POST', '/v1/actions', { key: 'a', name: 'wait' })
    const busy = await ask(sidecar, 'POST', '/v1/actions', { key: 'b', name: 'wait' })
    expect(busy).toMatchObject({
      status: 429,
      body: { error: 'Busy', message: expect.stringContaining('"a"') as string },
    })
    expect(busy.headers.get('retry-after')).toBe('5')
    expect(await ask(sidecar, 'DELETE', '/v1/actions/a')).toMatchObject({ status: 202 })
    expect(await ask(sidecar, 'GET', '/v1/actions/b')).toMatchObject({ status: 404, body: { error: 'NotFound' } })
  })

  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  it.each<readonly [number, string, string]>([
    [400, 'no JSON', '{"key": secret-text'],
    [400, 'no object', '[]'],
    [400, 'no key', '{"name":"echo"}'],
    [400, 'an empty key', '{"key":"","name":"echo"}'],
    [400, 'a key that paths do not keep', '{"key":"..","name":"echo"}'],
    [400, 'a key with a line break', '{"key":"a\\nb","name":"echo"}'],
    [400, 'a key too long', JSON.stringify({ key: 'k'.repeat(254), name: 'echo' })],
    [400, 'a name that is none', '{"key":"a","name":{}}'],
    [400, 'an unknown name', '{"key":"a","name":"constructor"}'],
    [400, 'a stranger', '{"key":"a","name":"echo","secret-text":1}'],
    [400, 'an input too deep', `{"key":"a","name":"echo","input":${deep}}`],
    [413, 'a body too long', JSON.stringify({ key: 'a', name: 'echo', input: 'x'.repeat(300_000) })],
  ])('%i for %s, without starting or quoting anything', async (status, _what, body) => {
    const sidecar = await start()
    const reply = await ask(sidecar, 'POST', '/v1/actions', body)
    expect(reply.status).toBe(status)
    expect(Object.keys(reply.body)).toEqual(['error', 'message'])
    expect(JSON.stringify(reply.body)).not.toContain('secret-text')
    expect((await ask(sidecar, 'GET', '/v1/actions')).body).toEqual({ actions: [] })
  })

  it.each<readonly [number, string, string]>([
    [404, 'GET', '/'],
    [404, 'GET', '/v2/state'],
    [404, 'GET', '/v1/state/x'],
    [404, 'GET', '/v1/actions/a/b/c'],
    [404, 'DELETE', '/v1/actions/nobody'],
    [400, 'GET', '/v1/actions/%ff'],
    [405, 'POST', '/v1/state'],
    [405, 'PUT', '/v1/actions'],
    [405, 'GET', '/v1/actions/a/cancel'],
    [405, 'POST', '/healthz'],
  ])('%i for %s %s', async (status, method, where) => {
    expect((await ask(await start(), method, where)).status).toBe(status)
  })
})

describe('misbehaving clients', () => {
  it.each([
    ['an endless head', 'GET /healthz HTTP/1.1\r\nhost: x\r\n'],
    [
      'an endless body',
      `POST /v1/actions HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-length: 99\r\n\r\n{`,
    ],
  ])('%s ends the connection, without delaying other clients', async (_what, words) => {
    const sidecar = await start({}, { limits: { requestMs: 50 } })
    const socket = connect(Number(new URL(sidecar.url).port), '127.0.0.1')
    socket.resume().on('error', () => undefined)
    socket.write(words)
    await once(socket, 'close')
    expect((await ask(sidecar, 'GET', '/v1/state')).status).toBe(200)
  })

  const halfHead = 'GET /healthz HTTP/1.1\r\nhost: x\r\n'
  const halfBody = 'POST /v1/actions HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{'
  it.each([
    ['nothing', ''],
    ['an incomplete head', halfHead],
    ['an incomplete body without a token', halfBody],
  ])('seventy connections that send %s block neither health nor authenticated clients', async (_what, words) => {
    const sidecar = await start()
    const sockets = await Promise.all(Array.from({ length: 70 }, () => opened(sidecar, words)))
    expect(await ask(sidecar, 'GET', '/healthz', undefined, '')).toMatchObject({ status: 200 })
    expect(await ask(sidecar, 'GET', '/v1/state')).toMatchObject({ status: 200 })
    for (const socket of sockets) socket.destroy()
  })

  it('waiting authenticated clients leave a slot for health, and are rejected beyond the limit', async () => {
    const sidecar = await start({}, { limits: { connections: 20, healthConnections: 18 } })
    const up = await stateUntil(sidecar, 'up')
    const wait = `GET /v1/state?since=${encodeURIComponent(String(up['since']))}&wait=60 HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`
    const sockets = await Promise.all(Array.from({ length: 10 }, () => opened(sidecar, wait)))
    const refused = new Set<Socket>()
    const enough = Promise.withResolvers<void>()
    for (const socket of sockets) {
      socket.once('data', (answer: Buffer) => {
        expect(String(answer)).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: 5\r\n[^]*"error":"Overloaded"/)
        if (refused.add(socket).size === 8) enough.resolve()
      })
    }
    await enough.promise
    const strangers = await Promise.all(Array.from({ length: 20 }, () => opened(sidecar, halfHead)))
    expect(await onOwnConnection(sidecar, '/healthz')).toContain('HTTP/1.1 200')
    for (const socket of [...sockets, ...strangers]) socket.destroy()
  })

  it('a client that disconnects while waiting is released', async () => {
    const sidecar = await start()
    const up = await stateUntil(sidecar, 'up')
    const gone = new AbortController()
    const waiting = fetch(`${sidecar.url}/v1/state?since=${encodeURIComponent(String(up['since']))}&wait=60`, {
      headers: { authorization },
      signal: gone.signal,
    })
    gone.abort()
    await expect(waiting).rejects.toThrow('abort')
    expect((await ask(sidecar, 'GET', '/v1/state')).status).toBe(200)
  })
})

describe('shutdown', { timeout: 60_000 }, () => {
  it('responds to waiting clients', async () => {
    const sidecar = await start()
    const up = await stateUntil(sidecar, 'up')
    const arrived = Promise.withResolvers<void>()
    const socket = connect(Number(new URL(sidecar.url).port), '127.0.0.1', () => arrived.resolve())
    await arrived.promise
    socket.write(
      `GET /v1/state?since=${encodeURIComponent(String(up['since']))}&wait=60 HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`,
    )
    const answer = once(socket, 'data') as Promise<[Buffer]>
    // A second request on another connection is answered only after the first one is being waited for.
    await ask(sidecar, 'GET', '/healthz', undefined, '')
    await sidecar.stop()
    expect(String((await answer)[0])).toContain('200 OK')
  })

  it('waits for running actions, accepts no new ones, and the next sidecar finds them done', async () => {
    const script = `require('node:fs').watch(${JSON.stringify(folder)}, () => require('node:fs').existsSync('go') && process.exit(0))`
    const config = { actions: { wait: { command: [process.execPath, '-e', script], directory: folder } }, states: [] }
    const sidecar = await start(config)
    await ask(sidecar, 'POST', '/v1/actions', { key: 'a', name: 'wait' })
    const stopped = sidecar.stop()
    expect(await ask(sidecar, 'POST', '/v1/actions', { key: 'b', name: 'wait' })).toMatchObject({
      status: refusals.Stopping,
      body: { error: 'Stopping' },
    })
    expect(await ask(sidecar, 'GET', '/v1/actions/a')).toMatchObject({ body: { state: 'running' } })
    for (let ended = false; !ended;) {
      await writeFile(path.join(folder, 'go'), '')
      ended = await Promise.race([
        stopped.then(() => true),
        new Promise<boolean>((resolve) => setImmediate(resolve, false)),
      ])
    }
    const next = await start(config)
    expect(await ask(next, 'GET', '/v1/actions/a')).toMatchObject({ body: { state: 'succeeded' } })
  })

  it('leaves running actions when configured to', async () => {
    const config = {
      actions: { wait: { command: [process.execPath, '-e', 'setInterval(() => undefined, 1000)'] } },
      states: [],
      onStop: 'leave',
    }
    const sidecar = await start(config)
    await ask(sidecar, 'POST', '/v1/actions', { key: 'a', name: 'wait' })
    await sidecar.stop()
    const next = await start({ ...config, onStop: 'wait' })
    expect(await ask(next, 'GET', '/v1/actions/a')).toMatchObject({ body: { state: 'running' } })
    await ask(next, 'DELETE', '/v1/actions/a')
  })
})

describe('a sidecar does not start', () => {
  it('on the state directory of a running one, which is not affected', async () => {
    const sidecar = await start()
    expect(await failure(start())).toMatchObject({
      name: 'SidecarStateUnusable',
      message: expect.stringContaining(String(process.pid)) as string,
    })
    expect((await ask(sidecar, 'GET', '/v1/state')).status).toBe(200)
  })

  it('without a token, or on a port in use; and leaves no lock', async () => {
    const { url } = await start({ stateDirectory: 'other' })
    const taken = new URL(url).host
    expect(await failure(start({ listen: taken }))).toMatchObject({
      name: 'SidecarConfigInvalid',
      message: expect.stringContaining('another program uses it') as string,
    })
    expect(await failure(start({ tokenFile: 'none' }))).toMatchObject({ name: 'SidecarConfigInvalid' })
    await start()
    expect(await readFile(path.join(folder, 'state', 'lock.json'), 'utf8')).toContain(`"pid":${process.pid}`)
  })

  it('takes over from a killed one', async () => {
    await (await start()).stop()
    await writeFile(path.join(folder, 'state', 'lock.json'), JSON.stringify({ pid: process.pid, host: 'x' }))
    expect((await ask(await start(), 'GET', '/healthz')).status).toBe(200)
  })
})
