/** Helm hooks of an Installation: at its end, at a rollback, and when they fail. */
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
  opened,
  read,
  uninstall,
} from '../../../test/installation-environment.ts'
import { Job } from '../../kube/kinds.ts'
import type { TestEnvironment } from '../../manager/testing/test-environment.ts'
import { Installation } from './installation.ts'

interface HookOptions {
  readonly policy?: string
  readonly exitCode?: number
}

const hook = (
  name: string,
  event: string,
  { policy = 'before-hook-creation', exitCode = 0 }: HookOptions = {},
): string => `
apiVersion: batch/v1
kind: Job
metadata: { name: ${name}, annotations: { helm.sh/hook: "${event}", helm.sh/hook-delete-policy: "${policy}" } }
spec:
  backoffLimit: 0
  template:
    metadata: { annotations: { simulated.muster.dev/exit-code: "${exitCode}" } }
    spec: { restartPolicy: Never, containers: [{ name: a, image: a }] }
`
const config = (value: string): string => configMap('a', value).slice(4)
const files = (value: string, more: Readonly<Record<string, string>> = {}) => ({
  'templates/a.yaml': config(value),
  ...more,
})
const jobs = async ({ client }: TestEnvironment): Promise<readonly string[]> =>
  (await client.list(Job, { namespace: 'default' })).items.map(({ metadata }) => metadata.name)
/** Creations and deletions of Jobs and of the ConfigMap, in order. */
const course = ({ writes }: TestEnvironment, from: number): readonly string[] =>
  writes
    .slice(from)
    .filter(({ method, path }) => ['PATCH', 'POST', 'DELETE'].includes(method) && /\/(?:jobs|configmaps)\//.test(path))
    .filter(({ path }) => !path.includes('/status'))
    .map(({ method, path }) => `${method === 'DELETE' ? 'delete' : 'apply'} ${/[^/]+$/.exec(path.split('?')[0]!)![0]}`)

describe('hooks of a removal', () => {
  const all = {
    'templates/before.yaml': hook('before', 'pre-delete', { policy: 'hook-succeeded' }),
    'templates/after.yaml': hook('after', 'post-delete'),
  }

  it('run before anything is deleted and when all of it is gone; their policies decide whether they stay', async () => {
    const testEnv = await opened(true)
    await install(testEnv, chart(files('1', all)))
    expect(await jobs(testEnv)).toEqual([])
    const { length } = testEnv.writes
    await uninstall(testEnv)
    expect(course(testEnv, length)).toEqual([
      'apply before',
      'delete a',
      'apply after',
      'delete before',
      // It is let go.
      'apply after',
    ])
    expect((await testEnv.client.list(Installation)).items).toEqual([])
    expect(await jobs(testEnv)).toEqual(['after'])
  })

  it('run once, also if the process ends in between', async () => {
    const testEnv = await opened(true)
    await install(testEnv, chart(files('1', all)))
    const { length } = testEnv.writes
    await testEnv.client.delete(Installation, at('shop'))
    for (let step = 0; step < 20; step++) {
      await testEnv.restart()
      await testEnv.settle(100)
    }
    await testEnv.settle(60_000)
    const created = course(testEnv, length).filter((one) => one === 'apply before')
    expect(created).toHaveLength(1)
    expect((await testEnv.client.list(Installation)).items).toEqual([])
  })

  it('that fail before it are named, and nothing is deleted', async () => {
    const testEnv = await opened(true)
    await install(
      testEnv,
      chart(files('1', { 'templates/before.yaml': hook('before', 'pre-delete', { exitCode: 1 }) })),
    )
    await uninstall(testEnv)
    expect(await condition(testEnv, 'Reconciled')).toContain('phase pre-delete hook before: Job default/before')
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
  })

  it('run as well when it is uninstalled and stays', async () => {
    const testEnv = await opened(true)
    await install(testEnv, chart(files('1', all)))
    const { length } = testEnv.writes
    await change(testEnv, { uninstall: true })
    expect(course(testEnv, length).filter((one) => one.startsWith('apply'))).toEqual(['apply before', 'apply after'])
    expect(await condition(testEnv)).toContain('Uninstalled')
    await expectRest(testEnv)
  })
})

describe('hooks of a rollback', () => {
  const all = {
    'templates/before.yaml': hook('before', 'pre-rollback', { policy: 'hook-succeeded' }),
    'templates/after.yaml': hook('after', 'post-rollback'),
  }
  const once = { remediation: { retries: 0 }, timeout: '5m' }
  const failing = (policy?: string) => ({
    'templates/failing.yaml': hook('failing', 'pre-upgrade', { exitCode: 1, ...(policy !== undefined && { policy }) }),
  })
  const upgradeTo = async (testEnv: TestEnvironment, more: Readonly<Record<string, string>>): Promise<void> =>
    await change(testEnv, { source: { chart: { files: files('2', more) } } }, 300_000)

  it('run when an upgrade fails, of which nothing is applied after its hook failed', async () => {
    const testEnv = await opened(true)
    await install(testEnv, chart(files('1', all), once))
    expect(await jobs(testEnv)).toEqual([])
    const { length } = testEnv.writes
    await upgradeTo(testEnv, failing())
    expect(course(testEnv, length)).toEqual(['apply failing', 'apply before', 'apply after', 'delete before'])
    // The failed one can be looked at, and the other has a policy.
    expect(await jobs(testEnv)).toEqual(['after', 'failing'])
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
    expect(await condition(testEnv)).toContain('False RetriesExhausted: Revision 2 failed: Job default/failing')
    await testEnv.restart()
    await expectRest(testEnv)
  })

  it('run again with each failed attempt', async () => {
    const testEnv = await opened(true)
    await install(testEnv, chart(files('1', all), { ...once, remediation: { retries: 1, retryInterval: '1m' } }))
    const { length } = testEnv.writes
    await upgradeTo(testEnv, failing())
    expect(course(testEnv, length).filter((one) => one === 'apply before')).toHaveLength(2)
    expect(course(testEnv, length).filter((one) => one === 'apply failing')).toHaveLength(2)
    expect((await read(testEnv)).status).toMatchObject({ revision: 1, attempt: { failures: 2, isRemedied: true } })
  })

  it('that fail are named, and do not keep the last good revision from being active', async () => {
    const testEnv = await opened(true)
    const broken = { 'templates/before.yaml': hook('before', 'pre-rollback', { exitCode: 1 }) }
    await install(testEnv, chart(files('1', broken), once))
    const late = hook('late', 'post-upgrade', { exitCode: 1 })
    await upgradeTo(testEnv, { 'templates/late.yaml': late })
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
    expect(await condition(testEnv)).toContain('Its rollback did not end well: Job default/before')
    await expectRest(testEnv)
  })

  it('run when an earlier revision is chosen', async () => {
    const testEnv = await opened(true)
    await install(testEnv, chart(files('1', all)))
    await upgradeTo(testEnv, {})
    const { length } = testEnv.writes
    await change(testEnv, { revision: 1 })
    expect(course(testEnv, length)).toEqual(['apply before', 'apply a', 'apply after', 'delete before'])
    expect(await configMaps(testEnv)).toEqual({ a: '1' })
  })

  it('a failed hook goes if its policy says so', async () => {
    const testEnv = await opened(true)
    await install(testEnv, chart(files('1'), once))
    await upgradeTo(testEnv, failing('hook-failed'))
    expect(await condition(testEnv)).toContain('Revision 2 failed: Job default/failing')
    expect(await jobs(testEnv)).toEqual([])
  })
})

describe('hooks of an installation', () => {
  it('that fail do not run again before the next attempt', async () => {
    const testEnv = await opened(true)
    const failing = { 'templates/failing.yaml': hook('failing', 'pre-install', { exitCode: 1 }) }
    await install(testEnv, chart(files('1', failing), { remediation: { retries: 1, retryInterval: '10m' } }), 300_000)
    const runs = () => course(testEnv, 0).filter((one) => one === 'apply failing').length
    expect(runs()).toBe(1)
    await testEnv.clock.advance(600_000)
    expect(runs()).toBe(2)
    expect(await configMaps(testEnv)).toEqual({})
  })
})
