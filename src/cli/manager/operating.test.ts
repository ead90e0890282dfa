/** The commands that operate a running manager: pause, resume, retry, logs, explain. One cluster, one manager, no timers. */
import { spawnSync } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { crds } from '../../../test/embedded.ts'
import { emptyFolder } from '../../../test/project.ts'
import { servedCluster } from '../../../test/served-cluster.ts'
import type { Client } from '../../client/client.ts'
import { connect } from '../../client/connect.ts'
import type { JsonObject } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { type ManagerService, startManagerService } from '../../manager/runtime/manager-service.ts'
import { defineController } from '../../operator/controller.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import { integer } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { ConfigMap, Deployment } from '../../kube/kinds.ts'
import { defineOperator } from '../../operator/operator.ts'
import type { Command } from '../command/command.ts'
import completion from '../completion.ts'
import explain from './explain.ts'
import logs from './logs.ts'
import pause from './pause.ts'
import resume from './resume.ts'
import retry from './retry.ts'
import top from './top.ts'

const Thing = defineKind({
  group: 'operating.example.com',
  version: 'v1',
  kind: 'Thing',
  spec: { size: integer({ default: 1 }) },
})
const thing = { namespace: 'default', name: 'a' }

interface Scene {
  readonly client: Client
  readonly service: ManagerService
  /** Number of reconciles of the CR. */
  readonly runs: () => number
  readonly run: (
    command: Command,
    words: readonly string[],
    flags?: JsonObject,
  ) => Promise<{ code: number; out: readonly string[] }>
  readonly until: (holds: () => boolean | Promise<boolean>) => Promise<void>
}

async function open(isFailing = false): Promise<Scene> {
  const folder = await emptyFolder()
  const { kubeconfig } = await servedCluster(folder)
  const client = await connect({ kubeconfig })
  onTestFinished(() => client.close())
  await client.create(crds, Thing.crd() as unknown as UntypedObject)
  let runs = 0
  const operator = defineOperator({
    name: 'things',
    controllers: [
      defineController({
        for: Thing,
        check() {
          runs++
          if (isFailing) throw new Error('the upstream is away')
        },
        dependents: [
          defineDependent({
            for: Thing,
            kind: Deployment,
            fromCR: ({ cr }) => ({
              spec: {
                replicas: cr.spec.size,
                selector: { matchLabels: { app: 'a' } },
                template: {
                  metadata: { labels: { app: 'a' } },
                  spec: { containers: [{ name: 'main', image: 'example.com/main:1' }] },
                },
              },
            }),
          }),
        ],
      }),
    ],
  })
  const service = await startManagerService({
    from: { configMap: 'default/muster' },
    environment: { MUSTER__health__port: '0', MUSTER__metrics__port: '0' },
    declared: () => Promise.resolve([operator]),
    load: () => Promise.resolve({ operator }),
    connect: async () => {
      const own = await connect({ kubeconfig })
      return { client: own, as: () => own }
    },
    reach: () => Promise.reject(new Error('there is no other')),
    identity: 'alone',
    log: () => undefined,
  })
  onTestFinished(() => service.stop())
  await client.create(Thing, Thing.draft(thing, {}) as unknown as UntypedObject)
  return {
    client,
    service,
    runs: () => runs,
    async run(command, words, flags = {}) {
      const out: string[] = []
      const print = (line: string): void => void out.push(line)
      const given = { ...('kubeconfig' in command.flags && { kubeconfig }), url: service.statusUrl, ...flags }
      const signal = new AbortController().signal
      const code = await command.run({ flags: given, positionals: words, out: print, err: print, signal })
      return { code, out: out.flatMap((line) => line.split('\n')) }
    },
    async until(holds) {
      while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

describe('operating a manager', () => {
  it('pauses and resumes an operator through the ConfigMap, and an object by its label', async () => {
    const { client, service, run, until, runs } = await open()
    const isPaused = (): boolean => service.report().operators[0]?.state === 'paused'
    expect(await run(pause, ['things'])).toMatchObject({
      out: ['operator things is paused (ConfigMap default/muster)'],
    })
    await until(isPaused)
    const { metadata } = await client.get(ConfigMap, { namespace: 'default', name: 'muster' })
    expect(metadata.annotations).toMatchObject({ 'muster.dev/paused': 'things' })
    const before = runs()
    await client.patch(Thing, thing, { spec: { size: 2 } }, { type: 'merge' })
    await run(resume, ['things'])
    await until(() => !isPaused() && runs() > before)

    await run(pause, ['thing', 'a'])
    expect((await client.get(Thing, thing)).metadata.labels).toMatchObject({ 'muster.dev/paused': 'true' })
    expect((await run(explain, ['thing/a'])).out).toContain(
      'because  Thing default/a is paused: muster resume ends that.',
    )
    await run(resume, ['things.operating.example.com', 'a'])
    expect((await client.get(Thing, thing)).metadata.labels ?? {}).not.toHaveProperty('muster.dev/paused')
    await expect(run(pause, ['thigns'])).rejects.toThrow('There is no operator "thigns"; the manager runs things.')
    await expect(run(pause, ['thign', 'a'])).rejects.toThrow('Did you mean "things"?')
  })

  it('retries an object at once, whatever its back-off', async () => {
    const { run, runs, until, service } = await open(true)
    // Each failure doubles the delay: after some of them no retry is due soon.
    await until(() => runs() >= 2)
    await until(() => service.report().operators[0]!.running === 0)
    const before = runs()
    expect(await run(retry, ['thing', 'a'])).toMatchObject({ code: 0, out: ['Thing default/a is reconciled again'] })
    await until(() => runs() > before)
    expect((await run(retry, ['thing'], { all: true })).out).toEqual(['Thing default/a is reconciled again'])
  })

  it('explains a failing object by its reconcile, and shows its log lines', async () => {
    const { run, runs, until, service } = await open(true)
    await until(() => runs() > 0 && service.report().operators[0]!.recentRuns.length > 0)
    const { code, out } = await run(explain, ['thing', 'a'])
    expect(code).toBe(1)
    expect(out.slice(0, 2)).toEqual([
      'Thing default/a is not ready',
      expect.stringMatching(/^because {2}its reconcile failed: .*the upstream is away/),
    ])
    const lines = await run(logs, ['things'], { key: 'default/a' })
    expect(lines.out[0]).toMatch(/^\S+Z error "Reconcile failed" operator=things .*the upstream is away/)
    expect(
      (await run(logs, [], { output: 'json', level: 'error' })).out.map((line) => JSON.parse(line) as unknown),
    ).toContainEqual(expect.objectContaining({ level: 'error', msg: 'Reconcile failed', key: 'default/a' }))
    await expect(run(logs, [], { level: 'wran' })).rejects.toThrow('Did you mean "warn"?')
  })

  it('explains a waiting object by the deepest object that is not ready', async () => {
    const { client, run, until } = await open()
    await until(async () => (await client.list(Deployment, { namespace: 'default' })).items.length > 0)
    const explained = await run(explain, ['thing', 'a'], { output: 'json' })
    expect(JSON.parse(explained.out.join('\n'))).toMatchObject({
      isReady: false,
      because: expect.stringMatching(/^Deployment default\//) as string,
      object: { object: 'Thing default/a', owned: [{ health: { status: 'InProgress' } }] },
    })
    const missing = run(explain, ['thing', 'none'])
    await expect(missing).rejects.toMatchObject({ name: 'NotFound' })
  })

  it('prints its report as YAML, too', async () => {
    const { run } = await open()
    expect((await run(top, [], { output: 'yaml' })).out).toContain('version: 1')
    await expect(run(top, [], { output: 'xml' })).rejects.toThrow('there are json and yaml')
  })
})

describe('completion', () => {
  it.each(['bash', 'zsh', 'fish'])('for %s names every command and its flags', async (shell) => {
    const out: string[] = []
    const print = (line: string): void => void out.push(line)
    const { signal } = new AbortController()
    await completion.run({ flags: {}, positionals: [shell], out: print, err: print, signal })
    expect(out[0]).toContain('scorecard')
    expect(out[0]).toMatch(shell === 'fish' ? /-l field-selector/ : /--field-selector/)
    if (shell === 'fish') return
    // Where there is a bash, it accepts the script.
    const { status, error } = spawnSync('bash', ['-n'], { input: out[0] })
    expect(error ? 0 : status).toBe(0)
  })
})
