import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { makeCa } from '../../../test/certificates.ts'
import { explainFileError, systemMachine } from './machine.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

const never = new AbortController().signal
const node = (script: string, env: Record<string, string> = {}): Parameters<typeof systemMachine.run>[0] => ({
  command: process.execPath,
  args: ['-e', script],
  env,
  interactive: false,
  signal: never,
})

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => new Promise((resolve) => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

describe('systemMachine', () => {
  it('runs a program with its environment, and no input', async () => {
    const script =
      'process.stdin.on("end", () => { console.log(process.env.A); console.error("e"); process.exit(3) }).resume()'
    expect(await systemMachine.run(node(script, { A: 'b' }))).toEqual({ exitCode: 3, stdout: 'b\n', stderr: 'e\n' })
  })

  it('reports that a program could not be started', async () => {
    await expect(systemMachine.run({ ...node(''), command: '/no/such/program' })).rejects.toMatchObject({
      code: 'ENOENT',
    })
  })

  it('stops a program on abort, also one that ignores signals', async () => {
    const stop = new AbortController()
    const server = createServer()
    const port = await listen(server)
    const script = `process.on("SIGTERM", () => {}); require("node:net").connect(${port}, "127.0.0.1").on("error", () => {})`
    const running = systemMachine.run({ ...node(script), signal: stop.signal })
    const ended = new Promise<void>((resolve) => {
      server.once('connection', (socket) => {
        socket.once('close', () => resolve()).once('error', () => undefined)
        stop.abort(new Error('too long'))
      })
    })
    await expect(running).rejects.toThrow('too long')
    await ended
  })

  it('reads files, and reports errors', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'muster-'))
    cleanups.push(() => rm(directory, { recursive: true }))
    await writeFile(join(directory, 'file'), 'content')
    expect(await systemMachine.readFile(join(directory, 'file'))).toBe('content')
    const explain = (path: string): Promise<string> =>
      systemMachine.readFile(path).then(() => 'was read', explainFileError)
    expect(await explain(join(directory, 'none'))).toBe('does not exist')
    expect(await explain(directory)).toBe('is a directory')
  })

  it('sends a request and collects the response', async () => {
    const echo: RequestListener = (request, response) => {
      request.setEncoding('utf8')
      request.once('data', (body: string) => {
        response.statusCode = 201
        response.end(`${request.method} ${request.url} ${String(request.headers['x-a'])} ${body}`)
      })
    }
    const port = await listen(createHttpServer(echo))
    const url = `http://127.0.0.1:${port}/path`
    expect(
      await systemMachine.request({ method: 'POST', url, headers: { 'x-a': '1' }, body: 'hi', signal: never }),
    ).toEqual({
      status: 201,
      body: 'POST /path 1 hi',
    })
  })

  it('trusts a server by the given CA only', async () => {
    const ca = makeCa()
    const certificate = ca.issue({ commonName: 'idp', ips: ['127.0.0.1'], server: true })
    const port = await listen(createHttpsServer(certificate, (_request, response) => void response.end('{}')))
    const request = { method: 'GET', url: `https://127.0.0.1:${port}/`, signal: never } as const
    expect(await systemMachine.request({ ...request, ca: ca.cert })).toEqual({ status: 200, body: '{}' })
    await expect(systemMachine.request({ ...request, ca: makeCa().cert })).rejects.toThrow(
      /unable to (?:verify|get local issuer)/,
    )
    await expect(systemMachine.request(request)).rejects.toThrow('unable to verify')
  })
})
