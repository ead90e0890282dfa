/** What README tells a reader to type about a manager of many, typed as it stands there. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder, install } from '../../../test/project.ts'
import start from '../cluster/start.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

it('README’s muster.yaml runs with README’s KUBECONFIG in the folder of the manager', { timeout: 60_000 }, async () => {
  const folder = await emptyFolder()
  await install(folder)
  for (const name of ['memcached', 'database'])
    cpSync(path.join(root, 'examples', name), path.join(folder, 'examples', name), { recursive: true })
  const readme = readFileSync(path.join(root, 'README.md'), 'utf8')
  const [, yaml = ''] = /^```yaml\n(# muster\.yaml\n[^]*?)^```$/m.exec(readme) ?? []
  expect(yaml).toContain('isolation: worker')
  writeFileSync(path.join(folder, 'muster.yaml'), yaml)
  const [, kubeconfig = ''] = /^ +export KUBECONFIG=(\S+)$/m.exec(readme) ?? []
  expect(readme).toContain('bin/muster run -f muster.yaml --install')

  const stop = new AbortController()
  const ready = Promise.withResolvers<string>()
  const flags = { 'kubeconfig-out': path.join(folder, kubeconfig), nodes: '0' }
  const cluster = start.run({ flags, positionals: [], out: ready.resolve, err: ready.reject, signal: stop.signal })
  onTestFinished(async () => {
    stop.abort()
    await cluster
  })
  await ready.promise

  const words = [
    '--conditions=muster-source',
    path.join(root, 'src', 'cli', 'main.ts'),
    'run',
    '-f',
    'muster.yaml',
    '--install',
  ]
  // Others that run on this machine may have the usual ports, and may delay a renewal of the lease.
  const free = [
    'health.port=0',
    'metrics.port=0',
    'leaderElection.leaseDuration=10m',
    'leaderElection.renewDeadline=5m',
  ]
  const settings = free.flatMap((setting) => ['--set', setting])
  const env = { ...process.env, KUBECONFIG: kubeconfig }
  const manager = spawn(process.execPath, [...words, ...settings], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void manager.kill('SIGKILL'))
  const problems: string[] = []
  createInterface({ input: manager.stderr }).on('line', (line) => {
    if (line.includes('"level":"warn"') || line.includes('"level":"error"')) problems.push(line)
  })
  const [line] = (await once(createInterface({ input: manager.stdout }), 'line')) as [string]
  expect({ line, problems }).toEqual({
    line: '2 operators run when this replica leads: database, memcached',
    problems: [],
  })
  const ended = once(manager, 'close')
  manager.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})
