/** What a replay uses over time, and how many wait: as few points as a plot needs, however many events there are. */
import type { PodGroup } from '../core/nodes/node-table.ts'

export interface UsageSeries {
  /** Of the points: milliseconds, from the first event. */
  readonly times: readonly number[]
  /** By resource: the share in use, on average up to the next point. */
  readonly usage: ReadonlyMap<string, readonly number[]>
  /** The most that waited up to the next point. */
  readonly waiting: readonly number[]
}

interface Usage {
  /** Workloads start or end. */
  change(now: number, groups: readonly PodGroup[], factor: 1 | -1): void
  waiting(now: number, count: number): void
  series(): UsageSeries
}

const mostPoints = 400

export function createUsage(capacity: ReadonlyMap<string, number>): Usage {
  const resources = [...capacity.keys()]
  const used = new Map<string, number>(resources.map((resource) => [resource, 0]))
  /** Points of equal width: when there are too many, two become one. */
  let points: { readonly sums: number[]; waiting: number }[] = []
  let width = 1
  let begin: number | undefined
  let [last, count] = [0, 0]

  const pointAt = (time: number): (typeof points)[number] => {
    const index = Math.floor(time / width)
    while (points.length <= index) points.push({ sums: resources.map(() => 0), waiting: count })
    return points[index]!
  }

  /** Spreads what was in use since the last event over the points. */
  const advance = (now: number): void => {
    begin ??= now
    const time = now - begin
    while (time / width >= mostPoints) {
      const halved: typeof points = []
      for (let index = 0; index < points.length; index += 2) {
        const [first, second] = [points[index]!, points[index + 1]]
        halved.push({
          sums: first.sums.map((sum, each) => sum + (second?.sums[each] ?? 0)),
          waiting: Math.max(first.waiting, second?.waiting ?? 0),
        })
      }
      points = halved
      width *= 2
    }
    while (last < time) {
      const until = Math.min(time, (Math.floor(last / width) + 1) * width)
      const { sums } = pointAt(last)
      for (const [each, resource] of resources.entries())
        sums[each] = sums[each]! + used.get(resource)! * (until - last)
      last = until
    }
  }

  return {
    change(now, groups, factor) {
      advance(now)
      for (const { shape, count: pods } of groups)
        for (const [resource, amount] of shape.requests) {
          const before = used.get(resource)
          if (before !== undefined) used.set(resource, before + amount * pods * factor)
        }
    },
    waiting(now, waiting) {
      advance(now)
      count = waiting
      const point = pointAt(now - begin!)
      point.waiting = Math.max(point.waiting, waiting)
    },
    series: () => ({
      times: points.map((_, index) => index * width),
      usage: new Map(
        resources.map((resource, each) => [
          resource,
          points.map(({ sums }, index) => {
            const span = Math.min(width, last - index * width)
            return span > 0 ? sums[each]! / (span * capacity.get(resource)!) : 0
          }),
        ]),
      ),
      waiting: points.map(({ waiting }) => waiting),
    }),
  }
}
