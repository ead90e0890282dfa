/**
 * Two replicas of `muster run` in separate processes share fifty operators, one of which never ends. One replica is
 * killed; the configuration is broken and fixed. On the embedded server in `npm test`, on a real one in `npm run
 * test:real`.
 *
 * What is a duplicate write? Not every second request: a replica without a response must repeat its request, or the
 * write may be lost. A replica may therefore repeat its *own* request without a response. No replica may repeat a write
 * that it can know to be done: one with a response, or one that is visible in the objects it reads before it starts.
 * The last write of the killed replica is of that kind: it is done, its response never arrived, and the replica that
 * takes over finds it done. A request for a child and a size that the server has already accepted is therefore a
 * duplicate, unless it is from the same replica and the previous one had no response in time (which happens on a busy
 * machine). Requests are counted by a proxy (`recording-proxy.ts`): one without a change causes no watch event.
 * Rejected requests do not count.
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
import { resourceOf } from '../../src/kube/typed-resource.ts'
import { createWaiters, type ProcessEnvironment, openProcessEnvironment } from './process-environment.ts'
import { part, type SizedOperator, spinning } from './operators.ts'
import { type Fate, openRecordingProxy, type RecordingProxy, type RecordedWrite } from './recording-proxy.ts'

const count = 50
/** The operator that never ends. */
const mad = 49
const suffix = Math.floor(performance.timeOrigin).toString(36)
const namespace = `replicas-${suffix}`
const operators: readonly SizedOperator[] = Array.from({ length: count }, (_, index) =>
  index === mad ? spinning(index, suffix) : part(index, suffix),
)
const sane = operators.slice(0, mad)
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

interface Replica {
  readonly process: ChildProcess
  readonly lines: JsonObject[]
  /** The operators that it has started and not stopped. */
  readonly hosted: Set<string>
  /** Its proxy to the server. */
  readonly proxy: RecordingProxy
}

let environment: ProcessEnvironment
let folder: string
let client: Client
/** Every write of a child, in order: `name=size`. */
const written: string[] = []
const replicas: Replica[] = []
const { notice, until } = createWaiters()

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

async function replica(): Promise<Replica> {
  const file = path.join(folder, `kubeconfig-${replicas.length}`)
  const proxy = await openRecordingProxy(environment.kubeconfig, file, notice)
  const words = ['--conditions=muster-source', main, 'run', '--file', 'muster.yaml', '--kubeconfig', file]
  const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const one: Replica = { process: child, lines: [], hosted: new Set(), proxy }
  createInterface({ input: child.stderr }).on('line', (text) => {
    const line = text.startsWith('{') ? (JSON.parse(text) as JsonObject) : { text }
    one.lines.push(line)
    if (line['msg'] === 'Operator started') one.hosted.add(line['operator'] as string)
    if (line['msg'] === 'Operator stopped') one.hosted.delete(line['operator'] as string)
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

const isChild = (at: string): boolean => at.includes('/configmaps/a-')
/** `a-7=3` */
const childOf = ({ path: at, body }: RecordedWrite): string => {
  const { size } = body['data'] as { readonly size: string }
  return `${/\/configmaps\/([^/?]+)/.exec(at)![1]!}=${size}`
}
/** Requests for children, including rejected ones and those that never arrived. */
const asked = ({ proxy }: Replica): readonly RecordedWrite[] => proxy.writes.filter((write) => isChild(write.path))
const isTaken = ({ status = 0 }: RecordedWrite): boolean => status >= 200 && status < 300
/** Children that the server accepted. */
const taken = (...by: readonly Replica[]): ReadonlySet<string> =>
  new Set(by.flatMap((one) => asked(one).filter(isTaken).map(childOf)))

/** Requests by a replica that could know that the write was done. */
function doubled(...by: readonly Replica[]): readonly string[] {
  const before = new Map<string, readonly [Replica, RecordedWrite]>()
  return by.flatMap((one) =>
    asked(one)
      .filter(isTaken)
      .filter((write) => {
        const [sender, earlier] = before.get(childOf(write)) ?? []
        before.set(childOf(write), [one, write])
        return earlier && (sender !== one || earlier.isHeard)
      })
      .map(childOf),
  )
}

beforeAll(async () => {
  environment = await openProcessEnvironment(namespace, operators)
  ;({ folder, client } = environment)
  const exports = operators.map(
    (_, index) => `export const part${index} = ${index === mad ? 'spinning' : 'part'}(${index}, '${suffix}')\n`,
  )
  const module = `import { part, spinning } from './parts.ts'\n${exports.join('')}`
  await writeFile(path.join(folder, 'operators.ts'), module)
  await configure()
  environment.follow(({ metadata, data }) => {
    if (!metadata.ownerReferences) return
    written.push(`${metadata.name}=${data?.['size']}`)
    notice()
  })
}, 60_000)

afterAll(async () => {
  for (const { process: child } of replicas) child.kill('SIGKILL')
  for (const { proxy } of replicas) await proxy.close()
  await environment.close()
}, 60_000)

describe('two replicas with fifty operators', () => {
  it('share them, and one that never ends does not affect the others', { timeout: 60_000 }, async () => {
    const [one, other] = [await replica(), await replica()]
    /** Each replica has some, and no operator is on both. */
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
      replicas
        .flatMap(({ lines }) => lines)
        .find((line) => line['outcome'] === 'failed' && line['operator'] === `part-${mad}`)
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
    'when one is killed during its work, the other takes over without lost or duplicate writes',
    { timeout: 60_000 },
    async () => {
      const [one, other] = replicas as [Replica, Replica]
      const share = sane.flatMap(({ name }, index) => (one.hosted.has(name) ? [`a-${index}=3`] : []))
      // Of its share three are written with a response, one is written without a response, and the others never leave.
      const fates: Fate[] = ['carried', 'carried', 'carried', 'unheard']
      one.proxy.fateOf = (at) => (isChild(at) ? (fates.shift() ?? 'kept') : 'carried')
      const before = asked(one).length
      const begun = (): readonly RecordedWrite[] => asked(one).slice(before)
      const done = (): readonly string[] => begun().filter(isTaken).map(childOf)
      const resized = resize(all, 3)
      await until(
        () => done().length === 4 && begun().some(({ fate }) => fate === 'kept'),
        () => `${done().join()} of ${begun().length} were written`,
      )
      one.process.kill('SIGKILL')
      await resized
      const [byOne, left] = [done(), share.filter((child) => !done().includes(child))]
      expect(left.length).toBeGreaterThan(0)
      await until(
        () => missing(3).length === 0 && other.hosted.size === count,
        () => missing(3).join(),
      )
      await resize(all, 4)
      const wishes = [1, 2, 3, 4].flatMap((size) => children(size))
      await until(
        () => missing(4).length === 0 && wishes.every((child) => taken(one, other).has(child)),
        () => missing(4).join(),
      )
      // The remaining writes were made, and finished ones were not even requested.
      expect(done()).toEqual(byOne)
      const byOther = new Set(asked(other).map(childOf))
      expect(left.filter((child) => !byOther.has(child))).toEqual([])
      expect(byOne.filter((child) => byOther.has(child))).toEqual([])
      expect(taken(one, other)).toEqual(new Set(wishes))
      expect(doubled(one, other)).toEqual([])
      // And there was no other writer.
      expect(written.toSorted()).toEqual(wishes.toSorted())
    },
  )

  it(
    'an invalid configuration is reported and has no effect; a corrected one takes effect',
    { timeout: 60_000 },
    async () => {
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
    },
  )

  it('end cleanly and delete their Leases', { timeout: 60_000 }, async () => {
    const { process: child } = replicas[1]!
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number | null]
    expect(code).toBe(0)
    // There are no more writes: any duplicate would have been sent by now.
    expect(doubled(...replicas)).toEqual([])
    const { items } = await client.list(resourceOf('coordination.k8s.io/v1', 'Lease'), { namespace })
    expect(items.map(({ metadata }) => metadata.name)).toEqual([])
  })
})
