import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { embedded } from '../../../test/embedded.ts'
import type { JsonObject } from '../../kube/json.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import type { Settings } from '../../manager/config/settings.ts'
import { createLoader, type Loader } from '../../manager/loading/loader.ts'
import { startRuntime } from '../../manager/runtime/runtime.ts'
import { defineController } from '../../operator/controller.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { programLoader, type ProgramLoaderOptions } from './load-program.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'muster-load-'))
  await writeFile(path.join(folder, 'tool.sh'), '#!/bin/sh\n', { mode: 0o755 })
  return () => rm(folder, { recursive: true, force: true })
})

const settingsOf = (section: JsonObject): Settings =>
  readConfiguration([{ source: 'test', value: { operators: { tool: section } } }]).settings

function loading(options: ProgramLoaderOptions = {}): Loader {
  const loader = createLoader({ folder, programs: programLoader({ canary: none, ...options }) })
  onTestFinished(() => loader.close())
  return loader
}
/** Nothing keeps the network from being cut off. */
const none = (): Promise<undefined> => Promise.resolve(undefined)

describe('a program in the configuration', () => {
  it('is an operator with the name of its section, hosted as a program; its file is relative to the configuration', async () => {
    const { operators } = settingsOf({ program: { command: './tool.sh' } })
    const { operator, host } = await loading().load('tool', operators['tool']!)
    expect([operator.name, operator.controllers, typeof host]).toEqual(['tool', [], 'function'])
  })

  it('is rejected with the path of its setting where it is missing or not executable, also by muster config', async () => {
    const loader = loading()
    const missing = settingsOf({ program: { command: './tol.sh' } })
    await expect(loader.load('tool', missing.operators['tool']!)).rejects.toThrow(
      /^operators.tool.program: .*tol.sh: there is no such file/,
    )
    await chmod(path.join(folder, 'tool.sh'), 0o644)
    const plain = settingsOf({ program: { command: './tool.sh' } })
    await expect(loader.load('tool', plain.operators['tool']!)).rejects.toThrow(/may not be executed/)
    const problems: string[] = []
    const looking = createLoader({ folder, onProblem: (_, { message }) => void problems.push(message) })
    expect(await looking.declared(plain)).toEqual([])
    expect(problems).toEqual([expect.stringMatching(/^operators.tool.program.command: .*chmod/)])
    // A loader without a program host says so.
    await expect(looking.load('tool', plain.operators['tool']!)).rejects.toThrow(/programs are not hosted here/)
  })

  it('is rejected where its network cannot be isolated, with a clear message, unless allowed', async () => {
    const canary = (): Promise<string> => Promise.resolve('no namespaces can be made (unshare failed)')
    const program = { command: './tool.sh' }
    const load = (section: JsonObject): Promise<unknown> =>
      loading({ canary }).load('tool', settingsOf(section).operators['tool']!)
    await expect(load({ program })).rejects.toThrow(
      expect.objectContaining({
        code: 'MUS2004',
        message: expect.stringMatching(
          /^operators\.tool\.program: tool: no namespaces can be made \(unshare failed\)\. With allowUnenforced: true /,
        ) as string,
      }) as Error,
    )
    await expect(load({ program, allowUnenforced: true })).resolves.toMatchObject({ operator: { name: 'tool' } })
  })

  it('that is rejected is reported in the log and in the health of its manager, and affects no other operator', async () => {
    const { client } = embedded()
    const loader = loading({ canary: () => Promise.resolve('no namespaces can be made') })
    const other = defineOperator({ name: 'other', controllers: [defineController({ for: ConfigMap })] })
    const lines: JsonObject[] = []
    const value = { operators: { tool: { program: { command: './tool.sh' } }, other: {} } }
    const runtime = startRuntime({
      settings: readConfiguration([{ source: 'test', value }]).settings,
      identity: 'one',
      local: { client, as: () => client },
      reach: () => Promise.reject(new Error('there is one cluster')),
      load: async (name, section) => (name === 'other' ? { operator: other } : await loader.load(name, section)),
      log: (line) => void lines.push(line),
    })
    onTestFinished(() => runtime.stop())
    await runtime.settled()
    const states = runtime.assignments().map(({ id, state }) => [id, state])
    expect(states).toEqual([
      ['other', 'active'],
      ['tool', 'failed'],
    ])
    const problem = 'operators.tool.program: tool: no namespaces can be made.'
    expect(lines).toContainEqual(
      expect.objectContaining({
        operator: 'tool',
        error: expect.stringContaining(problem) as string,
        retryAfterMs: 1000,
      }),
    )
    expect(runtime.health()).toMatchObject({ isReady: true, warnings: [expect.stringContaining(problem)] })
  })
})
