/**
 * Two replicas of `muster run` in processes of their own share fifty operators, one of which never ends. One replica is
 * killed; the configuration is broken and mended. On the embedded server in `npm test`, on a real one in `npm run test:real`.
 *
 * What is a doubled write? Not every second request: whoever hears no answer must ask again, or the write may be lost. So a
 * replica may repeat a request *of its own* that was not answered. Nobody may ask for what he could know to be done: what
 * was answered to him, and what he finds in the objects that he reads before he begins. The last write of the one that is
 * killed is of that kind: it is done, its answer never came, and who takes over finds it done. So a request for a child and a
 * wish that the server has taken before is doubled, unless it is the same replica's and the one before was not answered in
 * time (which happens on a busy machine). Requests are counted on their way (`passage.ts`): one for what is there already
 * changes nothing, and no watch tells of it. What the server refused does not count, for it did nothing.
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
import { type Fate, openPassage, type Passage, type PassingWrite } from './passage.ts'

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
  /** Its way to the server. */
  readonly passage: Passage
}

let ground: Ground
let folder: string
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

async function replica(): Promise<Replica> {
  const file = path.join(folder, `kubeconfig-${replicas.length}`)
  const passage = await openPassage(ground.kubeconfig, file, notice)
  const words = ['--conditions=muster-source', main, 'run', '--file', 'muster.yaml', '--kubeconfig', file]
  const child = spawn(process.execPath, words, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const one: Replica = { process: child, lines: [], hosted: new Set(), passage }
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

const isChild = (at: string): boolean => at.includes('/configmaps/a-')
/** `a-7=3` */
const childOf = ({ path: at, body }: PassingWrite): string => {
  const { size } = body['data'] as { readonly size: string }
  return `${/\/configmaps\/([^/?]+)/.exec(at)![1]!}=${size}`
}
/** Requests for children, those that were refused and those that never arrived among them. */
const asked = ({ passage }: Replica): readonly PassingWrite[] => passage.writes.filter((write) => isChild(write.path))
const isTaken = ({ status = 0 }: PassingWrite): boolean => status >= 200 && status < 300
/** Children that the server was asked for with success. */
const taken = (...by: readonly Replica[]): ReadonlySet<string> =>
  new Set(by.flatMap((one) => asked(one).filter(isTaken).map(childOf)))

/** What was asked for by somebody who could know that it was done. */
function doubled(...by: readonly Replica[]): readonly string[] {
  const before = new Map<string, readonly [Replica, PassingWrite]>()
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
  ground = await openGround(namespace, operators)
  ;({ folder, client } = ground)
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
  for (const { passage } of replicas) await passage.close()
  await ground.close()
}, 60_000)

describe('two replicas with fifty operators', () => {
  it('share them, and the one that never ends harms nobody', { timeout: 60_000 }, async () => {
    const [one, other] = [await replica(), await replica()]
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
    'one is killed in the middle of its work: the other takes over, and no write is lost or doubled',
    { timeout: 60_000 },
    async () => {
      const [one, other] = replicas as [Replica, Replica]
      const share = sane.flatMap(({ name }, index) => (one.hosted.has(name) ? [`a-${index}=3`] : []))
      // Of its share three are written and answered, one is written and it does not hear of it, and the others never leave.
      const fates: Fate[] = ['carried', 'carried', 'carried', 'unheard']
      one.passage.fateOf = (at) => (isChild(at) ? (fates.shift() ?? 'kept') : 'carried')
      const before = asked(one).length
      const begun = (): readonly PassingWrite[] => asked(one).slice(before)
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
      // What was left was done, and what was done was not even asked for.
      expect(done()).toEqual(byOne)
      const byOther = new Set(asked(other).map(childOf))
      expect(left.filter((child) => !byOther.has(child))).toEqual([])
      expect(byOne.filter((child) => byOther.has(child))).toEqual([])
      expect(taken(one, other)).toEqual(new Set(wishes))
      expect(doubled(one, other)).toEqual([])
      // Nor did anybody else write, by whatever way.
      expect(written.toSorted()).toEqual(wishes.toSorted())
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
    // Nobody writes any more: whatever was asked for twice has been by now.
    expect(doubled(...replicas)).toEqual([])
    const { items } = await client.list(resourceOf('coordination.k8s.io/v1', 'Lease'), { namespace })
    expect(items.map(({ metadata }) => metadata.name)).toEqual([])
  })
})
