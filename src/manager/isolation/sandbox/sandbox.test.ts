import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { here, slowTest } from '../../../../test/misbehaving-guests.ts'
import type { JsonObject } from '../../../kube/json.ts'
import { openRunner } from '../open-runner.ts'
import type { Canary } from '../protocol/protocol.ts'
import { machineProblem, sandboxed, sandboxProblem, signalOf, canaryProblem } from './sandbox.ts'

/** Machines by what their setpriv does, which is run first. What a real one does, test/real/isolation.test.ts looks at. */
const machines = {
  'has no util-linux': undefined,
  'has another setpriv': `echo "setpriv: unrecognized option '--pdeathsig'" >&2; exit 1`,
  'has no unshare': `echo 'setpriv: failed to execute unshare: No such file or directory' >&2; exit 127`,
  'forbids user namespaces': `echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1`,
  'ends it without a word': 'exit 9',
  'only pretends': 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
} as const

describe('a sandbox on a machine that', slowTest, () => {
  const home = mkdtempSync(path.join(tmpdir(), 'muster-sandbox-'))
  const root = mkdtempSync(path.join(home, 'root-'))
  const file = path.join(home, 'secret')
  let server: Server
  let canary: Canary
  beforeAll(async () => {
    writeFileSync(file, 'secret')
    server = createServer((socket) => socket.destroy())
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    canary = { port: (server.address() as { readonly port: number }).port, files: [file] }
  })
  afterAll(() => {
    server.close()
    rmSync(home, { recursive: true })
  })

  const toolsOf = (machine: keyof typeof machines): string => {
    const tools = mkdtempSync(path.join(home, 'tools-'))
    const does = machines[machine]
    if (does !== undefined) writeFileSync(path.join(tools, 'setpriv'), `#!/bin/sh\n${does}\n`, { mode: 0o755 })
    return tools
  }

  it.each([
    ['has no util-linux', 'no sandbox can be built (spawn setpriv ENOENT); install util-linux'],
    ['has another setpriv', "no sandbox can be built (setpriv: unrecognized option '--pdeathsig'); install util-linux"],
    [
      'has no unshare',
      'no sandbox can be built (setpriv: failed to execute unshare: No such file or directory); install util-linux',
    ],
    [
      'forbids user namespaces',
      'no sandbox can be built (unshare: unshare failed: Operation not permitted); allow unprivileged user namespaces here (sysctl, AppArmor, the seccomp profile of a container), or choose the level worker',
    ],
    [
      'ends it without a word',
      'no sandbox can be built (exit code 9); allow unprivileged user namespaces here (sysctl, AppArmor, the seccomp profile of a container), or choose the level worker',
    ],
  ] as const)('%s is rejected, with cause and cure', async (machine, problem) => {
    const options = { root, readable: [process.execPath], memoryMb: 1024, tools: toolsOf(machine) }
    expect(await sandboxProblem(options, canary)).toBe(problem)
    await expect(
      openRunner('process', { module: here('misbehaving-guest/operator.ts'), tools: options.tools }),
    ).rejects.toMatchObject({ name: 'IsolationRefused', message: expect.stringContaining(problem) as string })
  })

  it('that leaks is detected, with the name of the leak', async () => {
    const options = { root, readable: [process.execPath], memoryMb: 1024, tools: toolsOf('only pretends') }
    const problem = await sandboxProblem(options, canary)
    expect(problem).toContain(`the sandbox leaks: files (${file})`)
    expect(problem).toContain('signals, network')
  })

  it('forbids it runs an operator as a process only with permission, and warns', async () => {
    const lines: JsonObject[] = []
    const runner = await openRunner('process', {
      module: here('misbehaving-guest/operator.ts'),
      tools: toolsOf('forbids user namespaces'),
      allowUnenforced: true,
      log: (line) => void lines.push(line),
    })
    await runner.close()
    expect(runner.operator.name).toBe('misbehaving')
    expect(lines).toContainEqual({
      level: 'warn',
      isolation: 'process',
      msg: expect.stringContaining('NOT ISOLATED') as string,
      error: expect.stringContaining('Operation not permitted') as string,
    })
  })
})

describe('building a sandbox', () => {
  const options = { root: '/nowhere', readable: [process.execPath], memoryMb: 100 }

  it('does not use the variables of the sandboxed program', () => {
    const environment = { LD_PRELOAD: '/own/library.so', PATH: '/own/bin', ENV: '/own/start' }
    const { command, env } = sandboxed({ ...options, environment }, ['/own/program'])
    expect(env).toEqual({
      MUSTER_GIVEN_LD_PRELOAD: '/own/library.so',
      MUSTER_GIVEN_PATH: '/own/bin',
      MUSTER_GIVEN_ENV: '/own/start',
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    })
    // Nor are their values among its words, which every user of the machine can read.
    expect(command.some((word) => word.includes('/own/library.so'))).toBe(false)
  })

  it('mounts folders through an overlay, and the system unchanged', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-shown-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const { command } = sandboxed({ ...options, readable: [folder, process.execPath] }, ['/own/program'])
    const deedOf = (place: string): string | undefined => command[command.indexOf(place) - 1]
    expect([deedOf(folder), deedOf(process.execPath), deedOf('/usr')]).toEqual(['view', 'bind', 'bind'])
  })

  it.each([
    ['ip: not found', 'install iproute2'],
    ['setpriv: setresuid failed: Invalid argument', 'the manager is root of a user namespace without further uids'],
    ['mount: overlay: wrong fs type', 'it needs overlayfs, and for an ordinary user Linux 5.11 or later'],
  ])('that fails with “%s” is reported with its cure', (failure, cure) => {
    expect(canaryProblem('', failure)).toContain(`no sandbox can be built (${failure}); ${cure}`)
  })

  it('is rejected for a root manager that cannot change its uid', () => {
    const isRoot = process.getuid?.() === 0
    if (!isRoot || process.platform !== 'linux' || machineProblem() !== undefined) return
    const module = new URL('sandbox.ts', import.meta.url).href
    const code = `import(${JSON.stringify(module)}).then(({ machineProblem }) => console.log(machineProblem()))`
    const words = ['--bounding-set=-sys_admin', process.execPath, '--conditions=muster-source', '-e', code]
    const { stdout } = spawnSync('setpriv', words, { encoding: 'utf8' })
    expect(stdout).toBe(
      'the manager runs as root without CAP_SYS_ADMIN, and cannot give its uid away; run it as another user\n',
    )
  })

  it('derives the signal from the exit code of the shell', () => {
    expect([137, 139].map(signalOf)).toEqual(['SIGKILL', 'SIGSEGV'])
    expect([1, null].map(signalOf)).toEqual([undefined, undefined])
  })
})
