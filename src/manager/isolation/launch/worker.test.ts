import { fstatSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  misbehave,
  conclusionOf,
  testContainment,
  type Manager,
  openManager,
  slowTest,
} from '../../../../test/misbehaving-guests.ts'
import { waysToPrint } from '../misbehaving-guest/descriptors.ts'
import { Misbehaving } from '../misbehaving-guest/operator.ts'

testContainment('worker', {
  cases: [
    ['fills buffers, which no engine limits', 'buffers', 'OperatorCrashed', /holds \d+ MiB in buffers; 48 are allowed/],
    ['yields waves without an end', 'waves', 'GuestMisbehaved', /wave 65 of one reconcile/],
    ['reads without an end', 'reads', 'GuestMisbehaved', /more than 500 times/],
  ],
})

describe('descriptors of the manager', slowTest, () => {
  let manager: Manager
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-descriptor-'))
  beforeAll(async () => {
    manager = await openManager('worker')
  }, slowTest.timeout)
  afterAll(async () => {
    await manager.close()
    rmSync(folder, { recursive: true })
  })

  const seenBy = async (how: string, what: string): Promise<string | undefined> => {
    const name = await misbehave(manager, how, what)
    await conclusionOf(manager, name)
    const { status }: Misbehaving = await manager.client.get(Misbehaving, { namespace: 'default', name })
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

  it("are not used for a worker's output: it is relayed under its name", async () => {
    expect(await seenBy('print', 'word')).toBe('printed')
    const printed = (): string => manager.lines.map((line) => JSON.stringify(line['output'])).join('\n')
    // Relayed by messages, which take a few turns.
    while (!printed().includes(`word-${waysToPrint - 1}`)) await new Promise((turn) => void setImmediate(turn))
    const missing = Array.from({ length: waysToPrint }, (_, way) => `word-${way}`).filter(
      (text) => !new RegExp(`${text}(?!\\d)`).test(printed()),
    )
    expect(missing).toEqual([])
    expect(manager.lines.every((line) => line['output'] === undefined || line['module'] !== undefined)).toBe(true)
  })
})
