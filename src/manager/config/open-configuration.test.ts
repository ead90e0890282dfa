import { afterEach, describe, expect, it } from 'vitest'
import { configMap, configMaps, embedded, type Embedded } from '../../../test/embedded.ts'
import { createSharedCache, type SharedCache } from '../../cache/shared-cache.ts'
import type { Client } from '../../client/client.ts'
import { seededRandom } from '../../clock/random.ts'
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { defineConfig } from '../../operator/config.ts'
import { defineController } from '../../operator/controller.ts'
import { integer, optional, string } from '../../operator/kind/field.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import type { SettingChange } from './changes.ts'
import { configMapSource } from './config-map-source.ts'
import { type Configuration, readConfiguration } from './configuration.ts'
import { defaultText } from './default-text.ts'
import { type OpenConfiguration, openConfiguration, type OpenConfigurationOptions } from './open-configuration.ts'

const operator = defineOperator({
  name: 'cache',
  controllers: [defineController({ for: ConfigMap })],
  config: defineConfig({
    size: integer({ minimum: 1, default: 3, description: 'How many there are.' }),
    title: string({ default: 'yes' }),
    password: optional(string({ format: 'password' })),
  }),
})
const ref = { namespace: 'default', name: 'muster' }

interface Opened extends Embedded {
  readonly configuration: OpenConfiguration
  readonly changed: { readonly configuration: Configuration; readonly changes: readonly SettingChange[] }[]
  readonly problems: string[]
  /** Writes the ConfigMap, and lets it come through. */
  readonly write: (text: string) => Promise<void>
}

const open: { close(): void | Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close()
})

async function opened(
  cluster: Embedded,
  options: OpenConfigurationOptions = {},
  client: Client = cluster.client,
): Promise<Opened> {
  const cache: SharedCache = createSharedCache({ client, clock: cluster.clock, random: seededRandom(3) })
  open.push(cache)
  const changed: Opened['changed'] = []
  const problems: string[] = []
  const configuration = await openConfiguration({
    source: configMapSource({ client, cache, ...ref }),
    operators: [operator],
    onChange: (next, changes) => void changed.push({ configuration: next, changes }),
    onProblem: ({ message }) => void problems.push(message),
    ...options,
  })
  open.push(configuration)
  await cluster.clock.settle()
  return {
    ...cluster,
    configuration,
    changed,
    problems,
    async write(text) {
      const { metadata } = await cluster.client.get(configMaps, ref)
      await cluster.client.update(configMaps, configMap(ref.name, { 'muster.yaml': text }, metadata))
      await cluster.clock.settle()
      await configuration.settled()
    },
  }
}

const textIn = async ({ client }: Pick<Embedded, 'client'>): Promise<string> => {
  const { data } = (await client.get(configMaps, ref)) as unknown as { data: Record<string, string> }
  return data['muster.yaml']!
}

const written = (cluster: Embedded, text: string): Promise<unknown> =>
  cluster.client.create(configMaps, configMap(ref.name, { 'muster.yaml': text }))

describe('the text of the defaults', () => {
  it('documents the defaults: parsed again it changes nothing', () => {
    const text = defaultText([operator])
    const { settings } = readConfiguration([{ source: 'x', value: readYaml(text), text }], [operator])
    expect(settings).toEqual(readConfiguration([], [operator]).settings)
    expect(text).toContain('      # How many there are.\n      size: 3\n')
    expect(text).toContain('      title: "yes"\n      # password:\n')
    expect(text).toContain('  # The time between two attempts.\n  retryPeriod: 2s\n')
  })

  it('is complete without any operator', () => {
    expect(readConfiguration([{ source: 'x', value: readYaml(defaultText()) }])).toMatchObject({
      settings: readConfiguration([]).settings,
    })
  })
})

describe('a configuration in a ConfigMap', () => {
  it('is created with the defaults when missing, and never modified afterwards', async () => {
    const { configuration, client, clock, problems, changed } = await opened(embedded())
    expect(configuration.current.settings).toEqual(readConfiguration([], [operator]).settings)
    expect(configuration.isFallback).toBe(false)
    expect(await textIn({ client })).toBe(defaultText([operator]))
    const { metadata } = await client.get(configMaps, ref)
    await clock.advance(3_600_000)
    expect((await client.get(configMaps, ref)).metadata.resourceVersion).toBe(metadata.resourceVersion)
    expect([problems, changed]).toEqual([[], []])
  })

  it('is created once by two replicas that start together, and both use it', async () => {
    const cluster = embedded()
    let creations = 0
    const create: Client['create'] = async (...parameters) => {
      creations++
      // Both have looked and found nothing before either writes.
      await cluster.clock.settle()
      return await cluster.client.create(...parameters)
    }
    const racing: Client = { ...cluster.client, create }
    const replicas = await Promise.all([opened(cluster, {}, racing), opened(cluster, {}, racing)])
    expect(creations).toBe(2)
    for (const { problems, configuration } of replicas) {
      expect(problems).toEqual([])
      expect(configuration.isFallback).toBe(false)
    }
    await replicas[0].write('concurrency: 5')
    expect(replicas.map(({ configuration }) => configuration.current.settings.concurrency)).toEqual([5, 5])
  })

  it('that may not be created is not required, and that is reported', async () => {
    const cluster = embedded()
    const create = (): Promise<never> =>
      Promise.reject(new MusterError(clientErrors.Forbidden, 'may not create configmaps.'))
    const { configuration, problems } = await opened(cluster, {}, { ...cluster.client, create })
    expect(configuration.current.settings).toEqual(readConfiguration([], [operator]).settings)
    expect(configuration.isFallback).toBe(false)
    expect(problems).toEqual([
      'ConfigMap default/muster is not there and cannot be created, so that defaults are in force: may not create configmaps.',
    ])
    // A user with the permission creates the ConfigMap: it takes effect.
    await written(cluster, 'concurrency: 7')
    await cluster.clock.settle()
    await configuration.settled()
    expect(configuration.current.settings.concurrency).toBe(7)
  })

  it('invalid: the location is reported and the last valid one stays; fixed: it takes effect', async () => {
    const cluster = embedded()
    await written(cluster, 'concurrency: 2\n')
    const { configuration, write, changed, problems } = await opened(cluster)
    expect(configuration.current.settings.concurrency).toBe(2)

    await write('concurrency: 3\nmetrics:\n  prt: 1\n')
    expect(problems).toEqual([
      'The configuration is invalid: metrics.prt (ConfigMap default/muster:3): there is no key "prt" here; did you mean "port"?',
    ])
    expect(configuration.problem?.message).toBe(problems[0])
    expect(configuration.current.settings.concurrency).toBe(2)

    await write('concurrency: 3\nmetrics: [\n')
    expect(problems).toHaveLength(2)
    expect(problems[1]).toMatch(/ConfigMap default\/muster:\d+:\d+/)
    await write('')
    expect(problems[2]).toContain('is empty; for the defaults, write {}')
    expect(changed).toEqual([])

    await write('concurrency: 3\nmetrics:\n  port: 1\n')
    expect(configuration.problem).toBeUndefined()
    expect(configuration.current.settings).toMatchObject({ concurrency: 3, metrics: { port: 1 } })
    expect(configuration.current.sources.get('metrics.port')).toBe('ConfigMap default/muster:3')
    expect(changed).toHaveLength(1)
    expect(changed[0]!.configuration).toBe(configuration.current)
    expect(changed[0]!.changes.map(({ path }) => path.join('.'))).toEqual(['concurrency', 'metrics.port'])
  })

  it('deleted: the last valid one stays, and it is not recreated', async () => {
    const cluster = embedded()
    await written(cluster, 'concurrency: 2\n')
    const { configuration, problems } = await opened(cluster)
    await cluster.client.delete(configMaps, ref)
    await cluster.clock.settle()
    await configuration.settled()
    expect(problems).toEqual(['ConfigMap default/muster is not there.'])
    expect(configuration.current.settings.concurrency).toBe(2)
    await expect(cluster.client.get(configMaps, ref)).rejects.toThrow('not found')
  })

  it.each([
    ['not in order', { 'muster.yaml': 'pausd: true' }, 'did you mean "paused"?'],
    ['without its key', { 'muster.yml': '{}' }, 'has no key "muster.yaml"; did you mean "muster.yml"?'],
  ])('%s at the start: the manager starts paused with defaults, until it is fixed', async (_, data, problem) => {
    const cluster = embedded()
    await cluster.client.create(configMaps, configMap(ref.name, data))
    const { configuration, problems, write, changed } = await opened(cluster, { flags: ['concurrency=9'] })
    expect(configuration.isFallback).toBe(true)
    expect(configuration.current.settings).toMatchObject({ paused: true, concurrency: 9 })
    expect(configuration.current.sources.get('paused')).toBe('ConfigMap default/muster is invalid')
    expect(problems).toHaveLength(1)
    expect(problems[0]).toContain(problem)
    await write('metrics: { port: 1 }')
    expect(configuration.isFallback).toBe(false)
    expect(configuration.current.settings).toMatchObject({ paused: false, concurrency: 9, metrics: { port: 1 } })
    expect(changed[0]!.changes).toMatchObject([{ path: ['metrics', 'port'] }, { path: ['paused'], effect: 'live' }])
  })

  it('that cannot be read at the start is waited for', async () => {
    const cluster = embedded()
    await written(cluster, 'concurrency: 4')
    const get = (): Promise<never> => Promise.reject(new MusterError(clientErrors.Forbidden, 'may not get configmaps.'))
    const { configuration, problems } = await opened(cluster, {}, { ...cluster.client, get })
    expect(problems).toEqual(['Defaults are in force, and nothing runs: may not get configmaps.'])
    await configuration.settled()
    expect(configuration.isFallback).toBe(false)
    expect(configuration.current.settings.concurrency).toBe(4)
  })

  it('is overridden by the environment, and that by flags; invalid ones are an error at once', async () => {
    const cluster = embedded()
    await written(cluster, 'concurrency: 2\nmetrics: { port: 2 }\nhealth: { port: 2 }')
    const environment = { MUSTER__concurrency: '3', MUSTER__metrics__port: '3' }
    const { configuration } = await opened(cluster, { environment, flags: ['concurrency=4'] })
    const { concurrency, metrics, health } = configuration.current.settings
    expect([concurrency, metrics.port, health.port]).toEqual([4, 3, 2])
    await expect(opened(cluster, { flags: ['concurency=4'] })).rejects.toThrow('did you mean "concurrency"?')
  })

  it('loads the declarations of its operators, and validates their sections with them', async () => {
    const cluster = embedded()
    await written(cluster, 'operators: { cache: { from: ./cache.ts, config: { size: 0 } } }')
    const asked: string[] = []
    const { problems, configuration, write } = await opened(cluster, {
      operators: (settings) => {
        const from = settings.operators['cache']?.from
        if (from !== undefined) asked.push(from)
        return Promise.resolve(from === undefined ? [] : [operator])
      },
    })
    expect(asked).toContain('./cache.ts')
    expect(problems[0]).toContain('operators.cache.config.size (ConfigMap default/muster:1)')
    await write('operators: { cache: { from: ./cache.ts, config: { size: 1 } } }')
    expect(configuration.current.settings.operators['cache']!.config).toEqual({ size: 1, title: 'yes' })
  })
})
