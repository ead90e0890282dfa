import { describe, expect, it } from 'vitest'
import { configMaps, crds } from '../../../test/embedded.ts'
import { createApiServer } from '../../apiserver/server/api-server.ts'
import { createClient } from '../../client/create-client.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { seededRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { defineConfig } from '../../operator/config.ts'
import { defineController } from '../../operator/controller.ts'
import { integer, object, optional, string } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { readConfiguration } from '../config/configuration.ts'
import { flagLayer } from '../config/override.ts'
import { runAlone } from './run-alone.ts'
import { ownFlags, ownHelp, readOwnArguments } from './own-flags.ts'

const Cache = defineKind({
  group: 'alone.example.com',
  version: 'v1',
  kind: 'Cache',
  spec: { size: integer({ default: 1 }) },
})
const config = defineConfig({
  replicas: integer({ minimum: 1, default: 2, description: 'How many there are.' }),
  tls: object({ minimum: string({ default: '1.3' }) }, { default: {} }),
  password: optional(string({ format: 'password' })),
})
const operator = defineOperator({
  name: 'cache',
  config,
  controllers: [
    defineController({
      for: Cache,
      dependents: [
        defineDependent({
          for: Cache,
          kind: ConfigMap,
          name: ({ cr }) => `${cr.metadata.name}-made`,
          fromCR: (context) => ({ data: { replicas: String((context.config as { replicas: number }).replicas) } }),
        }),
      ],
    }),
  ],
})

describe('the flags of a standalone operator', () => {
  it('become the configuration that a manager reads', () => {
    const words = '--gates.debounce 500ms --config.replicas=3 --config.tls.minimum 1.2 --namespaces a,b --paused=false'
    const others = '--leaderElection.leaderElect --kubeconfig here --file muster.yaml'
    const { layer, file } = readOwnArguments(operator, [...words.split(' '), ...others.split(' ')])
    const own = [
      'gates.debounce=500ms',
      'config.replicas=3',
      'config.tls.minimum=1.2',
      'namespaces=a,b',
      'paused=false',
    ]
    const flags = own.map((flag) => `operators.cache.${flag}`)
    const same = flagLayer(
      [...flags, 'leaderElection.leaderElect=true', 'clientConnection.kubeconfig=here'],
      [operator],
    )
    expect(file).toBe('muster.yaml')
    const { settings, sources } = readConfiguration([layer], [operator])
    expect(settings).toEqual(readConfiguration([same], [operator]).settings)
    expect(settings.operators['cache']!.config).toEqual({ replicas: 3, tls: { minimum: '1.2' } })
    expect(sources.get('operators.cache.gates.debounce')).toBe('flag --gates.debounce')
  })

  it('are all in the help, with descriptions and defaults, except secret ones', () => {
    const help = ownHelp(operator)
    for (const { name } of ownFlags(operator)) expect(help).toContain(`--${name}`)
    expect(help).toMatch(/--config\.replicas N +How many there are\. \(default: 2\)/)
    expect(help).toMatch(/--leaderElection\.leaderElect +Only one replica/)
    expect(help).toMatch(/--identity\.by impersonation\|token/)
    expect(help).not.toContain('--isolation')
  })

  it.each([
    [['--gates.debonce', '1s'], 'unknown flag "--gates.debonce". Did you mean "--gates.debounce"?'],
    [['--config.replicas'], '--config.replicas needs a value'],
    [['word'], 'takes flags alone; "word" is none'],
  ])('that are invalid are named: %j', (argv, problem) => {
    expect(() => readOwnArguments(operator, argv)).toThrow(problem)
  })
})

describe('a standalone operator', () => {
  const quiet = { environment: {}, out: () => undefined, err: () => undefined }

  it('runs by its flags, follows its configuration and ends on request', async () => {
    const server = createApiServer({ clock: systemClock, random: seededRandom(1) })
    const through = (): ReturnType<typeof createClient> => createClient({ transport: inProcessTransport(server) })
    const client = through()
    await client.create(crds, Cache.crd() as unknown as UntypedObject)
    const stop = new AbortController()
    const running = Promise.withResolvers<string>()
    const told: string[] = []
    const ended = runAlone(operator, {
      ...quiet,
      argv: [
        ...'--config.replicas 7 --health.port 0 --metrics.port 0 --logging.format text'.split(' '),
        '--configmap=default/cache',
      ],
      err: (line) => void told.push(line),
      signal: stop.signal,
      out: running.resolve,
      local: { client: through(), as: through },
    })
    expect(await running.promise).toBe('cache is running')
    const cr = {
      apiVersion: 'alone.example.com/v1',
      kind: 'Cache',
      metadata: { name: 'one', namespace: 'default' },
      spec: {},
    }
    await client.create(Cache, cr)
    const fieldSelector = 'metadata.name=one-made'
    for await (const event of client.watch(configMaps, { namespace: 'default', fieldSelector })) {
      if (event.type !== 'ADDED') continue
      expect(event.object['data']).toEqual({ replicas: '7' })
      break
    }
    // Its configuration was made where there was none, with its own section.
    const made = (await client.get(configMaps, { namespace: 'default', name: 'cache' })) as unknown as { data: object }
    expect(made.data).toMatchObject({ 'muster.yaml': expect.stringContaining('replicas: 2') as string })
    stop.abort()
    expect(await ended).toBe(0)
    expect(told).toContainEqual(expect.stringMatching(/^\S+ info "Operator started" operator=cache$/))
    await client.close()
  })

  it('reports invalid flags by the exit code and a message', async () => {
    const told: string[] = []
    const run = (...argv: readonly string[]): Promise<number> =>
      runAlone(operator, { ...quiet, argv, err: (line) => void told.push(line), signal: new AbortController().signal })
    expect(await run('--nothing')).toBe(2)
    expect(await run('--config.replicas', '0')).toBe(1)
    expect(told[0]).toContain('unknown flag "--nothing"')
    expect(told[1]).toContain('operators.cache.config.replicas (flag --config.replicas)')
  })
})
