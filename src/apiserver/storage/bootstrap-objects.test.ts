import { array, assert, boolean, constantFrom, nat, property, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FaultyDisk, faultyDisk } from '../../../test/faulty-disk.ts'
import { seededRandom } from '../../clock/random.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import type { Handler } from '../../transport/transport.ts'
import type { Method } from '../../transport/transport.ts'
import { parseJson } from '../../kube/json.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { bootstrapPolicy } from '../bootstrap/bootstrap-policy.ts'
import { rbacTables } from '../access/rbac.ts'
import { type DurableApiServer, openApiServer } from '../server/api-server.ts'
import type { BootstrapObjects } from './bootstrap-objects.ts'
import { openJournal } from './journal/journal.ts'
import { type StorageChange, createStorage, type StoredObject } from './storage.ts'

const segment = 'segment-00000001'

/** The first server on a disk always has the same seed; later ones have others. */
async function openOn(disk: FaultyDisk, seed = 1, segmentBytes?: number): Promise<DurableApiServer> {
  const journal = await openJournal(disk, { segmentBytes })
  const folder = { ...journal, entries: [...journal.entries], release: () => undefined }
  return await openApiServer({ clock: virtualClock(), random: seededRandom(seed), folder })
}

async function ask(server: Handler, method: Method, path: string, body?: object): Promise<unknown> {
  const answer = await server.handle({ method, path, headers: {}, body: body && JSON.stringify(body) })
  const chunks: Uint8Array[] = []
  for await (const chunk of answer.body) chunks.push(chunk)
  return parseJson(Buffer.concat(chunks).toString())
}

const rbac = '/apis/rbac.authorization.k8s.io/v1'

async function items(server: Handler, url: string): Promise<readonly StoredObject[]> {
  return ((await ask(server, 'GET', url)) as { readonly items: readonly StoredObject[] }).items
}

async function policyOf(server: Handler, prefix = ''): Promise<readonly StoredObject[]> {
  const plurals = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings']
  const lists = await Promise.all(plurals.map((plural) => items(server, `${prefix}${rbac}/${plural}`)))
  return lists.flat()
}

describe('bootstrap objects in a journal', () => {
  it('are one record, and are not created by opening it', async () => {
    const disk = faultyDisk()
    await (await openOn(disk)).close()
    // Namespaces, priority classes and the objects called kubernetes are written one by one; the policy would take 60 KB.
    expect(disk.raw(segment).byteLength).toBeLessThan(4608)
    const { entries } = await openJournal(disk.afterCrash(0))
    expect([...entries].filter((entry) => 'bootstrap' in entry)).toHaveLength(1)
    expect(
      [...entries].filter((entry) => 'table' in entry && entry.table.endsWith('rbac.authorization.k8s.io')),
    ).toEqual([])
  })

  it('are recovered with all other initial objects or not at all, whenever the power fails', async () => {
    const disk = faultyDisk()
    const first = await openOn(disk)
    const before = await policyOf(first)
    await first.close()
    const whole = disk.raw(segment)
    for (let size = 0; size < whole.byteLength; size++) {
      const { entries, tornBytes } = await openJournal(cutAt(disk, size))
      expect([[...entries], tornBytes]).toEqual([[], size])
    }
    expect(await policyOf(await openOn(disk.afterCrash(1), 2))).toEqual(before)
    // A policy that was not written leaves nothing behind: the next server creates and keeps its own.
    for (const size of [0, 1, 17, whole.byteLength >> 1, whole.byteLength - 1]) {
      const torn = cutAt(disk, size)
      const second = await openOn(torn, 2)
      const own = await policyOf(second)
      expect(own.map(({ metadata }) => metadata.resourceVersion)).toEqual(
        before.map(({ metadata }) => metadata.resourceVersion),
      )
      expect(own[0]!.metadata.uid).not.toBe(before[0]!.metadata.uid)
      await second.close()
      expect(await policyOf(await openOn(torn.afterCrash(0), 3))).toEqual(own)
    }
  })

  it('can be edited and removed like other objects', async () => {
    for (const segmentBytes of [undefined, 500]) {
      const disk = faultyDisk()
      const first = await openOn(disk, 1, segmentBytes)
      await ask(first, 'DELETE', `${rbac}/clusterroles/view`)
      await ask(first, 'PUT', `${rbac}/clusterroles/edit`, {
        metadata: { name: 'edit', labels: { mine: 'yes' } },
        rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
      })
      await ask(first, 'POST', `${rbac}/clusterroles`, { metadata: { name: 'own' }, rules: [] })
      const after = await policyOf(first)
      await first.close()
      expect((await disk.list()).some((name) => name.startsWith('snapshot'))).toBe(segmentBytes !== undefined)

      const second = await openOn(disk.afterCrash(0), 2, segmentBytes)
      expect(await policyOf(second)).toEqual(after)
      expect(after.find(({ metadata }) => metadata.name === 'view')).toBeUndefined()
      expect(after.find(({ metadata }) => metadata.name === 'edit')!.metadata.labels).toEqual({ mine: 'yes' })
      await second.close()
      expect(await policyOf(await openOn(disk.afterCrash(0), 3, segmentBytes))).toEqual(after)
    }
  })

  it('stay one record in a snapshot for every cluster that has not changed them', async () => {
    const disk = faultyDisk()
    const first = await openOn(disk, 1, 500)
    await ask(first, 'DELETE', `/clusters/red${rbac}/clusterroles/view`)
    await ask(first, 'GET', '/clusters/blue/api')
    for (const name of ['a', 'b', 'c']) await ask(first, 'POST', '/api/v1/namespaces', { metadata: { name } })
    const before = await Promise.all(['', '/clusters/red', '/clusters/blue'].map((prefix) => policyOf(first, prefix)))
    await first.close()
    const kept = disk.afterCrash(0)
    const { entries } = await openJournal(kept)
    const clusters = [...entries].filter((entry) => 'bootstrap' in entry).map(({ cluster }) => cluster)
    expect(clusters).toEqual(['', 'blue'])
    const second = await openOn(kept, 2)
    const after = await Promise.all(['', '/clusters/red', '/clusters/blue'].map((prefix) => policyOf(second, prefix)))
    expect(after).toEqual(before)
  })

  it('are reverted with all other changes that a full disk could not take', async () => {
    const disk = faultyDisk()
    const server = await openOn(disk)
    disk.room = 20
    const url = `/clusters/blue${rbac}/clusterroles`
    expect(await ask(server, 'GET', url)).toMatchObject({ code: 500 })
    disk.room = Number.POSITIVE_INFINITY
    const own = await policyOf(server, '/clusters/blue')
    expect(own).toHaveLength(141)
    await server.close()
    expect(await policyOf(await openOn(disk.afterCrash(0), 2), '/clusters/blue')).toEqual(own)
  })

  it('differ after a cluster was removed and created again', async () => {
    const disk = faultyDisk()
    const first = await openOn(disk)
    const before = await policyOf(first, '/clusters/blue')
    first.removeCluster('blue')
    const after = await policyOf(first, '/clusters/blue')
    expect(after).toHaveLength(before.length)
    expect(after[0]!.metadata.uid).not.toBe(before[0]!.metadata.uid)
    await first.close()
    expect(await policyOf(await openOn(disk.afterCrash(0), 2), '/clusters/blue')).toEqual(after)
  })

  it('of a later version are an error', async () => {
    const disk = faultyDisk()
    const { start } = await openJournal(disk)
    const journal = await start({ state: () => [], lost: () => undefined })
    const policy = bootstrapPolicy(0, 'seed', 2)
    const later: BootstrapObjects = { ...policy, record: () => policy.record().replace('v1.37.1', 'v9.9.9') }
    journal.append({ cluster: '', bootstrap: later })
    await journal.close()
    await expect(openOn(disk)).rejects.toMatchObject({ name: 'StorageDamaged' })
  })
})

describe('a journal from before bootstrap records', () => {
  it('opens with one record per object of the policy', async () => {
    const source = await openOn(faultyDisk())
    const disk = faultyDisk()
    const { start } = await openJournal(disk)
    const journal = await start({ state: () => [], lost: () => undefined })
    const tables: readonly (readonly [string, readonly StoredObject[]])[] = [
      [rbacTables.clusterRoles, await items(source, `${rbac}/clusterroles`)],
      [rbacTables.clusterRoleBindings, await items(source, `${rbac}/clusterrolebindings`)],
      [rbacTables.roles, await items(source, `${rbac}/roles`)],
      [rbacTables.roleBindings, await items(source, `${rbac}/rolebindings`)],
      ['namespaces', await items(source, '/api/v1/namespaces')],
    ]
    for (const [table, objects] of tables) {
      for (const object of objects) {
        const revision = Number(object.metadata.resourceVersion)
        journal.append({ cluster: '', table, change: { type: 'ADDED', revision, object, previous: undefined } })
      }
    }
    await journal.close()

    const server = await openOn(disk, 2)
    expect(await policyOf(server)).toEqual(await policyOf(source))
    await ask(server, 'DELETE', `${rbac}/clusterroles/view`)
    const after = await policyOf(server)
    await server.close()
    const { entries } = await openJournal(disk.afterCrash(0))
    expect([...entries].some((entry) => 'bootstrap' in entry)).toBe(false)
    expect(await policyOf(await openOn(disk.afterCrash(0), 3))).toEqual(after)
  })
})

/** The disk with its segment cut to this size, all of it synced. */
function cutAt(disk: FaultyDisk, size: number): FaultyDisk {
  const cut = disk.afterCrash(1)
  const bytes = cut.raw(segment)
  return faultyDisk(new Map([[segment, { bytes: Buffer.from(bytes.subarray(0, size)), synced: size }]]))
}

const names = ['view', 'edit', 'own'] as const

const step = record({ name: constantFrom(...names), removes: boolean(), looks: boolean(), compacts: nat(9) })

describe('bootstrap objects in a storage', () => {
  const role = (name: string, value: number): UntypedObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, uid: name },
    value,
  })
  const table = rbacTables.clusterRoles

  it('behave like objects that were stored one by one', () => {
    assert(
      property(array(step, { maxLength: 12 }), (steps) => {
        const histories = [true, false].map((isEager) => {
          const storage = createStorage()
          storage.addBootstrap(bootstrapPolicy(0, 'seed', storage.revision + 1))
          const roles = storage.table(table)
          for (const [at, { name, removes, looks, compacts }] of steps.entries()) {
            if (looks && isEager) roles.objects()
            if (compacts === 0) storage.compact()
            const live = removes ? roles.get(undefined, name) : undefined
            if (live) storage.remove(table, live)
            else storage.put(table, role(name, at))
          }
          const revisions = Array.from({ length: storage.revision }, (_, at) => at)
          return {
            revision: storage.revision,
            objects: roles.objects(),
            states: revisions.map((at) => roles.objectsAt(at)?.map(({ metadata }) => metadata.name)),
            changes: revisions.map((at) => roles.changesSince(at)?.length),
          }
        })
        expect(histories[0]).toEqual(histories[1])
      }),
      { numRuns: 10, seed: 3 },
    )
  })

  it('have a history that can be listed at each revision', () => {
    const storage = createStorage()
    const policy = bootstrapPolicy(0, 'seed', storage.revision + 1)
    storage.addBootstrap(policy)
    expect(storage.revision).toBe(policy.first + policy.size - 1)
    expect(storage.table(table).objectsAt(policy.first + 2)).toHaveLength(3)
    expect(storage.table(table).changesSince(policy.first)![0]!.object).toEqual(policy.objectsOf(table)[1])
    storage.compact()
    expect(storage.table(table).changesSince(policy.first)).toBeUndefined()
  })

  it('disappear when they are reverted, with a change for those that were created', () => {
    const storage = createStorage()
    const policy = bootstrapPolicy(0, 'seed', storage.revision + 1)
    const before = storage.revision
    const told: string[] = []
    storage.onChange(({ name }, { type, isUndoing }: StorageChange) => void told.push(`${name} ${type} ${isUndoing}`))
    storage.addBootstrap(policy)
    const [first] = storage.table(rbacTables.roles).objects()
    storage.undo([{ bootstrap: policy }])
    expect(new Set(told)).toEqual(new Set([`${rbacTables.roles} DELETED true`]))
    expect(storage.revision).toBe(before)
    for (const name of policy.tables) expect(storage.table(name).size).toBe(0)
    expect(storage.bootstrapPlace(first!.metadata.uid)).toBeUndefined()
    storage.addBootstrap(policy)
    expect(storage.table(rbacTables.roles).objects()[0]).toEqual(first)
    expect(storage.table(rbacTables.roles).changesSince(before)).toHaveLength(storage.table(rbacTables.roles).size)
  })
})

describe('a snapshot', () => {
  it('has a revision: none is assigned twice, and no watch resumes from before it', async () => {
    const disk = faultyDisk()
    const first = await openOn(disk)
    const url = '/api/v1/namespaces/default/configmaps'
    const old = (await ask(first, 'POST', url, { metadata: { name: 'a' } })) as StoredObject
    await ask(first, 'POST', url, { metadata: { name: 'b' } })
    await first.close()
    // Of the last removal only the revision is left.
    const next = await openOn(disk, 2, 500)
    await ask(next, 'DELETE', `${url}/b`)
    const { metadata } = (await ask(next, 'GET', url)) as { metadata: { resourceVersion: string } }
    await next.close()
    expect(await disk.list()).toContain('snapshot-00000002')

    const second = await openOn(disk.afterCrash(0), 3)
    const made = (await ask(second, 'POST', url, { metadata: { name: 'c' } })) as StoredObject
    expect(Number(made.metadata.resourceVersion)).toBeGreaterThan(Number(metadata.resourceVersion))
    const resumed = await second.handle({
      method: 'GET',
      path: `${url}?watch=1&resourceVersion=${old.metadata.resourceVersion}`,
      headers: {},
    })
    let text = ''
    for await (const chunk of resumed.body) text += Buffer.from(chunk).toString()
    expect(text).toContain('"code":410')
  })
})
