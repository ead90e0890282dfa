import { appendFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { virtualClock } from '../../../clock/virtual-clock.ts'
import { openApiServer } from '../../server/api-server.ts'
import { openFolder } from './folder.ts'
import { encodeFrame } from './frame.ts'

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-folder-'))
  onTestFinished(async () => await rm(folder, { recursive: true, force: true }))
  return folder
}

describe('a data folder', () => {
  it('is locked by one process, until it is released', async () => {
    const folder = await newFolder()
    const kept = await openFolder(folder)
    await expect(openFolder(folder)).rejects.toMatchObject({ name: 'StorageInUse' })
    kept.release()
    // The lock file stays: removing it could remove that of the next process.
    expect(await readdir(folder)).toEqual(['lock.db'])
    ;(await openFolder(folder)).release()
  })

  it('is read completely when it is opened', async () => {
    const folder = await newFolder()
    await appendFile(path.join(folder, 'segment-00000001'), encodeFrame({ sequence: 1, payload: Buffer.from('[1,2]') }))
    await expect(openFolder(folder)).rejects.toMatchObject({ name: 'StorageDamaged' })
    expect(await readdir(folder)).toEqual(['lock.db', 'segment-00000001'])
  })

  it('can be opened again by a server whose first attempt failed', async () => {
    const kept = await openFolder(await newFolder())
    const refusing = { ...kept, start: async () => await Promise.reject(new Error('no room')) }
    await expect(openApiServer({ clock: virtualClock(), folder: refusing })).rejects.toThrow('no room')
    const server = await openApiServer({ clock: virtualClock(), folder: kept })
    expect((await server.handle({ method: 'GET', path: '/api/v1/namespaces/default', headers: {} })).status).toBe(200)
    await server.close()
  })
})
