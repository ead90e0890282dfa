import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FaultyDisk, faultyDisk } from '../../../../test/faulty-disk.ts'
import { MusterError } from '../../../kube/muster-error.ts'
import type { StorageChange, StoredObject } from '../storage.ts'
import { encodeFrame } from './frame.ts'
import { type Journal, type JournaledChange, openJournal } from './journal.ts'
import type { ObjectEntry } from './recovery.ts'

const objectOf = (name: string, version: number, text = ''): StoredObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, uid: name, resourceVersion: String(version) },
  data: { text },
})

/** These tests only store objects. */
type Written = Extract<JournaledChange, { readonly change: StorageChange }>

const changeOf = (name: string, version: number, type: StorageChange['type'] = 'MODIFIED', text = ''): Written => ({
  cluster: '',
  table: 'configmaps',
  change: { type, revision: version, object: objectOf(name, version, text), previous: undefined },
})

/** A map with a journal: the simplest owner of one. */
async function keep(disk: FaultyDisk, segmentBytes?: number): Promise<SnapshotEntry> {
  const opened = await openJournal(disk, { segmentBytes })
  const objects = new Map<string, string>()
  const set = ({ object, isRemoval }: Pick<ObjectEntry, 'object' | 'isRemoval'>): void => {
    const { name, resourceVersion } = object.metadata
    if (isRemoval) objects.delete(name)
    else objects.set(name, resourceVersion)
  }
  for (const entry of opened.entries) set(entry as ObjectEntry)
  const before = new Map(objects)
  const lost: Written[] = []
  const journal = await opened.start({
    state: () =>
      [...objects].map(([name, version]) => ({
        cluster: '',
        table: 'configmaps',
        isRemoval: false,
        object: objectOf(name, Number(version)),
      })),
    lost: (changes) => {
      lost.push(...(changes as readonly Written[]))
      // The test has one writer, which only needs the reverted changes.
      objects.clear()
      for (const [name, version] of before) objects.set(name, version)
    },
  })
  return {
    journal,
    objects,
    lost,
    tornBytes: opened.tornBytes,
    write(noted) {
      journal.append(noted)
      set({ object: noted.change.object, isRemoval: noted.change.type === 'DELETED' })
    },
  }
}

/** The state that a journal on this disk opens with; undefined if it reports a missing file. */
async function namesIn(disk: FaultyDisk): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    const { entries } = await openJournal(disk)
    const metadata = [...entries].map((entry) => (entry as ObjectEntry).object.metadata)
    return new Map(metadata.map(({ name, resourceVersion }) => [name, resourceVersion]))
  } catch (error) {
    if (error instanceof MusterError && error.name === 'StorageDamaged' && error.message.includes('missing'))
      return undefined
    throw error
  }
}

interface SnapshotEntry {
  readonly journal: Journal
  readonly objects: Map<string, string>
  readonly lost: Written[]
  readonly tornBytes: number
  readonly write: (noted: Written) => void
}

describe('the journal', () => {
  it('recovers acknowledged changes and removals', async () => {
    const disk = faultyDisk()
    const first = await keep(disk)
    first.write(changeOf('a', 1))
    first.write(changeOf('b', 2))
    first.write(changeOf('a', 3, 'DELETED'))
    await first.journal.durable()
    const second = await keep(disk.afterCrash(0))
    expect([...second.objects]).toEqual([['b', '2']])
  })

  it('shares one sync between concurrent writers', async () => {
    const disk = faultyDisk()
    const { write, journal } = await keep(disk)
    const before = disk.syncs()
    for (let version = 1; version <= 100; version++) write(changeOf(`n${version}`, version))
    await journal.durable()
    expect(disk.syncs() - before).toBe(1)
  })

  it('loses no acknowledged change, whenever the power fails', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.boolean(), fc.nat(3)), { maxLength: 40 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 100, max: 2000 }),
        async (writes, kept, segmentBytes) => {
          const disk = faultyDisk()
          const { write, journal, objects } = await keep(disk, segmentBytes)
          let acknowledged = new Map(objects)
          let version = 0
          for (const [name, isRemoval, pause] of writes) {
            write(changeOf(name, ++version, isRemoval ? 'DELETED' : 'MODIFIED', 'x'.repeat(version * 7)))
            if (pause === 0) {
              await journal.durable()
              acknowledged = new Map(objects)
            }
          }
          const after = new Map(objects)
          const found = (await keep(disk.afterCrash(kept), segmentBytes)).objects
          // All acknowledged changes; of the last batch all or nothing, because it is one frame.
          expect([acknowledged, after]).toContainEqual(found)
        },
      ),
      { numRuns: 300, seed: 20 },
    )
  })

  it('cuts off an incomplete tail, and appends after it', async () => {
    const disk = faultyDisk()
    const { write, journal } = await keep(disk)
    write(changeOf('a', 1))
    await journal.durable()
    const file = await disk.open('segment-00000001')
    await file.append(Buffer.from([0x01, 0xfe, 0x4d, 0x55, 0, 0, 1]))
    const second = await keep(disk.afterCrash(1))
    expect(second.tornBytes).toBe(7)
    expect([...second.objects]).toEqual([['a', '1']])
    second.write(changeOf('b', 2))
    await second.journal.durable()
    expect([...second.objects.keys()]).toEqual(['a', 'b'])
  })

  it('reports damage before the tail, and serves nothing, whichever byte is damaged', async () => {
    const disk = faultyDisk()
    const { write, journal } = await keep(disk)
    for (const version of [1, 2, 3]) {
      write(changeOf(`n${version}`, version, 'MODIFIED', 'text'))
      await journal.durable()
    }
    const { byteLength } = disk.raw('segment-00000001')
    for (let at = 0; at < (byteLength / 3) * 2 - 1; at++) {
      const damaged = disk.afterCrash(1)
      damaged.raw('segment-00000001')[at]! ^= 0x41
      await expect(openJournal(damaged)).rejects.toThrow(/segment-00000001 is damaged/)
    }
  })

  it('reports a damaged or missing snapshot or segment', async () => {
    const disk = faultyDisk()
    const { write, journal } = await keep(disk, 200)
    for (let version = 1; version <= 9; version++) {
      write(changeOf(`n${version}`, version, 'MODIFIED', 'x'.repeat(100)))
      await journal.durable()
    }
    await journal.close()
    const names = await disk.list()
    const snapshot = names.find((name) => name.startsWith('snapshot'))!
    const damaged = disk.afterCrash(1)
    damaged.raw(snapshot)[20]! ^= 1
    await expect(openJournal(damaged)).rejects.toThrow(`${snapshot} is damaged`)
  })

  it('opens with all acknowledged changes or fails, whichever files are missing', async () => {
    const disk = faultyDisk()
    let acknowledged: readonly string[] = []
    // The files after every step that creates, renames or removes one.
    const moments: { readonly found: FaultyDisk; readonly acknowledged: readonly string[] }[] = []
    const noting = <Step extends 'open' | 'rename' | 'remove'>(step: Step): FaultyDisk[Step] => {
      const done = disk[step] as (...words: readonly string[]) => Promise<never>
      return async (...words: readonly string[]) => {
        const outcome = await done(...words)
        moments.push({ found: disk.afterCrash(1), acknowledged })
        return outcome
      }
    }
    const noted = { ...disk, open: noting('open'), rename: noting('rename'), remove: noting('remove') }
    const { write, journal, objects } = await keep(noted, 300)
    for (let version = 1; version <= 14; version++) {
      write(changeOf(`n${version}`, version, 'MODIFIED', 'x'.repeat(100)))
      await journal.durable()
      acknowledged = [...objects.keys()]
    }
    await journal.close()

    let [opened, refused] = [0, 0]
    for (const { found, acknowledged: expected } of moments) {
      const names = await found.list()
      for (let subset = 1; subset < 2 ** names.length - 1; subset++) {
        const cut = found.afterCrash(1)
        for (const [at, name] of names.entries()) if (subset & (1 << at)) await cut.remove(name)
        // An empty folder counts as new.
        if ((await cut.list()).every((name) => name.endsWith('.draft'))) continue
        const there = await namesIn(cut)
        if (there) opened++
        else refused++
        expect([...(there?.keys() ?? expected)]).toEqual(expect.arrayContaining([...expected]))
      }
    }
    // Only files that a snapshot has replaced may be missing.
    expect([opened, refused].every((count) => count > 0)).toBe(true)
  })

  it('cuts off an incomplete end frame of a segment, and continues', async () => {
    const disk = faultyDisk()
    const { write, journal } = await keep(disk)
    write(changeOf('a', 1))
    await journal.durable()
    for (let bytes = 0; bytes <= 16; bytes++) {
      const crashed = disk.afterCrash(1)
      await (
        await crashed.open('segment-00000001')
      ).append(encodeFrame({ sequence: 2, payload: Buffer.alloc(0) }).subarray(0, bytes))
      await crashed.open('segment-00000002')
      const second = await keep(crashed)
      second.write(changeOf('b', 2))
      await second.journal.durable()
      expect([...(await keep(crashed.afterCrash(1))).objects.keys()]).toEqual(['a', 'b'])
    }
  })

  it('takes a snapshot when a segment is full, and removes older files', async () => {
    const disk = faultyDisk()
    const { write, journal, objects } = await keep(disk, 500)
    for (let version = 1; version <= 200; version++) {
      write(changeOf(`n${version % 5}`, version))
      await journal.durable()
    }
    await journal.close()
    const names = await disk.list()
    expect(names.filter((name) => name.startsWith('snapshot'))).toHaveLength(1)
    expect(names.length).toBeLessThanOrEqual(4)
    expect((await keep(disk.afterCrash(0), 500)).objects).toEqual(objects)
  })

  it('reverts changes that a full disk cannot take, and continues when there is room', async () => {
    const disk = faultyDisk()
    const { write, journal, lost } = await keep(disk)
    write(changeOf('a', 1))
    await journal.durable()
    disk.room = 20
    write(changeOf('b', 2))
    await expect(journal.durable()).rejects.toThrow('a change could not be written: ENOSPC')
    expect(lost.map(({ change }) => change.object.metadata.name)).toEqual(['b'])
    disk.room = 10_000
    write(changeOf('c', 3))
    await journal.durable()
    expect([...(await keep(disk.afterCrash(0))).objects.keys()]).toEqual(['a', 'c'])
  })

  it('accepts no more changes once the state of the disk is unknown', async () => {
    const disk = faultyDisk()
    const { write, journal } = await keep(disk)
    disk.room = 5
    disk.isStuck = true
    write(changeOf('a', 1))
    await expect(journal.durable()).rejects.toThrow('ENOSPC')
    await journal.close()
    journal.append(changeOf('b', 2))
    await expect(journal.durable()).rejects.toThrow('the journal cannot be repaired')
  })
})
