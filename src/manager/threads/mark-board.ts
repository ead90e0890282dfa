/**
 * A mark board: who has the main thread, written where another thread can read it while nothing else can be asked.
 *
 * Each run that is under way has a seat, with its name, written once. A mark is two stores: whose turn it is, and a sign of
 * life. A name that is half written is never believed: the sign comes before it and the seat is shown after it, so whoever
 * reads a seat while it is given to somebody else finds another sign in the end, and throws away what it read.
 *
 *     cells │ sign · holder · seated · loading · asleep · limit │ seats: state, step, names … │ steps: names …
 */

import type { Culprit, ThreadPosition } from './thread-watch.ts'

/** The writer's side: the main thread's. */
export interface MarkBoard {
  readonly buffer: SharedArrayBuffer
  /** A run begins. `isLoading`: what is loaded may take its time. @returns its seat; all that find none share `noSeat` */
  enter(place: ThreadPosition, isLoading?: boolean): number
  leave(seat: number): void
  /** Its code may get the thread from now on, at this step. */
  inside(seat: number, step: string): void
  /** What it wanted is being carried out. */
  outside(seat: number): void
  /** A sign of life: the thread is that run's now, or nobody's that is known. */
  mark(seat: number): void
}

/** The reader's side. */
export interface BoardReading {
  /** Different whenever there was a mark in between. */
  readonly sign: number
  /** Whoever had the thread last, where that is certain. */
  readonly holder: Culprit | undefined
  /** All whose code may get the thread. */
  readonly inside: readonly Culprit[]
}

/** Where the cells are that both sides use; `watch-thread.ts` has them by their numbers. */
export const cell = { sign: 0, holder: 1, seated: 2, loading: 3, asleep: 4, limit: 5 } as const

export const noSeat = 0

/** More at once are not named. The memory is the machine's only where it is written to. */
const seats = 1024
const steps = 256
const nameBytes = 128
/** `namespace/name` at its longest. */
const keyBytes = 320
const parts = [nameBytes, nameBytes, keyBytes] as const
const seatBytes = 32 + nameBytes + nameBytes + keyBytes
const headBytes = 64
const stepsAt = headBytes + seats * seatBytes
const stepBytes = 4 + nameBytes
const boardBytes = stepsAt + steps * stepBytes

const state = { free: 0, outside: 1, inside: 2 } as const

export function createMarkBoard(buffer: SharedArrayBuffer = new SharedArrayBuffer(boardBytes)): MarkBoard {
  const cells = new Int32Array(buffer)
  const bytes = new Uint8Array(buffer)
  const encoder = new TextEncoder()
  const known = new Map<string, number>()
  const loading = new Set<number>()
  /** Those given back last are taken first: few pages are ever touched. */
  const free: number[] = []
  let used = 0
  let sign = 0

  const write = (text: string, lengthAt: number, at: number, room: number): void => {
    // Never half a character: what does not fit whole is left out.
    cells[lengthAt / 4] = encoder.encodeInto(text, bytes.subarray(at, at + room)).written
  }

  /** 0: there is no room to remember it. */
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
  const show = (seat: number, how: number): void => void Atomics.store(cells, seatAt(seat) / 4, how)
  const count = (where: number, by: number): void => void Atomics.add(cells, where, by)

  return {
    buffer,
    enter({ operator, controller, key }, isLoading = false) {
      giveSign()
      const seat = free.pop() ?? (used < seats - 1 ? ++used : noSeat)
      if (seat !== noSeat) {
        let at = seatAt(seat) + 32
        for (const [index, text] of [operator, controller, key].entries()) {
          write(text, seatAt(seat) + 8 + 4 * index, at, parts[index]!)
          at += parts[index]!
        }
        cells[seatAt(seat) / 4 + 1] = 0
        show(seat, state.outside)
        if (isLoading) {
          loading.add(seat)
          count(cell.loading, 1)
        }
      }
      count(cell.seated, 1)
      // The watcher sleeps while nobody is here, and says so before it does.
      if (Atomics.load(cells, cell.asleep) === 1 && Atomics.exchange(cells, cell.asleep, 0) === 1) {
        Atomics.notify(cells, cell.asleep)
      }
      return seat
    },
    leave(seat) {
      if (seat !== noSeat) {
        show(seat, state.free)
        free.push(seat)
        if (loading.delete(seat)) count(cell.loading, -1)
      }
      count(cell.seated, -1)
    },
    inside(seat, step) {
      if (seat === noSeat) return
      cells[seatAt(seat) / 4 + 1] = stepOf(step)
      show(seat, state.inside)
    },
    outside(seat) {
      if (seat !== noSeat) show(seat, state.outside)
    },
    mark(seat) {
      cells[cell.holder] = seat
      giveSign()
    },
  }
}

/** Undefined: it was written to meanwhile, and the writer is alive. */
export function readBoard(buffer: SharedArrayBuffer): BoardReading | undefined {
  const cells = new Int32Array(buffer)
  const sign = Atomics.load(cells, cell.sign)
  const inside: Culprit[] = []
  let holder: Culprit | undefined
  for (let seat = 1; seat < seats; seat++) {
    if (Atomics.load(cells, seatAt(seat) / 4) !== state.inside) continue
    const culprit = readSeat(buffer, cells, seat)
    inside.push(culprit)
    if (cells[cell.holder] === seat) holder = culprit
  }
  return Atomics.load(cells, cell.sign) === sign ? { sign, holder, inside } : undefined
}

function readSeat(buffer: SharedArrayBuffer, cells: Int32Array, seat: number): Culprit {
  let at = seatAt(seat) + 32
  const [operator, controller, key] = parts.map((room, index) => {
    const text = readText(buffer, at, Math.min(cells[seatAt(seat) / 4 + 2 + index]!, room))
    at += room
    return text
  }) as [string, string, string]
  const step = cells[seatAt(seat) / 4 + 1]! & (steps - 1)
  const stepAt = stepsAt + step * stepBytes
  const name = step === 0 ? '' : readText(buffer, stepAt + 4, Math.min(cells[stepAt / 4]!, nameBytes))
  return { place: { operator, controller, key }, step: name }
}

function readText(buffer: SharedArrayBuffer, at: number, length: number): string {
  // Decoders take no shared memory: a copy.
  return new TextDecoder().decode(new Uint8Array(buffer, at, Math.max(0, length)).slice())
}

function seatAt(seat: number): number {
  return headBytes + seat * seatBytes
}
