/** An Installation is ready when what is declared now is installed, and not before; what is changed is tried at once. */
import { describe, expect, it } from 'vitest'
import {
  at,
  change,
  chart,
  condition,
  configMap,
  configMaps,
  expectRest,
  install,
  manifests,
  opened,
  read,
  uninstall,
  upgrade,
} from '../../../test/installation-environment.ts'
import { isConditionTrue } from '../../kube/meta/condition.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import { Installation, type InstallationObject } from './installation.ts'

describe('an Installation is not ready', () => {
  it('while it is suspended, also if nothing of it was ever installed', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a'), { suspend: true }))
    expect(await condition(testEnv)).toBe(
      'False Waiting: It is suspended: nothing is written or deleted until spec.suspend is false.',
    )
    await install(testEnv, manifests(configMap('b'), { dependsOn: [{ name: 'shop' }] }, 'next'))
    expect(await configMaps(testEnv)).toEqual({})
    await change(testEnv, { suspend: false })
    expect(await condition(testEnv)).toContain('True')
    expect(await configMaps(testEnv)).toEqual({ a: 'x', b: 'x' })
    await change(testEnv, { suspend: true })
    expect(await condition(testEnv)).toContain('It is suspended')
    expect((await read(testEnv)).status).toMatchObject({ revision: 1, lastGood: 1, objects: 1 })
    await expectRest(testEnv)
  })

  it('when its source has no objects any more: those that are installed stay and are kept, until it is corrected', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a')))
    await upgrade(testEnv, '')
    expect(await condition(testEnv)).toMatch(
      /^False NothingRendered: .*delete the Installation.* Revision 1 stays active/,
    )
    await testEnv.client.delete(ConfigMap, at('a'))
    await testEnv.settle(60_000)
    expect(await configMaps(testEnv)).toEqual({ a: 'x' })
    await expectRest(testEnv)
    await change(testEnv, { prune: false })
    expect(await condition(testEnv)).toContain('True')
    expect(await configMaps(testEnv)).toEqual({ a: 'x' })
    await change(testEnv, { prune: true })
    expect(await condition(testEnv)).toContain('NothingRendered')
    await upgrade(testEnv, configMap('b'))
    expect(await configMaps(testEnv)).toEqual({ b: 'x' })
    expect(await condition(testEnv)).toContain('True')
  })

  it('while values that an upgrade generates are stored', async () => {
    const testEnv = await opened()
    const secret = (name: string): string =>
      `apiVersion: v1\nkind: Secret\nmetadata: { name: ${name} }\nstringData: { password: {{ randAlphaNum 20 }} }\n`
    await install(testEnv, chart({ 'templates/a.yaml': secret('a') }))
    const { metadata } = await read(testEnv)
    const stop = new AbortController()
    const watching = { namespace: 'default', resourceVersion: metadata.resourceVersion, signal: stop.signal }
    const seen: InstallationObject[] = []
    const watched = (async () => {
      for await (const { type, object } of testEnv.client.watch<InstallationObject>(Installation, watching))
        if (type === 'MODIFIED') seen.push(object)
    })().catch(() => undefined)
    await change(testEnv, { source: { chart: { files: { 'templates/b.yaml': secret('b') } } } })
    stop.abort()
    await watched
    // As `muster upgrade` waits: for the first status of this generation that says so.
    const done = seen.find(
      ({ status }) =>
        status?.observedGeneration !== metadata.generation && isConditionTrue(status?.conditions, 'Ready'),
    )
    expect(done?.status).toMatchObject({ revision: 2, lastGood: 2, objects: 2 })
    await testEnv.client.get(Secret, at('b'))
  })
})

describe('an attempt that has failed as often as it may', () => {
  it('begins anew when the spec changes, although it renders the same', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a'), { targetNamespace: 'gone', remediation: { retries: 0 } }))
    expect(await condition(testEnv, 'Stalled')).toContain('namespaces "gone" not found')
    await change(testEnv, { targetNamespace: null })
    expect(await condition(testEnv)).toContain('True')
    expect(await configMaps(testEnv)).toEqual({ a: 'x' })
    expect((await read(testEnv)).status?.attempt).not.toHaveProperty('observedGeneration')
  })

  it('has all of its time again, and one entry in the history', async () => {
    const testEnv = await opened()
    const health = [{ apiVersion: 'v1', kind: 'ConfigMap', inProgress: 'true' }]
    await install(testEnv, manifests(configMap('a'), { health, timeout: '2m', remediation: { retries: 0 } }), 300_000)
    expect(await condition(testEnv, 'Stalled')).toContain('RetriesExhausted')
    await change(testEnv, { timeout: '10m' }, 60_000)
    expect(await condition(testEnv, 'Stalled')).toBe('absent')
    await testEnv.settle(900_000)
    expect(await condition(testEnv, 'Stalled')).toContain('RetriesExhausted')
    expect((await read(testEnv)).status?.history).toMatchObject([{ revision: 1, state: 'Failed' }])
  })
})

describe('an Installation names', () => {
  it('a circle of dependencies, however long', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a'), { dependsOn: [{ name: 'b' }] }))
    await install(testEnv, manifests(configMap('b'), { dependsOn: [{ name: 'c', namespace: 'default' }] }, 'b'))
    await install(testEnv, manifests(configMap('c'), { dependsOn: [{ name: 'd' }, { name: 'shop' }] }, 'c'))
    await install(testEnv, manifests(configMap('d'), {}, 'd'))
    expect(await condition(testEnv)).toContain('default/shop → default/b → default/c → default/shop')
    await change(testEnv, { dependsOn: [] })
    await testEnv.clock.advance(600_000)
    expect(await configMaps(testEnv)).toEqual({ a: 'x', b: 'x', c: 'x', d: 'x' })
    await change(testEnv, { dependsOn: [{ name: 'shop' }] })
    expect(await condition(testEnv)).toContain('default/shop → default/shop')
  })

  it('a duration that is too long, before anything is written', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a'), { timeout: '9999999999h' }))
    expect(await condition(testEnv)).toMatch(/^False InvalidDuration: spec\.timeout: .*9999999999h.* too long/)
    expect(await configMaps(testEnv)).toEqual({})
    await change(testEnv, { timeout: '1h' })
    expect(await condition(testEnv)).toContain('True')
  })

  it('the start of a long problem', async () => {
    const testEnv = await opened()
    await install(testEnv, chart({ 'templates/a.yaml': configMap('a').slice(4) }))
    await change(testEnv, { source: { chart: { files: { 'templates/b.yaml': '{{ fail (repeat 50000 "🙂") }}' } } } })
    const message = await condition(testEnv)
    expect(message).toMatch(/templates\/b\.yaml.*Revision 1 stays active\.$/s)
    expect(message.length).toBeLessThan(5000)
    expect(message.isWellFormed()).toBe(true)
    await expectRest(testEnv)
  })
})

describe('an Installation whose active revision lost its content', () => {
  it('is removed all the same', async () => {
    const testEnv = await opened()
    await install(testEnv, manifests(configMap('a', '1')))
    await upgrade(testEnv, configMap('a', '2'))
    await change(testEnv, { revision: 1 })
    await testEnv.client.delete(Secret, at('shop-1.0'))
    await testEnv.settle(60_000)
    expect(await condition(testEnv)).toContain('MissingContent')
    await uninstall(testEnv)
    expect(await configMaps(testEnv)).toEqual({})
    await expect(read(testEnv)).rejects.toThrow('not found')
  })
})
