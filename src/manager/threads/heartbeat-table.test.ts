import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { createThreadWatch, type ThreadPosition, type RunMarks } from './thread-watch.ts'
import { cell, createHeartbeatTable, noSlot, readHeartbeats } from './heartbeat-table.ts'

const place = (operator: string): ThreadPosition => ({ operator, controller: 'c', key: 'default/a' })
const bytesOf = (text: string): number => new TextEncoder().encode(text).length

describe('a heartbeat table', () => {
  it('shows which run holds the thread, for which object and at which step', () => {
    const heartbeats = createHeartbeatTable()
    const slot = heartbeats.enter({ operator: 'part', controller: 'app', key: 'default/a' })
    heartbeats.inside(slot, 'CRChecker')
    heartbeats.mark(slot)
    const culprit = { place: { operator: 'part', controller: 'app', key: 'default/a' }, step: 'CRChecker' }
    expect(readHeartbeats(heartbeats.buffer)).toMatchObject({ holder: culprit, inside: [culprit] })
  })

  it('matches the watch that writes it, for any sequence of operations', () => {
    const act = fc.record({
      run: fc.nat(4),
      what: fc.constantFrom('at' as const, 'away' as const, 'back' as const, 'outside' as const, 'leave' as const),
      step: fc.constantFrom('one', 'two', 'three'),
    })
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        const heartbeats = createHeartbeatTable()
        const watch = createThreadWatch({ clock: virtualClock(), heartbeats, onHeld: () => undefined })
        const runs = new Map<number, RunMarks>()
        const inside = new Map<number, string>()
        const stepOf = new Map<number, string>()
        let holder: number | undefined
        for (const { run, what, step } of acts) {
          const marks = runs.get(run) ?? watch.enter(place(`run-${run}`))
          runs.set(run, marks)
          if (what === 'at') marks.at(step)
          else marks[what]()
          // What it should say, in other words than it is written.
          const isBack = what === 'back' && stepOf.has(run)
          if (what === 'at') stepOf.set(run, step)
          if (what === 'at' || isBack) inside.set(run, stepOf.get(run)!)
          if (what === 'outside' || what === 'leave') inside.delete(run)
          if (what !== 'back' || isBack) holder = what === 'at' || isBack ? run : undefined
          if (what === 'leave') {
            runs.delete(run)
            stepOf.delete(run)
          }
        }
        const reading = readHeartbeats(heartbeats.buffer)!
        const named = reading.inside.map(({ place: { operator }, step }) => `${operator} ${step}`)
        expect(named.toSorted()).toEqual([...inside].map(([run, step]) => `run-${run} ${step}`).toSorted())
        expect(reading.holder?.place.operator).toBe(holder === undefined ? undefined : `run-${holder}`)
        for (const marks of runs.values()) marks.leave()
        expect(new Int32Array(heartbeats.buffer)[cell.occupied]).toBe(0)
        expect(readHeartbeats(heartbeats.buffer)?.inside).toEqual([])
      }),
    )
  })

  it('truncates long text between two characters, and never into the next name', () => {
    const heartbeats = createHeartbeatTable()
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\uD800'), maxLength: 400 }), {
          minLength: 4,
          maxLength: 4,
        }),
        ([operator = '', controller = '', key = '', step = '']) => {
          const slot = heartbeats.enter({ operator, controller, key })
          heartbeats.inside(slot, step)
          heartbeats.mark(slot)
          const { holder } = readHeartbeats(heartbeats.buffer)!
          heartbeats.leave(slot)
          const pairs = [
            [operator, holder!.place.operator, 128],
            [controller, holder!.place.controller, 128],
            [key, holder!.place.key, 320],
            [step, holder!.step, 128],
          ] as const
          for (const [whole, kept, room] of pairs) {
            // Lone surrogates are no text: they are written as the sign for that.
            const text = whole.toWellFormed()
            expect(text.startsWith(kept)).toBe(true)
            expect(bytesOf(kept)).toBeLessThanOrEqual(room)
            expect(kept === text || bytesOf(kept) > room - 4).toBe(true)
          }
        },
      ),
    )
  })

  it('is never read half-written, however busy the writer', async () => {
    const heartbeats = createHeartbeatTable()
    const turns = new Int32Array(new SharedArrayBuffer(8))
    const busy = `
      const { workerData: { buffer, turns, at } } = require('node:worker_threads')
      import(at).then(({ createHeartbeatTable }) => {
        const heartbeats = createHeartbeatTable(buffer)
        for (let turn = 0; ; turn++) {
          const name = 'ab'[turn % 2].repeat(100)
          const seat = heartbeats.enter({ operator: name, controller: name, key: name })
          heartbeats.inside(seat, 'step')
          heartbeats.mark(seat)
          if (turn % 1000 === 0) {
            Atomics.add(turns, 0, 1)
            Atomics.notify(turns, 0)
            Atomics.wait(turns, 1, 0, 1)
          }
          heartbeats.leave(seat)
        }
      })`
    const at = new URL('heartbeat-table.ts', import.meta.url).href
    const worker = new Worker(busy, { eval: true, workerData: { buffer: heartbeats.buffer, turns, at } })
    await Atomics.waitAsync(turns, 0, 0).value
    let [whole, discarded] = [0, 0]
    while (whole < 100 || discarded < 100) {
      const reading = readHeartbeats(heartbeats.buffer)
      if (!reading) discarded++
      for (const { place: named } of reading?.inside ?? []) {
        whole++
        expect(new Set(Object.values(named).join('')).size).toBe(1)
      }
    }
    await worker.terminate()
  })

  it('has a slot for each run up to a limit, and works without for more', () => {
    const heartbeats = createHeartbeatTable()
    const taken = Array.from({ length: 1100 }, (_, index) => heartbeats.enter(place(`run-${index}`)))
    expect(new Set(taken.filter((slot) => slot !== noSlot)).size).toBe(1023)
    for (const slot of taken) {
      heartbeats.inside(slot, 'one')
      heartbeats.mark(slot)
      heartbeats.outside(slot)
      heartbeats.leave(slot)
    }
    expect(new Int32Array(heartbeats.buffer)[cell.occupied]).toBe(0)
    expect(heartbeats.enter(place('again'))).not.toBe(noSlot)
  })

  it('has room for many step names, and omits further ones', () => {
    const heartbeats = createHeartbeatTable()
    const slot = heartbeats.enter(place('part'))
    for (let step = 0; step < 300; step++) heartbeats.inside(slot, `step-${step}`)
    expect(readHeartbeats(heartbeats.buffer)!.inside[0]!.step).toBe('')
    heartbeats.inside(slot, 'step-7')
    expect(readHeartbeats(heartbeats.buffer)!.inside[0]!.step).toBe('step-7')
  })

  it('wakes the watchdog when a run begins, and only if it sleeps', () => {
    const heartbeats = createHeartbeatTable()
    const cells = new Int32Array(heartbeats.buffer)
    heartbeats.enter(place('one'))
    expect(Atomics.load(cells, cell.asleep)).toBe(0)
    Atomics.store(cells, cell.asleep, 1)
    heartbeats.enter(place('other'))
    expect(Atomics.load(cells, cell.asleep)).toBe(0)
    expect(Atomics.load(cells, cell.occupied)).toBe(2)
  })
})
