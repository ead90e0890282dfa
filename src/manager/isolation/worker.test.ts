import { fstatSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask, concluded, containment, type Manager, openManager, patience } from '../../../test/isolated.ts'
import { waysToPrint } from './mischief/descriptors.ts'
import { Mischief } from './mischief/operator.ts'

containment('worker', {
  deeds: [
    ['fills buffers, which no engine limits', 'buffers', 'OperatorCrashed', /holds \d+ MiB in buffers; 48 are allowed/],
    ['wants wave after wave', 'waves', 'GuestMisbehaved', /wave 65 of one reconcile/],
    ['reads without an end', 'reads', 'GuestMisbehaved', /more than 500 times/],
  ],
})

describe('descriptors of the manager', patience, () => {
  let manager: Manager
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-descriptor-'))
  beforeAll(async () => {
    manager = await openManager('worker')
  }, patience.timeout)
  afterAll(async () => {
    await manager.close()
    rmSync(folder, { recursive: true })
  })

  const seenBy = async (how: string, what: string): Promise<string | undefined> => {
    const name = await ask(manager, how, what)
    await concluded(manager, name)
    const { status }: Mischief = await manager.client.get(Mischief, { namespace: 'default', name })
    return status?.seen
  }

  it('are neither read nor written nor closed by a worker, whose own descriptors work', async () => {
    const file = path.join(folder, 'data')
    writeFileSync(file, 'kept')
    const fd = openSync(file, 'r+')
    expect(await seenBy('meddle', String(fd))).toBe('nothing')
    expect(fstatSync(fd).size).toBe(4)
    expect(readFileSync(fd, 'utf8')).toBe('kept')
  })

  it('are not what a worker prints on: its output is relayed under its name', async () => {
    expect(await seenBy('print', 'word')).toBe('printed')
    const printed = (): string => manager.lines.map((line) => JSON.stringify(line['printed'])).join('\n')
    // Relayed by messages, which take a few turns.
    while (!printed().includes(`word-${waysToPrint - 1}`)) await new Promise((turn) => void setImmediate(turn))
    const missing = Array.from({ length: waysToPrint }, (_, way) => `word-${way}`).filter(
      (text) => !new RegExp(`${text}(?!\\d)`).test(printed()),
    )
    expect(missing).toEqual([])
    expect(manager.lines.every((line) => line['printed'] === undefined || line['module'] !== undefined)).toBe(true)
  })
})
