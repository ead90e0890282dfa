/**
 * The time as HTTP writes it: `Thu, 01 Jan 1970 00:00:00 GMT`. Counted and not asked of a `Date`, whose first use makes a
 * process read its tables of time zones: half a megabyte of a server at rest.
 */
import { formatTime } from '../../kube/duration.ts'

const weekdays = ['Thu', 'Fri', 'Sat', 'Sun', 'Mon', 'Tue', 'Wed'] as const
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

const dayMs = 86_400_000

let lastTime = ''
let lastDate = ''

export function httpDate(ms: number): string {
  const time = formatTime(ms)
  if (time !== lastTime) {
    const [, year, month, day, clock] = /^(\d+)-(\d\d)-(\d\d)T(.*)Z$/.exec(time)!
    // The first day of all was a Thursday.
    const weekday = weekdays[((Math.floor(ms / dayMs) % 7) + 7) % 7]!
    lastDate = `${weekday}, ${day} ${months[Number(month) - 1]!} ${year} ${clock} GMT`
    lastTime = time
  }
  return lastDate
}
