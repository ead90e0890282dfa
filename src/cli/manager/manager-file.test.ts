import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../clock/system-clock.ts'
import { createActivity } from '../../manager/observability/activity.ts'
import { startStatusServer } from '../../manager/observability/status-server.ts'
import { readManagerFile, writeManagerFile } from './manager-file.ts'

function emptyFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-manager-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The status server of a manager that runs nothing. */
async function status(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const health = { isAlive: true, isReady: true, checks: [], problems: [], warnings: [] }
  const activity = createActivity({ clock: systemClock })
  const server = await startStatusServer({
    port: 0,
    health: () => health,
    report: () =>
      activity.report({
        lanes: new Map(),
        informers: [],
        health,
        leases: [],
        assignments: [],
        replica: 'one',
      }),
  })
  onTestFinished(() => server.close())
  return server
}

const entries = (folder: string): readonly string[] => readdirSync(path.join(folder, '.muster'))

describe('the manager file', () => {
  it('names the manager that wrote it, until that one removes it', async () => {
    const folder = emptyFolder()
    const { url } = await status()
    const { other, remove } = await writeManagerFile(url, folder)
    expect(other).toBeUndefined()
    expect(readManagerFile(folder)).toEqual({ url, pid: process.pid })
    expect(entries(folder)).toEqual(['manager.json'])
    remove()
    expect(entries(folder)).toEqual([])
  })

  it('belongs to the first of two managers, when the second starts and when it ends', async () => {
    const folder = emptyFolder()
    const [first, second] = await Promise.all([status(), status()])
    const one = await writeManagerFile(first.url, folder)
    const two = await writeManagerFile(second.url, folder)
    expect(two.other).toEqual({ url: first.url, pid: process.pid })
    expect(readManagerFile(folder)?.url).toBe(first.url)
    two.remove()
    expect(readManagerFile(folder)?.url).toBe(first.url)
    expect(entries(folder)).toEqual(['manager.json'])
    one.remove()
    expect(readManagerFile(folder)).toBeUndefined()
  })

  it('belongs to one of two that start at once', async () => {
    const folder = emptyFolder()
    const [first, second] = await Promise.all([status(), status()])
    const both = await Promise.all([writeManagerFile(first.url, folder), writeManagerFile(second.url, folder)])
    expect(both.filter(({ other }) => other === undefined)).toHaveLength(1)
  })

  it('is taken over from a manager that does not respond, and from an unreadable file', async () => {
    const folder = emptyFolder()
    const [gone, next] = await Promise.all([status(), status()])
    const left = await writeManagerFile(gone.url, folder)
    await gone.close()
    expect((await writeManagerFile(next.url, folder)).other).toBeUndefined()
    // The one that was away ends after all: the file is not its own any more.
    left.remove()
    expect(readManagerFile(folder)?.url).toBe(next.url)
    const file = path.join(folder, '.muster', 'manager.json')
    writeFileSync(file, '{')
    expect((await writeManagerFile(next.url, folder)).other).toBeUndefined()
    expect(readFileSync(file, 'utf8')).toContain(next.url)
  })
})
