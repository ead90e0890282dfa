/** Maintenance windows: whether one is open, and when that changes. */
import { type MaintenanceWindow, weekdays } from './platform.ts'

interface Maintenance {
  readonly isOpen: boolean
  /** When it is asked again; undefined without windows. */
  readonly changesAt: number | undefined
}

/** An upgrade must have this much of the window left, or half of a shorter one. */
const leastMs = 20 * 60_000
const dayMs = 24 * 3_600_000

export function maintenanceAt(windows: readonly MaintenanceWindow[], now: number): Maintenance {
  const spans = windows.flatMap((window) => spansAround(window, now))
  const open = spans.filter(({ begin, last }) => begin <= now && now <= last)
  const ends = open.map(({ last }) => last + 1)
  const begins = spans.flatMap(({ begin }) => (begin > now ? [begin] : []))
  const changes = open.length > 0 ? ends : begins
  return {
    isOpen: open.length > 0,
    changesAt: changes.reduce<number | undefined>(
      (least, one) => (least === undefined || one < least ? one : least),
      undefined,
    ),
  }
}

interface Span {
  readonly begin: number
  /** When an upgrade may begin at the latest. */
  readonly last: number
}

/** The occurrences from yesterday, which may have begun before midnight, to a week from now. */
function spansAround({ days, begin, end, offset }: MaintenanceWindow, now: number): readonly Span[] {
  const offsetMs = (offset.startsWith('-') ? -1 : 1) * timeOfDay(offset.slice(1))
  const today = Math.floor((now + offsetMs) / dayMs) * dayMs
  const from = timeOfDay(begin)
  const length = (timeOfDay(end) - from + dayMs) % dayMs || dayMs
  return Array.from({ length: 9 }, (_, index) => today + (index - 1) * dayMs)
    .filter((day) => days.includes(weekdays[new Date(day).getUTCDay()]!))
    .map((day) => day + from - offsetMs)
    .map((start) => ({ begin: start, last: start + length - Math.min(leastMs, length / 2) }))
}

/** `22:30` in milliseconds. */
function timeOfDay(text: string): number {
  const [hours, minutes] = text.split(':').map(Number)
  return (hours! * 60 + minutes!) * 60_000
}
