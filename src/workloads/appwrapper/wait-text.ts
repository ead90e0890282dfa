/** Why an AppWrapper waits or leaves, in words that a person can act on. */
import type { WaitReason, WorkloadEviction } from '../core/queue/queue-decisions.ts'

/** `nameOf` says which AppWrapper an id is. */
export function waitingText(reason: WaitReason, ahead: number, nameOf: (id: string) => string): string {
  const text = textOf(reason, nameOf)
  return ahead > 0 ? `${text}; ${ahead === 1 ? '1 is' : `${ahead} are`} ahead` : text
}

function textOf(reason: WaitReason, nameOf: (id: string) => string): string {
  switch (reason.kind) {
    case 'BackingOff':
      return 'it did not fit, and is considered again after a pause'
    case 'QueueStopped':
      return `the queue ${reason.queue} is stopped`
    case 'UnknownQueue':
      return `there is no queue ${reason.queue}`
    case 'NoFlavor':
      return `no flavor of the queue ${reason.queue} has nodes that accept its pods`
    case 'InsufficientQuota': {
      const { resource, requested, available, queue } = reason
      return `needs ${amountText(resource, requested)}, ${amountText(resource, available)} are free in quota ${queue}`
    }
    case 'InsufficientNodes': {
      const { resource, requested, available, pods, room } = reason
      const need = `needs room for ${pods === 1 ? '1 pod' : `${pods} pods`}, the nodes have room for ${room}`
      return `${need}: of ${amountText(resource, requested)} that it requests, ${amountText(resource, available)} are free`
    }
    case 'InsufficientNodesTogether':
      return 'each kind of its pods would fit on the nodes, all of them together do not'
    case 'Preempting':
      return `room is being made for it: ${reason.victims === 1 ? '1 AppWrapper has' : `${reason.victims} AppWrappers have`} to leave`
    case 'AwaitingEnds':
      return `room is kept for it: ${reason.running === 1 ? '1 AppWrapper has' : `${reason.running} AppWrappers have`} to end`
    case 'Reserved':
      return `the room that it needs is kept for ${nameOf(reason.by)}`
    case 'BehindHead':
      return `its queue is strict, and ${nameOf(reason.head)} is first`
    default:
      return 'it is held back'
  }
}

export function evictionText({ reason, by }: WorkloadEviction, nameOf: (id: string) => string): string {
  return evictionTexts[reason](by === undefined ? 'another AppWrapper' : nameOf(by))
}

const evictionTexts: Readonly<Record<WorkloadEviction['reason'], (other: string) => string>> = {
  Preempted: (other) => `It makes room for ${other}, which comes first.`,
  ReclaimedQuota: (other) => `It borrowed quota that ${other} has a right to.`,
  FairSharing: (other) => `Its queue has more than its share, and makes room for ${other}.`,
  QueueStopped: () => 'Its queue is stopped, and lets nothing run.',
}

const units = ['', 'Ki', 'Mi', 'Gi', 'Ti'] as const

/** `8 nvidia.com/gpu`, `1500m cpu`, `16Gi memory`. */
function amountText(resource: string, amount: number): string {
  const free = Math.max(amount, 0)
  if (resource === 'cpu') return `${free % 1000 === 0 ? free / 1000 : `${Math.floor(free)}m`} cpu`
  if (resource !== 'memory' && !resource.includes('storage') && !resource.startsWith('hugepages-')) {
    return `${free} ${resource}`
  }
  let [value, unit] = [free, 0]
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1]
  return `${Math.floor(value * 10) / 10}${units[unit]} ${resource}`
}
