/**
 * A hostile program tries more than a hundred ways to reach, read, change or use up what is not its own, in the sandbox of this
 * machine: as a program of the contract and as an operator at the level `process`; as the user of this process and, where that is
 * root, as an ordinary user, too. Where the machine has no sandbox, a program is refused.
 */
import { spawn } from 'node:child_process'
import { chmodSync, closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { inherited, type Report, secret } from '../../../test/contract/hostile/situation.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { programSandboxProblem } from './program.ts'

const harness = fileURLToPath(new URL('../../../test/contract/hostile/run.ts', import.meta.url))
const nobody = 65_534
const isRoot = process.getuid?.() === 0
const problem = await programSandboxProblem(systemClock)

type Way = 'program' | 'process' | 'control'

/** In a process of its own, with a descriptor that it inherits and a secret in its environment. */
async function hostile(way: Way, uid: number | undefined): Promise<Report> {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-inherited-'))
  writeFileSync(path.join(folder, 'descriptor'), secret)
  const descriptor = openSync(path.join(folder, 'descriptor'), 'r')
  const stdio = Array.from({ length: inherited }, (_, fd) => (fd === 1 || fd === 2 ? 'pipe' : 'ignore'))
  const child = spawn(process.execPath, ['--conditions=muster-source', harness, way], {
    stdio: [...stdio, descriptor],
    env: { PATH: process.env['PATH'], MANAGER_TOKEN: secret },
    ...(uid !== undefined && { uid, gid: uid }),
  })
  const printed = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) child[name]?.on('data', (text) => (printed[name] += String(text)))
  await new Promise((resolve) => void child.on('close', resolve))
  closeSync(descriptor)
  rmSync(folder, { recursive: true })
  if (!printed.stdout.startsWith('{')) throw new Error(`${way}: ${printed.stderr}`)
  return JSON.parse(printed.stdout) as Report
}

describe.skipIf(problem !== undefined)('a hostile program', { timeout: 120_000 }, () => {
  const users = isRoot ? [undefined, nobody] : [undefined]
  const cases = (['program', 'process', 'control'] as const).flatMap((way) => users.map((uid) => [way, uid] as const))
  const reports = new Map<string, Report>()
  const reportOf = (way: Way, uid: number | undefined): Report => reports.get(`${way} ${uid}`)!
  beforeAll(async () => {
    await Promise.all(cases.map(async ([way, uid]) => reports.set(`${way} ${uid}`, await hostile(way, uid))))
  }, 120_000)

  it.each(users)('achieves nothing as a program of the contract (uid %s)', (uid) => {
    const { memory, ...report } = reportOf('program', uid)
    expect(report).toEqual({ uid: uid ?? process.getuid?.(), tried: expect.any(Number) as number, done: [], left: [] })
    expect(report.tried).toBeGreaterThan(100)
    // Where this process may make control groups, memory is counted whatever its kind. The kernel kills what wants too much of it, or
    // now and then lets it wait for memory that never comes, until its time is over.
    for (const ending of Object.values(memory ?? {}))
      expect(ending).toMatch(/^(all its processes together ran out of memory|it did not end within 60000 ms)$/)
  })

  it.each(users)('achieves nothing at the level process, without the permission model (uid %s)', (uid) => {
    expect(reportOf('process', uid)).toMatchObject({ done: [], left: [] })
    expect(reportOf('process', uid).tried).toBe(reportOf('program', uid).tried)
  })

  it.each(users)('succeeds without the sandbox, so that its failure is a proof (uid %s)', (uid) => {
    const { tried, done, left } = reportOf('control', uid)
    expect(left).toEqual(['a process', 'a setuid file', 'what it wrote to a pipe'])
    expect(tried).toBeGreaterThan(25)
    expect(done).toHaveLength(tried)
  })
})

/** Starts a program, and a process in the sandbox of the level `process`, which sleep for so long that their time tells them apart. */
const sleeping = (seconds: string): string => `
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { systemClock as clock } from ${JSON.stringify(new URL('../../clock/system-clock.ts', import.meta.url).href)}
import { runProgram } from ${JSON.stringify(new URL('program.ts', import.meta.url).href)}
import { sandboxed } from ${JSON.stringify(new URL('../../manager/isolation/sandbox/sandbox.ts', import.meta.url).href)}
const output = mkdtempSync(process.env.TMPDIR + '/output-')
const sleep = ['/bin/sleep', '${seconds}']
void runProgram({ program: { command: sleep[0], args: [sleep[1]] }, limits: { timeoutMs: 1e6 }, output, clock }, [])
const { command: [program, ...words], env } = sandboxed({ root: mkdtempSync(output + '/root-'), readable: [], memoryMb: 100 }, sleep)
spawn(program, words, { env, stdio: 'ignore' })
`

const processesThat = (words: string): number =>
  readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === words
    } catch {
      return false
    }
  }).length

describe.skipIf(problem !== undefined)('a sandboxed process', { timeout: 60_000 }, () => {
  it.each(isRoot ? [undefined, nobody] : [undefined])('ends when its manager is killed (uid %s)', async (uid) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-orphans-'))
    chmodSync(folder, 0o777)
    const seconds = `86400.${process.pid}${uid ?? 0}`
    const words = `/bin/sleep\0${seconds}\0`
    const manager = spawn(
      process.execPath,
      ['--conditions=muster-source', '--input-type=module', '-e', sleeping(seconds)],
      {
        stdio: 'ignore',
        env: { PATH: process.env['PATH'], TMPDIR: folder },
        ...(uid !== undefined && { uid, gid: uid }),
      },
    )
    try {
      await vi.waitFor(() => expect(processesThat(words)).toBe(2), { timeout: 30_000 })
      manager.kill('SIGKILL')
      await vi.waitFor(() => expect(processesThat(words)).toBe(0), { timeout: 30_000 })
    } finally {
      manager.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe.runIf(problem !== undefined)('a program, where sandboxes are unavailable', () => {
  it('is rejected, with what is missing', () => {
    expect(problem).toMatch(/^(?:no sandbox can be built|there are no namespaces|the manager runs as root without)/)
  })
})
