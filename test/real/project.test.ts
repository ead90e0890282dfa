/**
 * From nothing to a running operator, as a user goes: the package is packed, installed, makes a project, which installs the
 * package, passes its test, and serves a real cluster. Needs npm's registry.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, inject, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/connect.ts'
import type { Resource } from '../../src/kube/kind.ts'
import { Deployment } from '../../src/kube/kinds.ts'
import { emptyFolder } from '../project.ts'
import { apiOf } from './api.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
const quietly = ['--no-audit', '--no-fund', '--loglevel=error']

/** A group of its own for each run: the last one's may still be going. */
const group = `project-${Date.now().toString(36)}.example.com`
const shops: Resource = { group, version: 'v1alpha1', kind: 'Shop', plural: 'shops', namespaced: true }
const name = { name: 'project-suite', namespace: 'default' }

const levels = `
import { openRunner } from '@muster-dev/muster/manager'
for (const level of ['worker', 'process']) {
  try {
    const runner = await openRunner(level, { module: 'src/operator.ts' })
    console.log(level + ': ' + runner.operator.name)
    await runner.close()
  } catch (error) {
    console.log(level + ': ' + error.name)
  }
}
`

it('the packed package creates a project that passes its test and serves a cluster', { timeout: 600_000 }, async () => {
  const folder = await emptyFolder()
  await run('npm', ['pack', '--pack-destination', folder, '--loglevel=error'], { cwd: root })
  const [tarball = ''] = await readdir(folder)
  const tool = path.join(folder, 'tool')
  await mkdir(tool)
  await run('npm', ['install', ...quietly, '--prefix', '.', path.join(folder, tarball)], { cwd: tool })
  const muster = path.join(tool, 'node_modules', '.bin', 'muster')
  await run(muster, ['init', 'shop', '--group', group, '--muster', `file:../${tarball}`], { cwd: folder })

  const project = path.join(folder, 'shop')
  await run('npm', ['install', ...quietly], { cwd: project })
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { stdout } = await run('npm', ['test'], { cwd: project, env })
  expect(stdout).toContain('pass 1')
  // As CI systems start it: by the script, and by the target, which finds the package's command itself.
  for (const [starter, ...words] of [['npm', 'run'], ['make']] as const) {
    const tested = await run(starter, [...words, 'test-operator-integration'], { cwd: project, env })
    expect(tested.stdout).toContain('1 passed, 0 failed')
  }
  expect(await readdir(path.join(project, 'test-output'))).toContain('junit.xml')
  // The page of the console is there, ready to be served.
  const web = await readdir(path.join(project, 'node_modules', '@muster-dev', 'muster', 'dist', 'web'))
  expect(web.toSorted()).toEqual(['console.css', 'console.js', 'icon.svg', 'index.html', 'report-text.js'])
  // Its types are those of the build: a checkout is nowhere in sight.
  expect(await readdir(path.join(project, 'node_modules', '@muster-dev', 'muster'))).not.toContain('src')
  // The built package finds where a thread or a process of its own begins; a machine without namespaces has no sandboxed processes.
  await writeFile(path.join(project, 'levels.mjs'), levels)
  const opened = await run(process.execPath, ['levels.mjs'], { cwd: project })
  expect(opened.stdout).toMatch(/^worker: shop\nprocess: (?:shop|IsolationRefused)\n$/)

  const access = inject('cluster')
  const kubeconfig = path.join(folder, 'kubeconfig')
  await writeFile(kubeconfig, access.kubeconfig, { mode: 0o600 })
  const api = apiOf(access)
  onTestFinished(async () => {
    await api.call('DELETE', `/apis/apps/v1/namespaces/default/deployments/${name.name}`)
    await api.call('DELETE', `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shops.${group}`)
    api.close()
  })
  const own = path.join(project, 'node_modules', '.bin', 'muster')
  const operator = spawn(own, ['run', 'src/operator.ts', '--install'], {
    cwd: project,
    env: { ...env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void operator.kill('SIGKILL'))
  const [line] = (await once(createInterface({ input: operator.stdout }), 'line')) as [string]
  expect(line).toBe('shop is running')

  const client = await connect({ kubeconfig })
  onTestFinished(() => client.close())
  await client.create(shops, { apiVersion: `${group}/v1alpha1`, kind: 'Shop', metadata: name, spec: { replicas: 2 } })
  const watch = client.watch(Deployment, { ...name, fieldSelector: `metadata.name=${name.name}` })
  const made: (number | undefined)[] = []
  for await (const event of watch) {
    if (event.type !== 'ADDED') continue
    made.push(event.object.spec?.replicas)
    break
  }
  expect(made).toEqual([2])
  const ended = once(operator, 'exit')
  operator.kill('SIGTERM')
  expect(((await ended) as [number | null])[0]).toBe(0)
})
