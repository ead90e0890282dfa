/** The commands that operate a running manager: pause, resume, retry, logs, explain. One cluster, one manager, no timers. */
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
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
import { ConfigMap, Deployment, Namespace } from '../../kube/kinds.ts'
import { holderLabel, installationHolder } from '../../platform/installation/holder.ts'
import { Installation } from '../../platform/installation/installation.ts'
import { defineOperator } from '../../operator/operator.ts'
import type { Command } from '../command/command.ts'
import doctor from '../cluster/doctor.ts'
import watch from '../cluster/watch.ts'
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

const available = {
  status: {
    replicas: 1,
    updatedReplicas: 1,
    readyReplicas: 1,
    availableReplicas: 1,
    observedGeneration: 1,
    conditions: [
      { type: 'Available', status: 'True' },
      { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' },
    ],
  },
}

/** The name of the Deployment of the CR, once it exists. */
async function deploymentOf(client: Client, until: Scene['until']): Promise<string> {
  let name: string | undefined
  await until(async () => {
    name = (await client.list(Deployment, { namespace: 'default' })).items[0]?.metadata.name
    return name !== undefined
  })
  return name!
}

interface Scene {
  readonly kubeconfig: string
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
    kubeconfig,
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

  it('does not call a CR ready that a paused operator has not reconciled, and says what a retry waits for', async () => {
    const { client, service, run, until } = await open()
    await run(pause, ['things'])
    await until(() => service.report().operators[0]?.state === 'paused')
    await client.create(Thing, Thing.draft({ namespace: 'default', name: 'late' }, {}) as unknown as UntypedObject)
    const held = 'operator things is paused: muster resume things ends that'
    const { code, out } = await run(explain, ['thing', 'late'])
    expect([code, ...out.slice(0, 2)]).toEqual([1, 'Thing default/late is not ready', `because  ${held}.`])
    expect((await run(retry, ['thing', 'late'])).out).toEqual([`Thing default/late waits: ${held}`])
    expect((await run(retry, ['things'])).out).toContain(`Thing default/late waits: ${held}`)
    await run(resume, ['things'])
    await until(() => service.report().operators[0]?.state !== 'paused')
    expect((await run(retry, ['things'])).out).toContain('Thing default/late is reconciled again')
    await run(pause, ['thing', 'late'])
    expect((await run(retry, ['thing', 'late'])).out).toEqual([
      'Thing default/late is paused: it is reconciled after muster resume',
    ])
    await expect(run(retry, ['thigns'])).rejects.toThrow('There is no operator "thigns"; the manager runs things.')
  })

  it('names a pause of an object that is ready, and its runs only for its own kind', async () => {
    const { client, service, run, until } = await open()
    const name = await deploymentOf(client, until)
    await client.patch(Deployment, { namespace: 'default', name }, available, { type: 'merge', subresource: 'status' })
    await until(async () => (await run(explain, ['thing', 'a'])).code === 0)
    expect((await run(explain, ['thing', 'a'])).out).toContain('last reconciles')
    await run(pause, ['thing', 'a'])
    const paused = await run(explain, ['thing', 'a'])
    expect([paused.code, paused.out[0]]).toEqual([0, 'Thing default/a is ready and paused'])
    await run(pause, ['things'])
    await until(() => service.report().operators[0]?.state === 'paused')
    expect((await run(explain, ['thing', 'a'])).out[0]).toMatch(
      /^Thing default\/a is ready and paused; operator things is paused/,
    )
    // An object of another kind has the same name.
    await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: thing })
    expect((await run(explain, ['cm', 'a'])).out).not.toContain('last reconciles')
  })

  it('follows custom resources, other namespaces and Installations down to the cause, and says what it left out', async () => {
    const { client, run, until } = await open()
    await deploymentOf(client, until)
    const root = { namespace: 'default', name: 'root' }
    const { metadata } = await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: root })
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'root', uid: metadata.uid! }]
    await client.patch(Thing, thing, { metadata: { ownerReferences } }, { type: 'merge' })
    expect((await run(explain, ['cm', 'root'])).out[1]).toMatch(/^because {2}Deployment default\//)
    for (let at = 0; at < 24; at++) {
      const child = { namespace: 'default', name: `child-${at}`, ownerReferences }
      await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: child })
    }
    const cut = await run(explain, ['cm', 'root'])
    expect(cut.out[1]).toMatch(/^because {2}Deployment default\//)
    expect(cut.out).toContain('  5 more owned objects were not examined')

    await client.create(crds, Installation.crd() as unknown as UntypedObject)
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
    const shop = { namespace: 'default', name: 'shop' }
    const source = { oci: { url: 'oci://registry.example.com/shop', version: '1.0.0' } }
    const { group, version, kind } = Installation
    await client.create(Installation, { apiVersion: `${group}/${version}`, kind, metadata: shop, spec: { source } })
    const labels = { [holderLabel]: installationHolder(shop) }
    const held = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: 'shop', name: 'web', labels } }
    const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'main', image: 'web:1' }] } }
    await client.create(Deployment, { ...held, spec: { selector: { matchLabels: { app: 'web' } }, template } })
    expect((await run(explain, ['installation', 'shop'])).out[1]).toMatch(
      /^because {2}Deployment shop\/web: LessReplicas/,
    )
  })

  it('takes the namespace of the context, as kubectl does', async () => {
    const { client, kubeconfig, run } = await open()
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } })
    const there = { namespace: 'team', name: 'there' }
    await client.create(Thing, Thing.draft(there, {}) as unknown as UntypedObject)
    await writeFile(
      kubeconfig,
      (await readFile(kubeconfig, 'utf8')).replace('"user":"u"}', '"user":"u","namespace":"team"}'),
    )
    expect((await run(pause, ['thing', 'there'])).code).toBe(0)
    expect((await client.get(Thing, there)).metadata.labels).toMatchObject({ 'muster.dev/paused': 'true' })
    expect((await run(retry, ['thing', 'there'])).out[0]).toMatch(/^Thing team\/there/)
    expect((await run(explain, ['thing', 'there'])).out[0]).toMatch(/^Thing team\/there/)
  })

  it('prints its report as YAML, too', async () => {
    const { run } = await open()
    expect((await run(top, [], { output: 'yaml' })).out).toContain('version: 1')
    await expect(run(top, [], { output: 'xml' })).rejects.toThrow('there are json and yaml')
    const checked = JSON.parse((await run(doctor, [], { output: 'json' })).out.join('\n')) as {
      readonly steps: unknown
    }
    expect(checked.steps).toEqual(
      ['configuration', 'connection', 'identity', 'discovery'].map((step) =>
        expect.objectContaining({ step, ok: true }),
      ),
    )
    const absent = await run(doctor, [], { output: 'yaml', kubeconfig: 'none' })
    expect([absent.code, ...absent.out]).toEqual(expect.arrayContaining([1, 'steps:', '  ok: false']))
    const { out } = await run(watch, ['things'], { once: true, output: 'json' })
    const events = out.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as unknown)
    // Its operator may write its status meanwhile.
    expect(events[0]).toEqual({
      type: expect.any(String) as string,
      namespace: 'default',
      name: 'a',
      resourceVersion: expect.any(String) as string,
    })
    expect((await run(watch, ['things'], { once: true, output: 'yaml' })).out).toEqual(
      expect.arrayContaining(['---', 'name: a']),
    )
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
    expect(out[0]).toMatch(shell === 'fish' ? /from generate' -a '.*deploy/ : /generate\) words=".*deploy/)
    expect(out[0]).toMatch(shell === 'fish' ? /-s o -l output -x -a 'json yaml'/ : /"top -o"\) words="json yaml"/)
    if (shell === 'fish') return
    // Where there is a bash, it accepts the script.
    const { status, error } = spawnSync('bash', ['-n'], { input: out[0] })
    expect(error ? 0 : status).toBe(0)
    if (error || shell === 'zsh') return
    const offered = (...words: readonly string[]): string => {
      const typed = words.map((word) => `'${word}'`).join(' ')
      const ask = `COMP_WORDS=(muster ${typed}); COMP_CWORD=${words.length}; _muster; echo "\${COMPREPLY[*]}"`
      return spawnSync('bash', ['-s'], { input: `${out[0]}\n${ask}\n`, encoding: 'utf8' }).stdout.trim()
    }
    expect(offered('generate', 'dep')).toBe('deploy dependent')
    expect(offered('top', '-o', '')).toBe('json yaml')
    expect(offered('top', '--on')).toBe('--once')
  })
})
