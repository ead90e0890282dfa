/** What `muster up` tells a newcomer to type works as it is printed, in a shell, with the stock kubectl. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, symlink } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { realKubectl } from '../../scripts/real-binaries.ts'
import { emptyFolder } from '../project.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

it('prints commands that work', async () => {
  const folder = await emptyFolder()
  const bin = path.join(folder, 'bin')
  await mkdir(bin)
  await symlink(await realKubectl(), path.join(bin, 'kubectl'))
  const up = spawn(process.execPath, ['--conditions=muster-source', main, 'up', '--memory'], { cwd: folder })
  onTestFinished(() => void up.kill('SIGKILL'))
  const lines: string[] = []
  const seen = new Map<string, () => void>()
  createInterface({ input: up.stdout }).on('line', (line) => {
    lines.push(line)
    for (const [part, resolve] of seen) if (line.includes(part)) resolve()
  })
  const said = (part: string): Promise<void> =>
    new Promise((resolve) => {
      seen.set(part, resolve)
      if (lines.some((line) => line.includes(part))) resolve()
    })
  await said('at rest')
  const commands = lines.filter((line) => /^ {2}(?:export|kubectl|echo) /.test(line))
  expect(commands).toHaveLength(9)
  const [use = '', patch = '', scale = '', ...others] = commands
  const [installed, [switched = '', listed = '', grown = '']] = [others.slice(0, -3), others.slice(-3)]
  const env = { HOME: folder, PATH: `${bin}:${process.env['PATH']}` }
  const shell = async (command: string): Promise<string> =>
    (await promisify(execFile)('sh', ['-c', `${use}\n${command}`], { cwd: folder, env })).stdout
  expect(await shell(patch)).toContain('memcached.cache.example.com/sample patched')
  await said('updated deployment (spec.replicas)')
  expect(await shell(scale)).toContain('deployment.apps/sample scaled')
  await said('corrected deployment (spec.replicas)')
  expect(await shell('kubectl get deployment sample -o jsonpath={.spec.replicas}')).toBe('5')
  for (const command of installed)
    expect(await shell(command)).toContain('installation.platform.muster.dev/shop patched')
  expect(await shell(switched)).toContain('platform.platform.muster.dev/default patched')
  expect(await shell(listed)).toMatch(/^NAME .*\nlarge +Suspended +.* InsufficientNodes +\w+\ntraining +\w/)
  expect(await shell(grown)).toBe('node/large-node created\n')
  await said('workloads default/large: created Job default/large')
  const ended = once(up, 'close')
  up.kill('SIGINT')
  expect(await ended).toEqual([0, null])
})
