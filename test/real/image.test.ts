/**
 * The images of the Containerfiles, built by buildah and run by runc: read-only, without capabilities, as a user without rights. That
 * of a project hosts its operator on a real API server, as the service account of its manifests. Needs npm's registry.
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { containersUnusable, realContainers, type RealContainers } from '../../scripts/real-containers.ts'
import { connect } from '../../src/client/connect.ts'
import { imageUser } from '../../src/deploy/image.ts'
import type { JsonObject } from '../../src/kube/json.ts'
import type { Resource } from '../../src/kube/kind.ts'
import { Deployment } from '../../src/kube/kinds.ts'
import { readYamlDocuments } from '../../src/kube/yaml/yaml.ts'
import { apply, startPod, uninstall } from '../kubelet.ts'
import { createWaiters } from '../manager/process-environment.ts'
import { buildImage, type Image, startImage } from './container.ts'
import { installPackage } from './installed.ts'

const run = promisify(execFile)
const checkout = fileURLToPath(new URL('../..', import.meta.url))

/** scripts/real-programs.ts prints the reason. */
const isSkipped = containersUnusable() !== undefined

let containers: RealContainers
let folder = ''
beforeAll(async () => {
  if (isSkipped) return
  containers = await realContainers()
  folder = await mkdtemp(path.join(tmpdir(), 'muster-image-'))
  await chmod(folder, 0o755)
})
afterAll(async () => {
  if (folder) await rm(folder, { recursive: true, force: true })
})

/** What the program of an image prints. */
async function output(image: Image, ...args: readonly string[]): Promise<string> {
  const child = startImage(containers, image, path.join(folder, 'bundles'))({ volumes: {}, env: {} }, args)
  let text = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await once(child, 'close')
  return text
}

const entryOf = (image: Image, ...words: readonly string[]): Image => ({
  ...image,
  config: { ...image.config, Entrypoint: ['/usr/local/bin/node', ...words] },
})

describe.skipIf(isSkipped)('the image of the manager', () => {
  it('is small, has no shell, and cannot be written to', { timeout: 600_000 }, async () => {
    const image = await buildImage(containers, checkout, path.join(folder, 'muster-manager'))
    console.log(`the image of the manager has ${Math.round(image.size / 1e6)} MB`)
    expect(image.size).toBeLessThan(200e6)
    expect(image.config.User).toBe(`${imageUser}:${imageUser}`)
    const { version } = JSON.parse(await readFile(path.join(checkout, 'package.json'), 'utf8')) as { version: string }
    expect(await output(image, 'version')).toContain(`muster ${version} `)
    expect(await readdir(image.root)).not.toContain('bin')
    expect(await readdir(path.join(image.root, 'usr/local/bin'))).toEqual(['muster', 'node'])
    const tries = `for (const place of ['/app/x', '/usr/x', '/etc/passwd', '/x'])
      try { require('fs').writeFileSync(place, ''); console.log('wrote', place) } catch (error) { console.log(error.code) }
      console.log(process.getuid(), process.getgid())`
    const said = await output(entryOf(image, '-e', tries))
    expect(said).toBe(`EROFS\nEROFS\nEROFS\nEROFS\n${imageUser} ${imageUser}\n`)
  })
})

describe.skipIf(isSkipped)('the image of a project', () => {
  it(
    'hosts its operator on a real API server, as the service account of its manifests',
    { timeout: 600_000 },
    async () => {
      const name = `till-${Date.now().toString(36)}`
      const namespace = `${name}-system`
      const group = `${name}.example.com`
      const shops: Resource = { group, version: 'v1alpha1', kind: 'Till', plural: 'tills', namespaced: true }
      const muster = await installPackage(folder)
      const tarball = (await readdir(folder)).find((file) => file.endsWith('.tgz'))!
      await run(muster, ['init', 'till', '--dir', name, '--group', group, '--muster', `file:${tarball}`], {
        cwd: folder,
      })
      const project = path.join(folder, name)
      await run('cp', [path.join(folder, tarball), project])
      const manifest = path.join(project, 'package.json')
      await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('"name": "till"', `"name": "${name}"`))
      await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: project })
      await run('npx', ['--no-install', 'muster', 'generate', 'deploy'], { cwd: project })
      const image = await buildImage(containers, project, path.join(folder, 'muster-project'))

      const kubeconfig = path.join(folder, 'kubeconfig')
      await writeFile(kubeconfig, inject('cluster').kubeconfig, { mode: 0o600 })
      const admin = await connect({ kubeconfig })
      onTestFinished(() => admin.close())
      const texts = await Promise.all(
        ['crds.yaml', 'install.yaml'].map((file) => readFile(path.join(project, 'deploy/manifests', file), 'utf8')),
      )
      const objects = texts.flatMap((text) => readYamlDocuments(text)) as readonly JsonObject[]
      await apply(admin, objects)
      onTestFinished(() => uninstall(admin, objects))
      const { notice, until } = createWaiters()
      const start = startImage(containers, image, path.join(folder, 'bundles'))
      const pod = await startPod({ admin, name, namespace, folder, kubeconfig, start, notice }, 'one')
      const said = (text: string): Promise<void> =>
        until(
          () => pod.lines.some((line) => line.includes(text)),
          () => `${text}, in ${pod.lines.join('\n')}`,
        )
      await said('leads')
      const demo = { name: 'demo', namespace }
      const till = { apiVersion: `${group}/v1alpha1`, kind: 'Till', metadata: demo, spec: { replicas: 2 } }
      await admin.create(shops, till)
      await said('Reconciled')
      expect((await admin.get(Deployment, demo)).spec?.replicas).toBe(2)
      expect(await pod.ask('/readyz')).toBe('ok\n')
      expect(await pod.metrics()).not.toMatch(/rest_client_requests_total\{[^}]*code="40[13]"/)
      await pod.stop()
    },
  )
})
