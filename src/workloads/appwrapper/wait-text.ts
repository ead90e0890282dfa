/** Why an AppWrapper waits, in words. */
import type { WaitReason } from '../core/admission-queue.ts'

export function waitingText(reason: WaitReason): string {
  switch (reason.kind) {
    case 'UnknownQueue':
      return `There is no queue ${reason.queue}.`
    case 'InsufficientQuota':
      return `needs ${reason.requested} ${reason.resource}, ${Math.max(reason.available, 0)} are free in its quota.`
    case 'InsufficientNodes':
      return `needs room for ${podsText(reason.requested)} of one kind, the nodes have room for ${reason.room}.`
    default:
      return 'Each kind of its pods would fit on the nodes, all of them together do not.'
  }
}

function podsText(count: number): string {
  return count === 1 ? '1 pod' : `${count} pods`
}
