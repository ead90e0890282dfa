/** The section `mcad`: in which order AppWrappers start, and who may take whose place. The names and defaults are those of MCAD. */
import { duration } from '../../manager/config/setting-fields.ts'
import { boolean, type Field, integer, object } from '../../operator/kind/field.ts'

export interface McadSettings {
  /** Seconds. */
  readonly backoffTime: number
  /** Seconds. */
  readonly headOfLineHoldingTime: number
  readonly dynamicPriority: boolean
  readonly preemption: boolean
  readonly quotaEnabled: boolean
  /** Milliseconds. */
  readonly dispatchResourceReservationTimeout: number
  readonly kueueQueues: boolean
  readonly fairSharing: boolean
  readonly minimumRunTime: string
}

/** Seconds of a day: nothing useful is longer, and sums stay safe integers. */
const day = 86_400

export const mcadField: Field<McadSettings, unknown, 'defaulted'> = object(
  {
    backoffTime: integer({
      minimum: 0,
      maximum: day,
      default: 20,
      description:
        'Seconds that an AppWrapper stays away after its pods found no room. One that does not fit starts as soon as there is room; the others go on.',
    }),
    headOfLineHoldingTime: integer({
      minimum: 0,
      maximum: day,
      default: 0,
      description: 'Seconds that the first of the queue stays first, whatever arrives. 0: it does not.',
    }),
    dynamicPriority: boolean({
      default: false,
      description: 'Priorities grow by their slope while AppWrappers wait. No one is evicted for priority then.',
    }),
    preemption: boolean({
      default: false,
      description:
        'Lower priorities and borrowers of QuotaSubtrees are evicted. Queues of Kueue have their own policies.',
    }),
    quotaEnabled: boolean({ default: false, description: 'QuotaSubtrees count.' }),
    dispatchResourceReservationTimeout: integer({
      minimum: 0,
      maximum: day * 1000,
      default: 300_000,
      description:
        'Milliseconds that room is kept for pods of a dispatched AppWrapper that are not there yet. Its quota stays.',
    }),
    kueueQueues: boolean({
      default: true,
      description: 'Queues of Kueue count for AppWrappers with the label kueue.x-k8s.io/queue-name.',
    }),
    fairSharing: boolean({
      default: false,
      description: 'Of queues that borrow, the one with the smallest share for its weight comes first.',
    }),
    minimumRunTime: duration('0s', 'An AppWrapper is not evicted for another one before it has run for so long.'),
  },
  { default: {}, description: 'The queue of AppWrappers.' },
)
