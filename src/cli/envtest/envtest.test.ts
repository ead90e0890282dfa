import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { freePort } from '../../../test/free-port.ts'
import command from './envtest.ts'

async function envtest(
  flags: Readonly<Record<string, string>> = {},
  positionals: readonly string[] = [],
): Promise<string> {
  const lines: string[] = []
  const out = (line: string): void => void lines.push(line)
  expect(await command.run({ flags, positionals, out, err: out, signal: AbortSignal.abort() })).toBe(0)
  expect(lines).toHaveLength(1)
  return lines[0]!
}

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-envtest-'))
  onTestFinished(() => {
    chmodSync(folder, 0o700)
    rmSync(folder, { recursive: true })
  })
  return folder
}

function withVariables(changed: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(changed)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
}

/** Resolves with the first line of its standard error. */
async function firstWords(child: ChildProcess): Promise<string> {
  const [line] = (await once(createInterface({ input: child.stderr! }), 'line')) as [string]
  return line
}

describe('muster envtest', () => {
  it("prints a folder in the user's cache, the same one again, or the requested one", async () => {
    const cache = newFolder()
    withVariables({ XDG_CACHE_HOME: cache })
    const folder = await envtest()
    expect(path.dirname(folder)).toBe(path.join(cache, 'muster', 'envtest'))
    expect(await envtest()).toBe(folder)
    for (const name of ['kube-apiserver', 'etcd', 'kubectl'])
      expect(statSync(path.join(folder, name)).mode & 0o111).toBe(0o111)
    const own = path.join(cache, 'own', 'bin')
    expect(await envtest({ dir: own })).toBe(own)
    expect(statSync(path.join(own, 'kubectl')).isFile()).toBe(true)
  })

  it('uses another folder where the cache is unwritable', async () => {
    const folder = newFolder()
    withVariables({ XDG_CACHE_HOME: '/proc/nowhere', TMPDIR: folder })
    expect(path.dirname(path.dirname(await envtest()))).toBe(path.join(folder, `muster-${process.getuid?.()}`))
    withVariables({ TMPDIR: '/proc/nowhere' })
    await expect(envtest()).rejects.toMatchObject({ name: 'OutputUnwritable' })
    await expect(envtest({ dir: '/proc/nowhere/bin' })).rejects.toMatchObject({ name: 'OutputUnwritable' })
    await expect(envtest({}, ['use'])).rejects.toMatchObject({ name: 'InvalidFlag' })
  })

  it('creates programs that exit with 0 on SIGTERM, and with an error otherwise', async () => {
    const folder = await envtest({ dir: path.join(newFolder(), 'bin') })
    const port = await freePort()
    const words = [`--secure-port=${port}`, '--authorization-mode=RBAC']
    const server = spawn(path.join(folder, 'kube-apiserver'), words, { stdio: ['ignore', 'ignore', 'pipe'] })
    onTestFinished(() => void server.kill('SIGKILL'))
    expect(await firstWords(server)).toBe(`Serving securely on 127.0.0.1:${port}`)
    const second = spawn(path.join(folder, 'kube-apiserver'), words, { stdio: ['ignore', 'ignore', 'pipe'] })
    const [line, [code]] = await Promise.all([firstWords(second), once(second, 'exit')])
    expect(line).toMatch(new RegExp(`^MUS\\d+ \\w+: port ${port}: another program uses it`))
    expect(code).toBe(1)
    server.kill('SIGTERM')
    expect(await once(server, 'exit')).toEqual([0, null])
  })

  it('creates programs that end when their parent process is killed', async () => {
    const folder = await envtest({ dir: path.join(newFolder(), 'bin') })
    const port = await freePort()
    // The parent prints the id of the program that it started, and waits.
    const script = `"$0" "$1" 2>/dev/null & echo $! >&2; wait`
    const words = ['-c', script, path.join(folder, 'etcd'), `--listen-client-urls=http://127.0.0.1:${port}`]
    const parent = spawn('/bin/sh', words, { stdio: ['ignore', 'ignore', 'pipe'] })
    const pid = Number(await firstWords(parent))
    const healthy = async (): Promise<boolean> =>
      await fetch(`http://127.0.0.1:${port}/health`).then(
        ({ ok }) => ok,
        () => false,
      )
    await expect.poll(healthy, { timeout: 10_000 }).toBe(true)
    parent.kill('SIGKILL')
    await expect.poll(healthy, { timeout: 10_000 }).toBe(false)
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false)
  })
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
