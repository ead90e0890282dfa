/** Programs in real sandboxes: network namespaces of this machine, where it has some. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock as clock } from '../../src/clock/system-clock.ts'
import { type EgressProxy, openEgressProxy } from '../../src/contract/external/egress-proxy.ts'
import {
  type Ended,
  programSandboxProblem,
  runProgram,
  type ProgramRunOptions,
  checkSandbox,
} from '../../src/contract/external/program.ts'
import { askProgram } from '../../src/contract/external/program-run.ts'
import { openProgramFolder } from '../../src/contract/external/programs-folder.ts'

const sh = (script: string, options: Partial<ProgramRunOptions> = {}): Promise<Ended> =>
  runProgram({ program: { command: '/bin/sh', args: ['-c', script] }, clock, ...options }, [])
const node = (code: string, options: Partial<ProgramRunOptions> = {}): Promise<Ended> =>
  runProgram({ program: { command: process.execPath, args: ['-e', code] }, clock, ...options }, [])

/** The port of a server on loopback. */
async function listening(): Promise<number> {
  const server = createServer((_request, response) => response.end('hello'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as { readonly port: number }).port
}

async function egress(allow: readonly string[]): Promise<{ readonly proxy: EgressProxy; readonly socket: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-egress-'))
  const socket = path.join(folder, 's')
  const proxy = await openEgressProxy(socket, { allow, operator: 'x' })
  onTestFinished(async () => {
    await proxy.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { proxy, socket }
}

const get = (target: string, through: string): string => `
require('node:http').get(${JSON.stringify(through)}, { path: ${JSON.stringify(target)} }, (answer) => {
  console.log(answer.statusCode)
  answer.pipe(process.stdout)
}).on('error', (error) => console.log(error.code))`

describe('an operator program', () => {
  it('has no network: listeners on this machine are unreachable', async () => {
    expect(await programSandboxProblem(clock)).toBeUndefined()
    const port = await listening()
    const url = `http://127.0.0.1:${port}/`
    expect((await node(get('/', url))).stdout).not.toContain('hello')
    // The same, where it has one.
    expect((await node(get('/', url), { network: 'open' })).stdout).toContain('hello')
  })

  it('gets the given environment, and nothing of the manager’s', async () => {
    process.env['MUSTER_TEST_TOKEN'] = 'hush'
    onTestFinished(() => void delete process.env['MUSTER_TEST_TOKEN'])
    const program = { command: '/bin/sh', args: ['-c', 'env'], env: { OWN: 'mine' } }
    for (const network of ['cut', 'open'] as const) {
      const { stdout } = await runProgram({ program, clock, network }, [])
      expect(stdout).toContain('OWN=mine')
      expect(stdout).not.toContain('hush')
    }
  })

  it('cannot see the manager’s kubeconfig', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-program-'))
    const file = path.join(folder, 'kubeconfig')
    writeFileSync(file, 'hush')
    const before = process.env['KUBECONFIG']
    process.env['KUBECONFIG'] = file
    onTestFinished(() => {
      rmSync(folder, { recursive: true, force: true })
      if (before === undefined) delete process.env['KUBECONFIG']
      else process.env['KUBECONFIG'] = before
    })
    // Put together there, so that the path is no word that it was given.
    const read = `cat "${folder}"/kube"config"`
    expect((await sh(read)).stderr).toContain('No such file')
    expect(await sh(read, { network: 'open' })).toMatchObject({ stdout: 'hush' })
    // In a folder that it may read, too.
    chmodSync(folder, 0o755)
    const program = { command: '/bin/sh', args: ['-c', read], readable: [folder] }
    expect((await runProgram({ program, clock }, [])).stderr).toContain('Permission denied')
  })

  it('sees its own files and nothing of other programs, and cannot connect to a socket of the machine', async () => {
    const [own, other] = [openProgramFolder('own'), openProgramFolder('other')]
    const away = mkdtempSync(path.join(tmpdir(), 'muster-away-'))
    onTestFinished(() => [own, other, away].forEach((folder) => rmSync(folder, { recursive: true, force: true })))
    for (const folder of [own, away]) chmodSync(folder, 0o755)
    writeFileSync(path.join(own, 'mine'), 'mine')
    writeFileSync(path.join(other, 'user-workload.kubeconfig'), 'hush')
    for (const folder of [other, away]) {
      const server = createServer((_request, response) => response.end('hello'))
      const where = { path: path.join(folder, 'egress.sock'), readableAll: true, writableAll: true }
      await new Promise<void>((resolve) => server.listen(where, resolve))
      onTestFinished(() => void server.close())
    }
    const code = `
const path = require('node:path'), fs = require('node:fs'), http = require('node:http')
const [own, ...others] = ${JSON.stringify([own, other, away])}
const file = (place) => { try { return fs.readFileSync(place, 'utf8') } catch (error) { return error.code } }
const ask = (socketPath) => new Promise((resolve) => http
  .get({ socketPath, path: '/' }, (answer) => answer.on('data', (text) => resolve(String(text))))
  .on('error', ({ code }) => resolve(code)))
Promise.all(others.map((folder) => ask(folder + '/egress.sock'))).then((heard) => console.log(JSON.stringify([
  fs.readdirSync(path.dirname(own)).length, file(own + '/mine'), file(others[0] + '/user-workload.kubeconfig'), ...heard,
])))`
    const run = async (network: 'cut' | 'open'): Promise<readonly unknown[]> => {
      // The folder of one socket it may even read.
      const program = { command: process.execPath, args: ['-e', code], readable: [away] }
      const { stdout } = await runProgram({ program, clock, readOnly: own, network }, [])
      return JSON.parse(stdout) as readonly unknown[]
    }
    expect(await run('cut')).toEqual([1, 'mine', 'ENOENT', 'ENOENT', 'ECONNREFUSED'])
    expect((await run('open')).slice(1)).toEqual(['mine', 'hush', 'hello', 'hello'])
  })

  it('reads its inputs and cannot change them', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-program-'))
    chmodSync(folder, 0o755)
    writeFileSync(path.join(folder, 'input'), 'as it was')
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const script = `cat ${folder}/input; echo changed >${folder}/input; rm -f ${folder}/input; cat ${folder}/input`
    expect((await sh(script, { readOnly: folder })).stdout).toBe('as it was'.repeat(2))
  })

  it('is killed at its time limit, with all its child processes', async () => {
    const { problem, code } = await sh('setsid sleep 1000 & sleep 1000', { limits: { timeoutMs: 300 } })
    expect(problem).toBe('it did not end within 300 ms')
    expect(code).toBeUndefined()
  })

  it('leaves no process running', async () => {
    // The pipes stay open as long as a process holds them: so the call returns only if none is left.
    expect(await sh('setsid sleep 1000 & echo done')).toMatchObject({ code: 0, stdout: 'done\n', problem: undefined })
  })

  it('is killed at its memory limit, with a message that says so', async () => {
    const code = `console.log('started')
const all = []
while (all.length < 80) all.push(Buffer.alloc(1e7, 1))
console.log('done')`
    expect(await node(code, { limits: { memoryMb: 2048 } })).toMatchObject({ code: 0, stdout: 'started\ndone\n' })
    const limits = { memoryMb: 600 }
    const greedy = await node(code, { limits })
    expect(greedy.stdout).toBe('started\n')
    expect(greedy.code).not.toBe(0)
    const hosted = { program: { command: process.execPath, args: ['-e', code] }, limits }
    const around = { name: 'x', clock, signal: new AbortController().signal }
    await expect(askProgram('input-resources', hosted, around, (value) => value)).rejects.toThrow(
      /^x input-resources: it ran out of memory, and may have 600 MiB for each process \(program\.memory\): /,
    )
  })

  it('may print, truncated at a limit; its exit is reported', async () => {
    const loud = await sh('yes | head -c 3000000', { limits: { printedBytes: 1000 } })
    expect(loud.stdout.length).toBeLessThan(200_000)
    expect(await sh('exit 7')).toMatchObject({ code: 7, problem: undefined })
    const none = await runProgram({ program: { command: '/no/such/program' }, clock, network: 'open' }, [])
    expect(none.problem).toMatch(/does not start/)
  })

  it('in live mode reaches listed origins through its proxy only; other attempts are recorded', async () => {
    const port = await listening()
    const other = await listening()
    const { proxy, socket } = await egress([`127.0.0.1:${port}`, '*.example.com:8443'])
    const network = { egress: socket }
    const through = (target: string): Promise<Ended> =>
      node(`const proxy = process.env.HTTP_PROXY\n${get(target, 'PROXY').replace('"PROXY"', 'proxy')}`, { network })
    expect((await through(`http://127.0.0.1:${port}/`)).stdout).toBe('200\nhello')
    expect((await through(`http://127.0.0.1:${other}/`)).stdout).toBe('403\n')
    expect((await node(get('/', `http://127.0.0.1:${port}/`), { network })).stdout).toBe('ECONNREFUSED\n')
    expect(proxy.refused).toEqual([
      { operator: 'x', target: `127.0.0.1:${other}`, message: `x tried to reach 127.0.0.1:${other}.` },
    ])
  })

  it('in live mode has proxy variables that it cannot override', async () => {
    const port = await listening()
    const other = await listening()
    const { socket, proxy } = await egress([`127.0.0.1:${port}`])
    const code = `const { HTTP_PROXY, HTTPS_PROXY, NO_PROXY, http_proxy, https_proxy, no_proxy } = process.env
console.log(JSON.stringify([HTTP_PROXY, HTTPS_PROXY, NO_PROXY, http_proxy, https_proxy, no_proxy]))
const get = (url) => fetch(url).then((answer) => (answer.ok ? answer.text() : 'refused'), () => 'refused')
get('http://127.0.0.1:${port}/').then(console.log).then(() => get('http://127.0.0.1:${other}/')).then(console.log)`
    // Neither a list of exceptions nor a proxy of its own: it has no other network.
    const env = { NODE_USE_ENV_PROXY: '1', NO_PROXY: '*', no_proxy: '127.0.0.1', HTTP_PROXY: 'http://127.0.0.1:9' }
    const program = { command: process.execPath, args: ['-e', code], env }
    const { stdout, stderr, problem } = await runProgram({ program, clock, network: { egress: socket } }, [])
    expect([problem, stderr]).toEqual([undefined, ''])
    const by = 'http://127.0.0.1:3128'
    expect(stdout.split('\n')).toEqual([JSON.stringify([by, by, '', by, by, '']), 'hello', 'refused', ''])
    expect(proxy.refused.map(({ target }) => target)).toEqual([`127.0.0.1:${other}`])
  })

  it('is not hosted when the self-check finds network access', async () => {
    expect(await checkSandbox(clock)).toBeUndefined()
    expect(await checkSandbox(clock, 'open')).toMatch(/^the sandbox leaks: files \(.*signals, network, sockets$/)
  })

  it('cannot have an invalid allow-list', async () => {
    await expect(egress(['https://x/'])).rejects.toThrow(/no address/)
  })
})
