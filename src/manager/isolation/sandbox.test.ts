import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { here, patience } from '../../../test/isolated.ts'
import type { JsonObject } from '../../kube/json.ts'
import { openRunner } from './open-runner.ts'
import type { Canary } from './protocol.ts'
import { sandboxTrouble } from './sandbox.ts'

/** Machines by what their setpriv does, which is run first. What a real one does, test/real/isolation.test.ts looks at. */
const machines = {
  'has no util-linux': undefined,
  'has another setpriv': `echo "setpriv: unrecognized option '--pdeathsig'" >&2; exit 1`,
  'has no unshare': `echo 'setpriv: failed to execute unshare: No such file or directory' >&2; exit 127`,
  'forbids user namespaces': `echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1`,
  'ends it without a word': 'exit 9',
  'only pretends': 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
} as const

describe('a sandbox on a machine that', patience, () => {
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
  ] as const)('%s is refused, with cause and cure', async (machine, trouble) => {
    const options = { root, readable: [process.execPath], memoryMb: 1024, tools: toolsOf(machine) }
    expect(await sandboxTrouble(options, canary)).toBe(trouble)
    await expect(
      openRunner('process', { module: here('mischief/operator.ts'), tools: options.tools }),
    ).rejects.toMatchObject({ name: 'IsolationRefused', message: expect.stringContaining(trouble) as string })
  })

  it('only pretends is found out, and what got through is named', async () => {
    const options = { root, readable: [process.execPath], memoryMb: 1024, tools: toolsOf('only pretends') }
    const trouble = await sandboxTrouble(options, canary)
    expect(trouble).toContain(`its walls do not hold: files (${file})`)
    expect(trouble).toContain('signals, network')
  })

  it('forbids it runs an operator as a process only where that is allowed, and says so loudly', async () => {
    const lines: JsonObject[] = []
    const runner = await openRunner('process', {
      module: here('mischief/operator.ts'),
      tools: toolsOf('forbids user namespaces'),
      allowUnenforced: true,
      log: (line) => void lines.push(line),
    })
    await runner.close()
    expect(runner.operator.name).toBe('mischief')
    expect(lines).toContainEqual({
      isolation: 'process',
      warning: expect.stringMatching(/^NOT ISOLATED as asked for.*Operation not permitted/) as string,
    })
  })
})
