/** `muster generate deploy` in a new project, and its diff with a cluster. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder, type Ended, install, muster } from '../../../test/project.ts'
import { servedCluster } from '../../../test/served-cluster.ts'
import { connect } from '../../client/connect.ts'
import { builtinResource } from '../../kube/builtin.ts'
import { kindOf } from '../../kube/kind.ts'
import { Deployment } from '../../kube/kinds.ts'
import type { JsonObject } from '../../kube/json.ts'
import { asObject } from '../../kube/json-object.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'

it(
  'a project is installed by its files, which stay those of a person who changed them',
  { timeout: 120_000 },
  async () => {
    const folder = await emptyFolder()
    await muster(folder, 'init', 'shop')
    const project = path.join(folder, 'shop')
    await install(project)
    const generate = (...words: readonly string[]): Promise<Ended> => muster(project, 'generate', 'deploy', ...words)
    const read = (name: string): Promise<string> => readFile(path.join(project, name), 'utf8')

    const first = await generate()
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout.split('\n')).toEqual(
      expect.arrayContaining([
        'deploy/helm/shop/values.yaml',
        'deploy/kustomize/base/kustomization.yaml',
        'deploy/manifests/crds.yaml',
        'deploy/manifests/install.yaml',
        'deploy/monitoring/dashboard.json',
      ]),
    )
    // The Containerfile of muster init is there already.
    expect(first.stdout).not.toContain('Containerfile')
    const install1 = await read('deploy/manifests/install.yaml')
    expect(install1).toContain('from: ./src/operator.ts')
    expect(install1).toContain('image: shop:0.0.0')

    const values = path.join(project, 'deploy/helm/shop/values.yaml')
    await writeFile(values, (await read('deploy/helm/shop/values.yaml')).replace('replicas: 2', 'replicas: 5'))
    const second = await generate('--image', 'mirror:5000/shop:2')
    expect(second.stderr).toContain('kept deploy/helm/shop/values.yaml: it was changed since it was generated')
    expect(await read('deploy/helm/shop/values.yaml')).toContain('replicas: 5')
    expect(await read('deploy/manifests/install.yaml')).toContain('image: mirror:5000/shop:2')

    // A configuration in another folder: its paths are relative to it, and in the image to the project.
    await mkdir(path.join(project, 'config'))
    await writeFile(path.join(project, 'config/muster.yaml'), 'operators:\n  shop: { from: ../src/operator.ts }\n')
    expect(await generate('-f', 'config/muster.yaml', '--out', 'moved')).toMatchObject({ code: 0, stderr: '' })
    expect(await read('moved/manifests/install.yaml')).toContain('from: ./src/operator.ts')

    // A diff with a cluster writes nothing.
    const { kubeconfig, asked } = await servedCluster(folder)
    const admin = await connect({ kubeconfig })
    const before = asked.length
    const none = await generate('--diff', '--kubeconfig', kubeconfig)
    expect(none.code).toBe(2)
    expect(none.stdout).toContain('+++ Deployment/shop-system/shop')
    expect(asked.slice(before).filter((request) => !request.startsWith('GET'))).toEqual([])
    const texts = [await read('deploy/manifests/crds.yaml'), install1]
    for (const document of texts.flatMap((text) => readYamlDocuments(text)) as readonly JsonObject[]) {
      const object = asObject(document)
      const resource = builtinResource(kindOf(object)) ?? resourceOf(object.apiVersion, object.kind)
      await admin.apply(resource, object, { fieldManager: 'kubectl', force: true })
    }
    expect(await generate('--diff', '--kubeconfig', kubeconfig)).toMatchObject({ code: 0, stdout: '' })
    const scaled = { spec: { replicas: 7 } }
    await admin.patch(Deployment, { namespace: 'shop-system', name: 'shop' }, scaled, { type: 'merge' })
    const changed = await generate('--diff', '--kubeconfig', kubeconfig)
    expect(changed.code).toBe(2)
    expect(changed.stdout.split('\n').filter((line) => /^[+-]/.test(line))).toEqual([
      '--- Deployment/shop-system/shop',
      '+++ Deployment/shop-system/shop',
      '-  replicas: 7',
      '+  replicas: 2',
    ])
    await admin.close()
  },
)

it('installs operators of Muster, by their name or their package', { timeout: 60_000 }, async () => {
  const folder = await emptyFolder()
  const image = `registry:5000/muster@sha256:${'0a'.repeat(32)}`
  const byPackage = await muster(folder, 'generate', 'deploy', '@muster-dev/muster/platform', '--image', image)
  expect(byPackage).toMatchObject({ code: 0, stderr: '' })
  const read = (): Promise<string> => readFile(path.join(folder, 'deploy/manifests/install.yaml'), 'utf8')
  const installed = await read()
  expect(installed).toContain(`image: ${image}`)
  expect(installed).toContain('muster-platform: {}')
  await writeFile(path.join(folder, 'muster.yaml'), 'operators: { muster-platform: {} }\n')
  expect(await muster(folder, 'generate', 'deploy', '--image', image)).toMatchObject({ code: 0, stderr: '' })
  expect(await read()).toBe(installed)
})

it('explains what it cannot install', { timeout: 60_000 }, async () => {
  const folder = await emptyFolder()
  const refused = async (...words: readonly string[]): Promise<string> =>
    (await muster(folder, 'generate', 'deploy', ...words)).stderr
  expect(await refused()).toContain('There is no operator to install: name a MODULE')
  await writeFile(path.join(folder, 'muster.yaml'), 'operators:\n  shop: { from: ./gone.ts }\n')
  expect(await refused()).toContain('gone.ts')
  expect(await refused('--name', 'Shop!')).toContain('--name "Shop!"')
  expect(await refused('--image', 'a b')).toContain('--image a b: write REPOSITORY:TAG, or')
  expect(await refused('--image', 'a@sha256:12')).toContain('--image a@sha256:12: write REPOSITORY:TAG, or')
  await mkdir(path.join(folder, 'config'))
  await writeFile(path.join(folder, 'config', 'muster.yaml'), 'operators:\n  shop: { from: ../../shop.ts }\n')
  expect(await refused('-f', 'config/muster.yaml')).toContain(
    'operators.shop.from ../../shop.ts is outside of this folder, and an image has this folder alone',
  )
  await writeFile(path.join(folder, 'config', 'muster.yaml'), 'operators:\n  shop: { program: { command: ../../x } }\n')
  expect(await refused('-f', 'config/muster.yaml')).toContain(
    'operators.shop.program ../../x is outside of this folder',
  )
})
