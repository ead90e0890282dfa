/** The messages that the handbook quotes under "What can go wrong" are those that the code says: each is provoked here. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import { App as AppKind, app, type AppController, conditionsOf, openAppEnvironment } from '../app-operator.ts'
import { configMap } from '../embedded.ts'
import type { JsonObject } from '../../src/kube/json.ts'
import { ConfigMap, Deployment, Pod, Secret } from '../../src/kube/kinds.ts'
import { fakeSidecar } from '../../src/manager/testing/fake-sidecar.ts'
import { describeOperator } from '../../src/manager/isolation/protocol/description.ts'
import { accessFor } from '../../src/manager/webhooks/access-reviews.ts'
import { convertObject, defineConversion } from '../../src/operator/kind/conversion.ts'
import { defineConfig } from '../../src/operator/config.ts'
import { type Controller, defineController } from '../../src/operator/controller.ts'
import { defineDependent, type DependentOverlay } from '../../src/operator/dependent/dependent.ts'
import { integer, string } from '../../src/operator/kind/field.ts'
import { exactly } from '../../src/operator/view/input.ts'
import { checkKind } from '../../src/operator/kind/kind-check.ts'
import { defineKind } from '../../src/operator/kind/kind.ts'
import { defineApplication } from '../../src/operator/lifecycle/application.ts'
import { defineLifecycle } from '../../src/operator/lifecycle/lifecycle.ts'
import { offline } from '../../src/operator/live.ts'
import { defineOperator } from '../../src/operator/operator.ts'
import { defineWebhook } from '../../src/operator/kind/webhook.ts'
import { type Coordinator, defineCoordinator, type DecisionBatch } from '../../src/operator/coordinator/coordinator.ts'
import { defineTask, type Task } from '../../src/operator/task/task.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Words of reports, which their own tests check. */
const otherwise = new Set(['FAILED   idempotent', 'FAILED   follows its CR', 'same end', 'warned   least access'])

interface Quote {
  readonly page: string
  readonly text: string
}

const quotes = globSync('docs/operators/*.md', { cwd: root }).toSorted().flatMap(quotesOf)

/** Sentences in the tables of messages; single words are names of conditions and errors. */
function quotesOf(page: string): readonly Quote[] {
  const text = readFileSync(path.join(root, page), 'utf8')
  const [, tables = ''] = text.split(/^## (?:What can go wrong|Mistakes, and where each is named)$/m)
  const rows = tables.split('\n').filter((line) => line.startsWith('|'))
  const column = page.endsWith('debugging.md') ? 3 : 1
  return rows
    .flatMap((row) =>
      [...(row.split(/(?<!\\)\|/)[column] ?? '').matchAll(/`([^`]+)`/g)].map(([, quoted = '']) => quoted),
    )
    .filter((quoted) => quoted.includes(' ') && !otherwise.has(quoted))
    .map((quoted) => ({ page, text: quoted }))
}

const said: string[] = []

/** What a definition throws. */
function define(make: () => unknown): void {
  try {
    make()
  } catch (error) {
    said.push((error as Error).message)
  }
}

/** What a reconcile reports and logs. */
async function reconcile(controller: AppController): Promise<void> {
  const testEnv = await openAppEnvironment(controller, {
    log: (line) => void said.push(JSON.stringify(line['error'] ?? '')),
  })
  await testEnv.create(ConfigMap, configMap('shared', {}))
  await testEnv.create(AppKind, app('a'))
  await testEnv.settle(60_000)
  for (const { message } of Object.values(await conditionsOf(testEnv.client, 'a'))) said.push(message)
  await testEnv.client.delete(AppKind, { name: 'a', namespace: 'default' })
  await testEnv.settle()
  for (const { failure, waiting } of testEnv.ledgers) said.push(failure?.message ?? waiting ?? '')
  await testEnv.close()
}

type DecideLicences = (state: { count: number }, now: number) => DecisionBatch<number>

function licencesOf(decide: DecideLicences): Coordinator<number> {
  const parts = { start: () => ({ count: 0 }), take: () => undefined, decide }
  return defineCoordinator({ name: 'licences', reads: [ConfigMap], ...parts })
}

/** What a coordinator is reported for. */
async function coordinate(decide: DecideLicences): Promise<void> {
  const licences = licencesOf(decide)
  const controller: AppController = { coordinators: [licences], check: ({ decision }) => void decision(licences, 'a') }
  const log = (line: JsonObject): void => void said.push(JSON.stringify(line['msg'] ?? ''))
  const testEnv = await openAppEnvironment(controller, { log })
  await testEnv.create(AppKind, app('a'))
  await testEnv.settle(20_000)
  for (const { waiting = '' } of testEnv.ledgers) said.push(waiting)
  await testEnv.close()
}

const shop = { group: 'example.com', version: 'v1', kind: 'Shop', spec: {} } as const
const loose = <T>(value: object): DependentOverlay<T> => value as DependentOverlay<T>
/** As in JavaScript, where no compiler finds it. */
const misspelt: object = { activeWhan: () => true }
const undeclared: object = { sean: 'x' }

function defineAll(): void {
  define(() => checkKind(defineKind({ ...shop, group: 'shop' })))
  define(() => checkKind(defineKind({ ...shop, spec: { host: string({ pattern: '(' }) } })))
  define(() => checkKind(defineKind({ ...shop, spec: { size: integer({ minimum: 3, default: 1 }) } })))
  define(() => defineDependent({ for: AppKind, kind: ConfigMap, policy: 'create-only', scope: { data: true } }))
  define(() => defineDependent({ for: AppKind, kind: ConfigMap, renewWhen: () => true }))
  define(() => defineDependent({ for: AppKind, kind: ConfigMap, ...misspelt }))
  define(() => exactly(Secret, { name: 'a' }))

  const a = defineDependent({ for: AppKind, kind: ConfigMap, id: 'a', dependsOn: [{ id: 'b' }] })
  const b = defineDependent({ for: AppKind, kind: Secret, id: 'b', dependsOn: [a] })
  define(() => defineController({ for: AppKind, dependents: [a, b] }))
  define(() => defineController({ for: AppKind, dependents: [b] }))
  define(() => defineController({ for: AppKind, dependents: [a], reconcile: () => ({}) }))

  const settings = defineConfig({ domain: string({ default: 'a' }), maxBodyMegabytes: integer({ default: 8 }) })
  const wrong: object = { domian: 'b' }
  define(() => settings.read(wrong))
  const site = defineController({ for: AppKind, name: 'site', config: settings })
  // The compiler refuses it, too.
  define(() => defineOperator({ name: 'site', controllers: [site as Controller] }))

  const v1beta1 = { version: 'v1beta1', spec: {} } as const
  const Server = defineKind({ ...shop, kind: 'Server', otherVersions: [v1beta1] })
  const functions = { toStored: () => ({ spec: {} }), fromStored: () => ({ spec: {} }) }
  define(() => defineConversion(Server, { version: 'v1alpha1', spec: {} }, functions))
  const served = { apiVersion: 'example.com/v1', kind: 'Server', metadata: { name: 's' } }
  define(() => convertObject([defineConversion(Server, v1beta1, functions)], served, 'example.com/v2'))
  define(() => defineController({ for: Server, reads: [{ ...Server, version: 'v1beta1' }] }))

  const Project = defineKind({ ...shop, kind: 'Project' })
  define(() => defineWebhook({ for: Project }))
  define(() => defineWebhook({ for: Project, name: 'slow', timeoutSeconds: 60, validate: () => undefined }))

  const lifecycle = defineLifecycle({
    name: 'Site',
    start: 'up',
    end: 'down',
    desiredStates: ['up', 'down'],
    defaultState: 'up',
    states: { up: { to: ['down'] }, down: { to: ['up'] } },
  })
  define(() => defineApplication({ for: AppKind, lifecycle }))
  define(() => fakeSidecar({ state: 'up' }).finish())

  const coordinators = [licencesOf(() => ({ decisions: [] }))]
  const queued = defineController({ for: AppKind, coordinators, reconcile: () => ({}) })
  define(() => describeOperator(defineOperator({ name: 'queued', controllers: [queued] })))
}

beforeAll(async () => {
  defineAll()
  const user = { username: 'ada', uid: '', groups: [], extra: new Map<string, readonly string[]>() }
  const calls: readonly Promise<unknown>[] = [
    fakeSidecar({ state: 'up' }).exec({ name: 'a' }, ['ls']),
    offline.http({ url: 'https://buckets.example.com/a' }),
    accessFor({ name: 'projects', access: false }, user, undefined).may({ verb: 'get', kind: Secret }),
  ]
  for (const call of calls) await call.catch((error: unknown) => void said.push((error as Error).message))

  const deployment = (options: object): AppController => ({
    dependents: [defineDependent({ for: AppKind, kind: Deployment, ...options })],
  })
  const page = (name: (key: string) => string) =>
    defineDependent({
      for: AppKind,
      kind: ConfigMap,
      id: 'page',
      each: () => ({ a: 1, b: 2 }),
      name: ({ key }) => name(key),
    })
  const larger = { for: AppKind, kind: ConfigMap, id: 'third', writtenWhen: () => 'a larger size' } as const
  const none = JSON.parse('{}') as { finalization: 'done' }
  await reconcile(deployment({ initial: loose({ spec: { replica: 1 } }) }))
  await reconcile(deployment({ fromCR: () => loose({ spec: { replica: 1 } }) }))
  await reconcile(deployment({ initial: { spec: { replicas: 1 } }, scope: { except: ['spec.replica'] } }))
  await reconcile({ status: () => undeclared })
  await reconcile({ dependents: [defineDependent({ for: AppKind, kind: ConfigMap, name: () => 'shared' })] })
  await reconcile({ dependents: [page(() => 'same')] })
  await reconcile({ dependents: [page((key) => key)], maxCreations: 1 })
  await reconcile({ dependents: [defineDependent(larger)] })
  await reconcile({ check: ({ view }) => void view.list(Pod) })
  await reconcile({ check: ({ cr }) => void Object.assign(cr.spec, { size: 2 }) })
  await reconcile({ check: () => new Promise(() => undefined) })
  await reconcile({
    check() {
      throw new Error('no such thing')
    },
  })
  await reconcile({ finalize: () => none.finalization })
  await reconcile({ reconcile: () => ({ objects: [configMap('b', {})] }) })
  await reconcile({ reconcile: () => ({ requeueAfterMs: NaN }) })
  const build = defineTask({ name: 'build', run: () => null })
  const ask = (input: unknown, tasks: readonly Task[]): AppController => ({
    tasks,
    check: async ({ result }) => void (await result(build, input)),
  })
  await reconcile(ask(1, []))
  await reconcile(ask(undefined, [build]))
  const licences = licencesOf(() => ({ decisions: [] }))
  await reconcile({ check: ({ decision }) => void decision(licences, 'a') })
  await coordinate(() => {
    throw new Error('an odd session')
  })
  await coordinate((_state, now) => ({ decisions: [], again: now - 1 }))
  await coordinate((state, now) => ({ decisions: [['a', state.count++]], again: now + 1 }))
})

/** As a test that the page names expects it: in a string, or escaped in a regular expression. */
function expectedElsewhere({ page, text }: Quote): boolean {
  const named = [...readFileSync(path.join(root, page), 'utf8').matchAll(/`([\w./-]+\.test\.ts)`/g)]
  const files = named.map(([, file = '']) => path.join(root, file))
  return files.some((file) => readFileSync(file, 'utf8').replaceAll('\\', '').includes(text))
}

it.each(quotes)('$page: $text', (quote) => {
  // "https://…" stands for any address.
  const parts = quote.text.split('…')
  const isSaid = said.some((message) => parts.every((part) => message.includes(part)))
  expect(isSaid || expectedElsewhere(quote)).toBe(true)
})
