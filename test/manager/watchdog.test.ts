/**
 * An operator in the manager's own thread enters an endless loop. The process ends itself and reports the operator;
 * from then on that operator is isolated, by the next process and by the replica that takes over, until it is fixed. On
 * the embedded server in `npm test`, on a real one in `npm run test:real`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import type { JsonObject } from '../../src/kube/json.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { ConfigMap } from '../../src/kube/kinds.ts'
import { resourceOf, type TypedResource } from '../../src/kube/typed-resource.ts'
import { createWaiters, type ProcessEnvironment, openProcessEnvironment } from './process-environment.ts'
import { looping, part, type SizedOperator } from './operators.ts'

/** The operator that loops for CRs of size 13. */
const mad = 2
const deadly = 13
const suffix = `w${Math.floor(performance.timeOrigin).toString(36)}`
const namespace = `watchdog-${suffix}`
const operators: readonly SizedOperator[] = [part(0, suffix), part(1, suffix), looping(mad, suffix)]
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const Event: TypedResource<UntypedObject> = resourceOf('v1', 'Event')
const record = { name: 'muster-quarantine', namespace }

interface Running {
  readonly process: ChildProcess
  readonly lines: JsonObject[]
  readonly ended: Promise<NodeJS.Signals | null>
}

let environment: ProcessEnvironment
let folder: string
let kubeconfig: string
let client: Client
const written = new Set<string>()
const all: Running[] = []
const { notice, until } = createWaiters()

async function configure(more: JsonObject = {}): Promise<void> {
  const sections = operators.map(({ name }, index) => [
    name,
    { from: `./operators.ts#part${index}`, budgets: { runTimeout: '1s' } },
  ])
  const value = {
    watchdog: { blockedFor: '1s', quarantine: `${record.namespace}/${record.name}` },
    health: { port: 0 },
    metrics: { port: 0 },
    operators: Object.fromEntries(sections) as JsonObject,
    ...more,
  }
  await writeFile(path.join(folder, 'muster.yaml'), JSON.stringify(value, undefined, 2))
}

async function writeModule(isMended: boolean): Promise<void> {
  const make = [`part(0, '${suffix}')`, `part(1, '${suffix}')`, `looping(${mad}, '${suffix}', ${isMended})`]
  const exports = make.map((made, index) => `export const part${index} = ${made}\n`)
  await writeFile(path.join(folder, 'operators.ts'), `import { looping, part } from './parts.ts'\n${exports.join('')}`)
}

function run(access = kubeconfig): Running {
  const words = ['--conditions=muster-source', main, 'run', '--file', 'muster.yaml', '--kubeconfig', access]
  const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit').then(([, signal]) => signal as NodeJS.Signals | null)
  const one: Running = { process: child, lines: [], ended }
  createInterface({ input: child.stderr }).on('line', (text) => {
    one.lines.push(text.startsWith('{') ? (JSON.parse(text) as JsonObject) : { text })
    notice()
  })
  all.push(one)
  return one
}

const said = ({ lines }: Running, what: JsonObject): JsonObject | undefined =>
  lines.find((line) => Object.entries(what).every(([name, value]) => line[name] === value))
const isUp = (one: Running): boolean =>
  operators.every(({ name }) => said(one, { operator: name, msg: 'Operator started' }))
const tail = ({ lines }: Running): string =>
  lines
    .slice(-6)
    .map((line) => JSON.stringify(line))
    .join('\n')

async function resize(index: number, name: string, size: number): Promise<void> {
  await client.patch(operators[index]!.own, { name, namespace }, { spec: { size } }, { type: 'merge' })
}

/** Every other operator writes as desired, and so does the looping one for its other CR. */
async function expectWork(one: Running, size: number): Promise<void> {
  await Promise.all([resize(0, 'a', size), resize(1, 'a', size), resize(mad, 'b', size)])
  await until(
    () => [`a-0=${size}`, `a-1=${size}`, `b-${mad}=${size}`].every((child) => written.has(child)),
    () => `${[...written].join()}\n${tail(one)}`,
  )
}

async function end(one: Running): Promise<void> {
  one.process.kill('SIGTERM')
  await one.ended
}

async function forgive(): Promise<void> {
  await resize(mad, 'a', 1)
  await client.delete(ConfigMap, record)
}

beforeAll(async () => {
  environment = await openProcessEnvironment(namespace, operators)
  ;({ folder, kubeconfig, client } = environment)
  await writeModule(false)
  for (const { own } of operators) {
    for (const name of ['a', 'b']) {
      await client.create(own, own.draft({ name, namespace }, {}) as unknown as UntypedObject)
    }
  }
  environment.follow(({ metadata, data }) => {
    written.add(`${metadata.name}=${data?.['size']}`)
    notice()
  })
}, 60_000)

afterAll(async () => {
  for (const { process: child } of all) child.kill('SIGKILL')
  await environment.close()
}, 60_000)

const patience = { timeout: 90_000 }
const culprit = { operator: `part-${mad}`, key: `${namespace}/a` }

describe('an operator that blocks the event loop', () => {
  it('ends its manager, which reports the operator and the stack and records both', patience, async () => {
    await configure()
    const one = run()
    await until(
      () => isUp(one) && written.has(`a-${mad}=1`),
      () => tail(one),
    )
    await resize(mad, 'a', deadly)
    expect(await one.ended).toBe('SIGKILL')
    const told = one.lines.find((line) => line['heldSeconds'] !== undefined)
    expect(told).toMatchObject({ ...culprit, level: 'error', controller: `part${mad}`, heldSeconds: 1 })
    expect(told?.['line']).toMatch(/^parts\.ts:\d+/)
    const { data = {} } = await client.get(ConfigMap, record)
    const [[key, entry] = []] = Object.entries(data)
    expect(key).toMatch(new RegExp(`^part-${mad}\\.[0-9a-f]{16}$`))
    expect(JSON.parse(entry ?? '{}')).toMatchObject({ ...culprit, step: told?.['step'], or: [] })
  })

  it(
    'is quarantined by the next manager: its loop is interrupted, its other CR and all other operators are served',
    patience,
    async () => {
      const one = run()
      await until(
        () => isUp(one),
        () => tail(one),
      )
      expect(said(one, { operator: culprit.operator, finding: 'quarantined' })?.['msg']).toContain('level worker')
      await until(
        () => said(one, { ...culprit, outcome: 'failed', reason: 'ReconcileTimeout' }) !== undefined,
        () => tail(one),
      )
      await expectWork(one, 21)
      const { items } = await client.list(Event, { namespace })
      expect(items.map((event) => event['reason'])).toContain('Quarantined')
      await end(one)
    },
  )

  it('stops the leader, but not the standby that takes over', patience, async () => {
    await forgive()
    const lease = { leaseDuration: '6s', renewDeadline: '4s', retryPeriod: '500ms' }
    const leaderElection = { leaderElect: true, resourceName: 'watchdog', resourceNamespace: namespace, ...lease }
    await configure({ leaderElection })
    const [one, other] = [run(), run()]
    await until(
      () => isUp(one) && isUp(other),
      () => `${tail(one)}\n${tail(other)}`,
    )
    await expectWork(one, 31)
    await resize(mad, 'a', deadly)
    await Promise.race([one.ended, other.ended])
    const [dead, heir] = one.process.signalCode === null ? [other, one] : [one, other]
    expect(dead.process.signalCode).toBe('SIGKILL')
    await until(
      () => said(heir, { operator: culprit.operator, finding: 'quarantined' }) !== undefined,
      () => tail(heir),
    )
    await expectWork(heir, 32)
    expect(heir.process.signalCode).toBe(null)
    await end(heir)
  })

  it('leaves quarantine when its module changes', patience, async () => {
    await configure()
    await writeModule(true)
    const one = run()
    await until(
      () => isUp(one) && written.has(`a-${mad}=${deadly}`),
      () => tail(one),
    )
    expect(said(one, { finding: 'quarantined' })).toBe(undefined)
    await end(one)
  })

  it('ends its manager even if the API server is unavailable', patience, async () => {
    await forgive()
    await writeModule(false)
    await configure()
    const access = path.join(folder, 'access')
    await copyFile(kubeconfig, access)
    const one = run(access)
    await until(
      () => isUp(one),
      () => tail(one),
    )
    const text = await readFile(access, 'utf8')
    await writeFile(access, text.replace(/server: .*/, 'server: https://127.0.0.1:1'))
    await resize(mad, 'a', deadly)
    expect(await one.ended).toBe('SIGKILL')
    expect(one.lines.find((line) => line['heldSeconds'] !== undefined)).toMatchObject(culprit)
    expect(one.lines.some(({ msg }) => typeof msg === 'string' && msg.includes('was not quarantined'))).toBe(true)
    await resize(mad, 'a', 1)
  })
})
