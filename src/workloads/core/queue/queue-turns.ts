/** Whose turn it is: the queues, each with the classes that are worth considering, one first workload at a time. */
import { createHeap, type Heap } from '../../../manager/schedule/priority-queue.ts'
import { compareShares } from '../quota/quota-tree.ts'
import type { ChargeOption } from './flavors.ts'
import type { QueueState } from './queue-state.ts'
import { compareInQueue, compareOrder, type WorkloadClass } from './workload-class.ts'

export interface QueueTurn {
  readonly queue: string
  /** Nothing passes its first workload. */
  readonly isStrict: boolean
  readonly classes: WorkloadClass[]
}

interface Turns {
  /** The class whose first workload is considered now. */
  next(): WorkloadClass | undefined
  /** Its queue goes on with what is its first workload now. */
  again(): void
  /** The first workload waits: the queue goes on with the next class, or not at all if it is strict. */
  skip(mayRepeat: boolean): void
  /** Whether the queue whose turn it is is strict. */
  readonly isStrict: boolean
}

interface Turn {
  readonly isStrict: boolean
  readonly classes: Heap<WorkloadClass>
  /** Whether its first workload would borrow, as it was when it was asked last. */
  isBorrowing: boolean
}

export function createTurns(state: QueueState, queues: readonly QueueTurn[], now: number): Turns {
  const turns = queues.map(({ isStrict, classes }): Turn => {
    const heap = createHeap<WorkloadClass>((a, b) => compareInQueue(a.members[0]!, b.members[0]!, now) < 0)
    for (const home of classes) heap.push(home)
    return { isStrict, classes: heap, isBorrowing: false }
  })
  for (const turn of turns) turn.isBorrowing = borrows(state, turn.classes.peek()!)
  const order = state.options.fairSharing ? createFairOrder(state, now) : createHeap(isTurnBefore(now))
  for (const turn of turns) order.push(turn)
  let current: Turn | undefined
  const goOn = (): void => {
    const head = current?.classes.peek()
    if (!current || !head) return
    current.isBorrowing = borrows(state, head)
    order.push(current)
  }
  return {
    get isStrict() {
      return current?.isStrict ?? false
    },
    next() {
      for (;;) {
        current = order.pop()
        if (!current) return undefined
        const head = current.classes.peek()!
        const isBorrowing = borrows(state, head)
        if (isBorrowing === current.isBorrowing || state.options.fairSharing) return head
        // What started before it has changed that.
        current.isBorrowing = isBorrowing
        order.push(current)
      }
    },
    again() {
      const head = current!.classes.pop()!
      if (head.members.length > 0) current!.classes.push(head)
      goOn()
    },
    skip(mayRepeat) {
      const head = current!.classes.pop()!
      if (current!.isStrict) return
      if (mayRepeat) current!.classes.push(head)
      goOn()
    },
  }
}

function firstOption({ options }: WorkloadClass): ChargeOption | undefined {
  return 'kind' in options ? undefined : options[0]
}

function borrows({ quota }: QueueState, home: WorkloadClass): boolean {
  return firstOption(home)?.charges.some((charge) => quota!.wouldBorrow(charge)) ?? false
}

function isTurnBefore(now: number): (a: Turn, b: Turn) => boolean {
  return (a, b) =>
    a.isBorrowing === b.isBorrowing
      ? compareOrder(a.classes.peek()!.members[0]!, b.classes.peek()!.members[0]!, now) < 0
      : b.isBorrowing
}

/** The queue that would have the smallest share with its first workload comes first; shares change with each start. */
function createFairOrder(state: QueueState, now: number): Pick<Heap<Turn>, 'push' | 'pop'> {
  const waiting = new Set<Turn>()
  return {
    push: (turn) => void waiting.add(turn),
    pop() {
      let first: Turn | undefined
      for (const turn of waiting) if (!first || compareFair(state, turn, first, now) < 0) first = turn
      if (first) waiting.delete(first)
      return first
    },
  }
}

function compareFair({ quota }: QueueState, a: Turn, b: Turn, now: number): number {
  const [first, second] = [a.classes.peek()!, b.classes.peek()!]
  const [own, other] = [firstOption(first)?.charges[0], firstOption(second)?.charges[0]]
  if (quota && own && other && own.node !== other.node) {
    for (const { node, amounts } of [own, other]) quota.use(node, amounts, 1, 'planned')
    const shares = quota.shares(own.node, other.node)
    for (const { node, amounts } of [own, other]) quota.use(node, amounts, -1, 'planned')
    const difference = shares ? compareShares(...shares) : 0
    if (difference !== 0) return difference
  }
  return compareOrder(first.members[0]!, second.members[0]!, now)
}
