/**
 * Two replicas of `muster run` in processes of their own share fifty operators, one of which never ends. One replica is
 * killed; the configuration is broken and mended. On the embedded server in `npm test`, on a real one in `npm run test:real`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import type { JsonObject } from '../../src/kube/json.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { resourceOf } from '../../src/operator/typed-resource.ts'
import { createWaiting, type Ground, openGround } from './ground.ts'
import { part, type Part, spinning } from './operators.ts'

const count = 50
/** The one that never ends. */
const mad = 49
const suffix = Math.floor(performance.timeOrigin).toString(36)
const namespace = `replicas-${suffix}`
const operators: readonly Part[] = Array.from({ length: count }, (_, index) =>
  index === mad ? spinning(index, suffix) : part(index, suffix),
)
const sane = operators.slice(0, mad)
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

interface Replica {
  readonly process: ChildProcess
  readonly lines: JsonObject[]
  /** The operators that it has started and not ended. */
  readonly hosted: Set<string>
}

let ground: Ground
let folder: string
let kubeconfig: string
let client: Client
/** Every write of a child, in order: `name=size`. */
const written: string[] = []
const replicas: Replica[] = []
const { notice, until } = createWaiting()

async function configure(more: Readonly<Record<string, JsonObject>> = {}): Promise<void> {
  const lease = { leaseDuration: '3s', renewDeadline: '2s', retryPeriod: '500ms' }
  const module = path.join(folder, 'operators.ts')
  const sections = operators.map(({ name }, index) => {
    const isolation = index === mad ? { isolation: 'worker', budgets: { runTimeout: '1s' } } : {}
    return [name, { from: `${module}#part${index}`, ...isolation, ...more[name] }]
  })
  const value = {
    sharding: { enabled: true, group: namespace, namespace, ...lease },
    health: { port: 0 },
    metrics: { port: 0 },
    operators: Object.fromEntries(sections) as JsonObject,
  }
  await writeFile(path.join(folder, 'muster.yaml'), JSON.stringify(value, undefined, 2))
}

function replica(): Replica {
  const words = ['--conditions=muster-source', main, 'run', '--file', 'muster.yaml', '--kubeconfig', kubeconfig]
  const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const one: Replica = { process: child, lines: [], hosted: new Set() }
  createInterface({ input: child.stderr }).on('line', (text) => {
    const line = text.startsWith('{') ? (JSON.parse(text) as JsonObject) : { text }
    one.lines.push(line)
    if (line['started'] === true) one.hosted.add(line['operator'] as string)
    if (line['ended'] === true) one.hosted.delete(line['operator'] as string)
    notice()
  })
  replicas.push(one)
  return one
}

const resize = (indexes: Iterable<number>, size: number): Promise<unknown> =>
  Promise.all(
    [...indexes].map((index) =>
      client.patch(operators[index]!.own, { name: 'a', namespace }, { spec: { size } }, { type: 'merge' }),
    ),
  )

const children = (size: number): readonly string[] => sane.map((_, index) => `a-${index}=${size}`)
const missing = (size: number): readonly string[] => children(size).filter((one) => !written.includes(one))
const all = sane.map((_, index) => index)

beforeAll(async () => {
  ground = await openGround(namespace, operators)
  ;({ folder, kubeconfig, client } = ground)
  const exports = operators.map(
    (_, index) => `export const part${index} = ${index === mad ? 'spinning' : 'part'}(${index}, '${suffix}')\n`,
  )
  const module = `import { part, spinning } from './parts.ts'\n${exports.join('')}`
  await writeFile(path.join(folder, 'operators.ts'), module)
  await configure()
  ground.follow(({ metadata, data }) => {
    if (!metadata.ownerReferences) return
    written.push(`${metadata.name}=${data?.['size']}`)
    notice()
  })
}, 60_000)

afterAll(async () => {
  for (const { process: child } of replicas) child.kill('SIGKILL')
  await ground.close()
}, 60_000)

describe('two replicas with fifty operators', () => {
  it('share them, and the one that never ends harms nobody', { timeout: 60_000 }, async () => {
    const [one, other] = [replica(), replica()]
    /** Each has some, and none has both. */
    const isShared = (): boolean =>
      Math.min(one.hosted.size, other.hosted.size) > 0 && one.hosted.size + other.hosted.size === count
    await Promise.all(
      operators.map(({ own }) =>
        client.create(own, own.draft({ name: 'a', namespace }, {}) as unknown as UntypedObject),
      ),
    )
    await until(
      () => missing(1).length === 0 && isShared(),
      () => `${missing(1).join()} of ${one.hosted.size} and ${other.hosted.size}`,
    )
    const complaint = (): JsonObject | undefined =>
      replicas.flatMap(({ lines }) => lines).find((line) => line['outcome'] === 'failed')
    await until(
      () => complaint() !== undefined,
      () => 'nobody noticed the one that never ends',
    )
    expect(complaint()).toMatchObject({ operator: `part-${mad}`, key: `${namespace}/a`, reason: 'ReconcileTimeout' })
    await resize(all, 2)
    await until(
      () => missing(2).length === 0,
      () => missing(2).join(),
    )
  })

  it(
    'one is killed in the middle of its work: the other takes over, and no write is lost or doubled',
    { timeout: 60_000 },
    async () => {
      const [one, other] = replicas as [Replica, Replica]
      const halfWay = resize(all, 3)
      await until(
        () => missing(3).length < sane.length,
        () => 'nothing was written',
      )
      one.process.kill('SIGKILL')
      await halfWay
      await until(
        () => missing(3).length === 0 && other.hosted.size === count,
        () => missing(3).join(),
      )
      await resize(all, 4)
      await until(
        () => missing(4).length === 0,
        () => missing(4).join(),
      )
      const twice = written.filter((child, index) => written.indexOf(child) < index)
      expect(twice).toEqual([])
    },
  )

  it('a broken configuration is named and changes nothing; a mended one is in force', { timeout: 60_000 }, async () => {
    const other = replicas[1]!
    const good = await readFile(path.join(folder, 'muster.yaml'), 'utf8')
    await writeFile(path.join(folder, 'muster.yaml'), good.replace('"part-3": {', '"part-3": { "puased": true,'))
    const problem = (): JsonObject | undefined =>
      other.lines.find((line) => JSON.stringify(line).includes('operators.part-3.puased'))
    await until(
      () => problem() !== undefined,
      () => 'nobody complained',
    )
    expect(JSON.stringify(problem())).toContain('paused')
    await resize(all, 5)
    await until(
      () => missing(5).length === 0,
      () => missing(5).join(),
    )
    await configure({ 'part-3': { paused: true } })
    await until(
      () => other.lines.some((line) => JSON.stringify(line).includes('operators.part-3.paused')),
      () => 'nothing was taken over',
    )
    await resize(all, 6)
    await until(
      () => missing(6).length <= 1,
      () => missing(6).join(),
    )
    expect(missing(6)).toEqual(['a-3=6'])
  })

  it('ends cleanly, and leaves no lease behind', { timeout: 60_000 }, async () => {
    const { process: child } = replicas[1]!
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number | null]
    expect(code).toBe(0)
    const { items } = await client.list(resourceOf('coordination.k8s.io/v1', 'Lease'), { namespace })
    expect(items.map(({ metadata }) => metadata.name)).toEqual([])
  })
})
