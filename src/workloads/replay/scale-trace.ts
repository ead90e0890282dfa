/**
 * The loads of Kueue's published scale tests, as traces: for each queue so many workloads of each class, one after the other.
 *
 * Published are times of a whole control plane; a replay has the queue alone, in virtual time. What it shows is how much of a
 * published wait the decisions themselves would need.
 */
interface ScaleSuite {
  readonly cohorts: number
  readonly queues: number
  readonly classes: readonly ScaleClass[]
  /** Average time to admission by class, and the share of the quota in use, as published. */
  readonly published: {
    readonly waitSeconds: Readonly<Record<string, number>>
    readonly usage: number
    readonly wallSeconds: number
  }
}

interface ScaleClass {
  readonly class: string
  readonly cpu: number
  readonly duration: string
  readonly priority: number
  readonly count: number
  readonly every: string
}

export const scaleSuites: Readonly<Record<'baseline' | 'large-scale', ScaleSuite>> = {
  baseline: {
    cohorts: 5,
    queues: 6,
    classes: [
      { class: 'small', cpu: 1, duration: '200ms', priority: 50, count: 350, every: '100ms' },
      { class: 'medium', cpu: 5, duration: '500ms', priority: 100, count: 100, every: '500ms' },
      { class: 'large', cpu: 20, duration: '1s', priority: 200, count: 50, every: '1200ms' },
    ],
    published: { waitSeconds: { large: 16.5, medium: 76.8, small: 215 }, usage: 0.559, wallSeconds: 351 },
  },
  'large-scale': {
    cohorts: 10,
    queues: 100,
    classes: [
      { class: 'small', cpu: 1, duration: '150ms', priority: 50, count: 35, every: '60ms' },
      { class: 'medium', cpu: 5, duration: '350ms', priority: 100, count: 11, every: '300ms' },
      { class: 'large', cpu: 20, duration: '700ms', priority: 200, count: 4, every: '700ms' },
    ],
    published: { waitSeconds: { large: 105.6, medium: 256, small: 700 }, usage: 0.386, wallSeconds: 1179 },
  },
}

/** A trace, not read yet. `divisor`: that many times fewer workloads. */
export function scaleTrace(name: keyof typeof scaleSuites, divisor = 1): object {
  const { cohorts, queues, classes } = scaleSuites[name]
  return {
    queues: Array.from({ length: cohorts }, (_, cohort) => [
      { name: `cohort-${cohort}` },
      ...Array.from({ length: queues }, (__, index) => ({
        name: `${cohort}-${index}`,
        parent: `cohort-${cohort}`,
        quota: { cpu: { nominal: 20, borrowing: 100 } },
        reclaim: 'Any',
        withinQueue: 'LowerPriority',
      })),
    ]).flat(),
    workloads: Array.from({ length: cohorts * queues }, (_, index) =>
      classes.map(({ class: className, cpu, count, duration, priority, every }) => ({
        class: className,
        duration,
        priority,
        every,
        count: Math.ceil(count / divisor),
        queue: `${Math.floor(index / queues)}-${index % queues}`,
        pods: [{ requests: { cpu } }],
      })),
    ).flat(),
  }
}
