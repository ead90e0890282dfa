import { describe, expect, it } from 'vitest'
import { readConfiguration } from '../../manager/config/configuration.ts'
import { flagLayer } from '../../manager/config/override.ts'
import { createLoader } from '../../manager/loading/loader.ts'
import { loadKinds, loadOperator } from './module.ts'
import { builtInOperators, moduleReference } from './package-module.ts'

describe('a module of a package', () => {
  it('is named by its package; the parts of Muster need no installation', async () => {
    expect((await loadOperator('@muster-dev/muster/platform')).name).toBe('muster-platform')
    expect((await loadOperator('@muster-dev/muster/platform#operator')).name).toBe('muster-platform')
    const kinds = await loadKinds('@muster-dev/muster/platform')
    const platformKinds = ['Component', 'ComponentVersion', 'Installation', 'Platform', 'Revision']
    expect(kinds.map(({ kind }) => kind).toSorted()).toEqual(platformKinds)
    expect((await loadOperator('@muster-dev/muster/platform/kyma')).name).toBe('muster-kyma')
    expect((await loadOperator('@muster-dev/muster/platform/open-data-hub')).name).toBe('muster-open-data-hub')
    await expect(moduleReference('@muster-dev/muster/platform/errors')).rejects.toMatchObject({
      name: 'ModuleUnusable',
    })
    expect(await moduleReference('src/operator.ts')).toBe('src/operator.ts')
    await expect(moduleReference('@muster-dev/none/part')).rejects.toThrow('is not installed in')
    await expect(moduleReference('@muster-dev/muster/none')).rejects.toMatchObject({ name: 'ModuleUnusable' })
  })

  it('is hosted where a configuration names it, without from', async () => {
    const { settings } = readConfiguration([flagLayer(['operators.muster-platform.enabled=true'])])
    const loader = createLoader({ given: builtInOperators() })
    const section = settings.operators['muster-platform']!
    expect((await loader.load('muster-platform', section)).operator.kinds.length).toBeGreaterThan(4)
    expect(await loader.declared(readConfiguration([]).settings)).toEqual([])
  })
})
