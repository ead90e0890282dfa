/** The manifests of docs/appwrappers.md, applied one after another: each has the effect that the page says. */
import { expect, it, onTestFinished } from 'vitest'
import type { UntypedObject } from '../../src/kube/object.ts'
import { readYaml } from '../../src/kube/yaml/yaml.ts'
import { AppWrapper } from '../../src/workloads/appwrapper/appwrapper.ts'
import { settingPrefix } from '../../src/workloads/core/phases/phase-settings.ts'
import { OldAppWrapper, openAppWrapperEnvironment } from '../appwrapper-environment.ts'
import { readPage } from '../pages.ts'

it('docs/appwrappers.md shows manifests that do what it says', async () => {
  const page = readPage('appwrappers.md')
  const environment = await openAppWrapperEnvironment()
  onTestFinished(() => environment.close())
  const blocks = page.blocks('yaml')
  expect(blocks).toHaveLength(3)
  for (const block of blocks) {
    const object = readYaml(block) as unknown as UntypedObject
    await environment.create(object.apiVersion.endsWith('v1beta1') ? OldAppWrapper : AppWrapper, object)
  }
  await environment.settle(4000)
  expect(await environment.phaseOf('training')).toBe('Running')
  await environment.settle(30_000)
  expect(await environment.phaseOf('training')).toBe('Succeeded')
  expect(await environment.phaseOf('declared')).toBe('Suspended')
  expect((await environment.oldStatus('old'))['state']).toBe('Completed')
  expect(settingPrefix).toBe('workload.codeflare.dev.appwrapper/')
})
