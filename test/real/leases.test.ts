/** Replicas in processes of their own, killed and stopped, with leases of three seconds on a real kube-apiserver. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { systemClock } from '../../src/clock/system-clock.ts'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import { httpTransport } from '../../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../../src/client/load-connection.ts'
import type { Lease } from '../../src/kube/types/coordination/v1.ts'
import { leaseRequests, leaseResource } from '../../src/manager/leases/lease.ts'
import type { Told } from './leases/replica.ts'

const namespace = 'default'
const name = `leases-suite-${Date.now().toString(36)}`
const script = fileURLToPath(new URL('leases/replica.ts', import.meta.url))
const items = 20

interface Replica {
  readonly identity: string
  readonly process: ChildProcess
  /** What it said, and that it could do nothing from when we stopped or killed it. */
  readonly told: Told[]
}

const nothing = { isLeader: false, owned: [] }

let client: Client
const replicas: Replica[] = []
/** Called on each line of a replica. */
let onTold = (): void => undefined

function start(identity: string): Replica {
  const child = spawn(process.execPath, [script, namespace, name, identity], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.write(`${JSON.stringify(inject('cluster').kubeconfig)}\n`)
  const replica: Replica = { identity, process: child, told: [] }
  createInterface({ input: child.stdout }).on('line', (line) => {
    replica.told.push(JSON.parse(line) as Told)
    onTold()
  })
  replicas.push(replica)
  return replica
}

const now = ({ told }: Replica): Omit<Told, 'at'> => told.at(-1) ?? nothing
const leaders = (): readonly Replica[] => replicas.filter((replica) => now(replica).isLeader)
const owned = (): readonly string[] => replicas.flatMap((replica) => now(replica).owned)
const isWell = (count: number): boolean =>
  leaders().length === 1 &&
  owned().length === items &&
  replicas.filter((one) => now(one).owned.length > 0).length === count

/** Which replica held what, and from when to when. All processes share one clock here. */
function spells(): readonly {
  readonly what: string
  readonly who: string
  readonly from: number
  readonly to: number
}[] {
  return replicas.flatMap(({ identity: who, told }) =>
    told.flatMap(({ at: from, isLeader, owned: theirs }, index) =>
      [...theirs, ...(isLeader ? ['leading'] : [])].map((what) => ({
        what,
        who,
        from,
        to: told[index + 1]?.at ?? Number.POSITIVE_INFINITY,
      })),
    ),
  )
}

function doubled(): readonly unknown[] {
  const all = spells()
  return all.flatMap((one) =>
    all
      .filter(({ what, who, from, to }) => what === one.what && who > one.who && from < one.to && one.from < to)
      .map((other) => [one, other]),
  )
}

function until(done: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    onTold = () => {
      if (done()) resolve()
    }
    onTold()
  })
}

async function end(replica: Replica, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const gone = once(replica.process, 'exit')
  if (signal === 'SIGKILL') replica.told.push({ at: Date.now(), ...nothing })
  replica.process.kill(signal)
  await gone
}

const found = async (): Promise<readonly string[]> => {
  const { items: all } = await client.list<Lease>(leaseResource, { namespace })
  return all.map(({ metadata }) => metadata.name).filter((one) => one.startsWith(name))
}

beforeAll(async () => {
  const connection = await connectionFromKubeconfig(inject('cluster').kubeconfig, { clock: systemClock })
  client = createClient({ transport: httpTransport(connection, { clock: systemClock }) })
})

afterAll(async () => {
  for (const { process: child } of replicas) child.kill('SIGKILL')
  for (const one of await found()) await client.delete(leaseResource, { namespace, name: one })
  await client.close()
})

describe('leases on a real server', () => {
  it('three replicas: one leads, and the items are divided among all', async () => {
    for (const identity of ['a', 'b', 'c']) start(identity)
    await until(() => isWell(3))
    expect(doubled()).toEqual([])
  })

  it('after kill -9 another replica leads, the share moves, and the stale Lease is deleted', async () => {
    const [leader] = leaders()
    await end(leader!, 'SIGKILL')
    await until(() => isWell(2))
    const { spec } = await client.get<Lease>(leaseResource, { namespace, name })
    expect(spec?.holderIdentity).toBe(leaders()[0]?.identity)
    expect(spec?.leaseTransitions).toBe(1)
    for (;;) if (!(await found()).includes(`${name}-${leader!.identity}`)) break
    expect(doubled()).toEqual([])
  })

  it('a replica that is paused and resumed first reports an empty share, and then gets its share back', async () => {
    const [leader] = leaders()
    leader!.told.push({ at: Date.now(), ...nothing })
    leader!.process.kill('SIGSTOP')
    await until(() => isWell(1))
    const { length } = leader!.told
    leader!.process.kill('SIGCONT')
    await until(() => leader!.told.length > length)
    expect(leader!.told[length]).toMatchObject(nothing)
    await until(() => isWell(2))
    expect(doubled()).toEqual([])
  })

  it('a replica that shuts down hands over, and leaves nothing behind', async () => {
    const [leader] = leaders()
    await end(leader!, 'SIGTERM')
    await until(() => isWell(1))
    const [last] = leaders()
    expect(await found()).toEqual([name, `${name}-${last!.identity}`])
    expect(doubled()).toEqual([])
    await end(last!, 'SIGTERM')
    expect(await found()).toEqual([name])
    expect((await client.get<Lease>(leaseResource, { namespace, name })).spec?.holderIdentity).toBeUndefined()
  })

  it('a renewal that arrives after its Lease was deleted does not recreate it', async () => {
    const requests = leaseRequests(client)
    const options = { timeoutMs: 5_000 }
    const metadata = { namespace, name: `${name}-late` }
    const made = await requests.create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata }, options)
    await requests.remove(made, options)
    await expect(requests.update(made, options)).rejects.toMatchObject({ name: 'Conflict' })
    expect(await found()).not.toContain(metadata.name)
  })
})
