/**
 * The heartbeat table: which run holds the main thread, in shared memory, so that another thread can read it while the main
 * thread is blocked.
 *
 * Each run in progress has a slot with its name, written once. A mark is two stores: the slot that holds the thread,
 * and a sequence number (`sign`). A half-written name is never used: the sequence number changes before a slot is
 * written and the slot becomes visible after, so a reader that overlaps with a write sees another sequence number at
 * the end, and discards what it read.
 *
 *     cells │ sign · holder · seated · loading · asleep · limit │ slots: state, step, names … │ steps: names …
 */

import type { Culprit, ThreadPosition } from './thread-watch.ts'

/** The writer: the main thread. */
export interface HeartbeatTable {
  readonly buffer: SharedArrayBuffer
  /**
   * A run begins. `isLoading`: a module is loaded, which may take long. @returns its slot; runs without one share
   * `noSeat`
   */
  enter(place: ThreadPosition, isLoading?: boolean): number
  leave(slot: number): void
  /** Its code may hold the thread from now on, at this step. */
  inside(slot: number, step: string): void
  /** Its writes are being executed, which is not its code. */
  outside(slot: number): void
  /** A sign of life: this run holds the thread now, or none that is known. */
  mark(slot: number): void
}

/** The reader. */
export interface HeartbeatReading {
  /** Changes with every mark. */
  readonly sign: number
  /** The run that held the thread last, where that is certain. */
  readonly holder: Culprit | undefined
  /** All runs whose code may hold the thread. */
  readonly inside: readonly Culprit[]
}

/** Indexes of the shared cells; `watch-thread.ts` repeats the numbers. */
export const cell = { sign: 0, holder: 1, occupied: 2, loading: 3, asleep: 4, limit: 5 } as const

export const noSlot = 0

/** Further concurrent runs are not named. Memory is allocated by the system only when it is written to. */
const slots = 1024
const steps = 256
const nameBytes = 128
/** The longest `namespace/name`. */
const keyBytes = 320
const parts = [nameBytes, nameBytes, keyBytes] as const
const slotBytes = 32 + nameBytes + nameBytes + keyBytes
const headBytes = 64
const stepsAt = headBytes + slots * slotBytes
const stepBytes = 4 + nameBytes
const tableBytes = stepsAt + steps * stepBytes

const state = { free: 0, outside: 1, inside: 2 } as const

export function createHeartbeatTable(buffer: SharedArrayBuffer = new SharedArrayBuffer(tableBytes)): HeartbeatTable {
  const cells = new Int32Array(buffer)
  const bytes = new Uint8Array(buffer)
  const encoder = new TextEncoder()
  const known = new Map<string, number>()
  const loading = new Set<number>()
  /** The slot released last is reused first: few pages are ever touched. */
  const free: number[] = []
  let used = 0
  let sign = 0

  const write = (text: string, lengthAt: number, at: number, room: number): void => {
    // Cut at a character boundary.
    cells[lengthAt / 4] = encoder.encodeInto(text, bytes.subarray(at, at + room)).written
  }

  /** 0: the table is full. */
  const stepOf = (name: string): number => {
    const number = known.get(name)
    if (number !== undefined) return number
    if (known.size === steps - 1) return 0
    const made = known.size + 1
    const at = stepsAt + made * stepBytes
    write(name, at, at + 4, nameBytes)
    known.set(name, made)
    return made
  }

  const giveSign = (): void => void Atomics.store(cells, cell.sign, (sign = (sign + 1) | 0))
  const show = (slot: number, how: number): void => void Atomics.store(cells, slotAt(slot) / 4, how)
  const count = (where: number, by: number): void => void Atomics.add(cells, where, by)

  return {
    buffer,
    enter({ operator, controller, key }, isLoading = false) {
      giveSign()
      const slot = free.pop() ?? (used < slots - 1 ? ++used : noSlot)
      if (slot !== noSlot) {
        let at = slotAt(slot) + 32
        for (const [index, text] of [operator, controller, key].entries()) {
          write(text, slotAt(slot) + 8 + 4 * index, at, parts[index]!)
          at += parts[index]!
        }
        cells[slotAt(slot) / 4 + 1] = 0
        show(slot, state.outside)
        if (isLoading) {
          loading.add(slot)
          count(cell.loading, 1)
        }
      }
      count(cell.occupied, 1)
      // The watchdog's thread sleeps while there is no run, and sets a flag before it does.
      if (Atomics.load(cells, cell.asleep) === 1 && Atomics.exchange(cells, cell.asleep, 0) === 1) {
        Atomics.notify(cells, cell.asleep)
      }
      return slot
    },
    leave(slot) {
      if (slot !== noSlot) {
        show(slot, state.free)
        free.push(slot)
        if (loading.delete(slot)) count(cell.loading, -1)
      }
      count(cell.occupied, -1)
    },
    inside(slot, step) {
      if (slot === noSlot) return
      cells[slotAt(slot) / 4 + 1] = stepOf(step)
      show(slot, state.inside)
    },
    outside(slot) {
      if (slot !== noSlot) show(slot, state.outside)
    },
    mark(slot) {
      cells[cell.holder] = slot
      giveSign()
    },
  }
}

/** Undefined: it was written to meanwhile, so the writer is alive. */
export function readHeartbeats(buffer: SharedArrayBuffer): HeartbeatReading | undefined {
  const cells = new Int32Array(buffer)
  const sign = Atomics.load(cells, cell.sign)
  const inside: Culprit[] = []
  let holder: Culprit | undefined
  for (let slot = 1; slot < slots; slot++) {
    if (Atomics.load(cells, slotAt(slot) / 4) !== state.inside) continue
    const culprit = readSlot(buffer, cells, slot)
    inside.push(culprit)
    if (cells[cell.holder] === slot) holder = culprit
  }
  return Atomics.load(cells, cell.sign) === sign ? { sign, holder, inside } : undefined
}

function readSlot(buffer: SharedArrayBuffer, cells: Int32Array, slot: number): Culprit {
  let at = slotAt(slot) + 32
  const [operator, controller, key] = parts.map((room, index) => {
    const text = readText(buffer, at, Math.min(cells[slotAt(slot) / 4 + 2 + index]!, room))
    at += room
    return text
  }) as [string, string, string]
  const step = cells[slotAt(slot) / 4 + 1]! & (steps - 1)
  const stepAt = stepsAt + step * stepBytes
  const name = step === 0 ? '' : readText(buffer, stepAt + 4, Math.min(cells[stepAt / 4]!, nameBytes))
  return { place: { operator, controller, key }, step: name }
}

function readText(buffer: SharedArrayBuffer, at: number, length: number): string {
  // A copy, since TextDecoder does not accept shared memory.
  return new TextDecoder().decode(new Uint8Array(buffer, at, Math.max(0, length)).slice())
}

function slotAt(slot: number): number {
  return headBytes + slot * slotBytes
}
