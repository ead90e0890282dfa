/**
 * The HTTP date format: `Thu, 01 Jan 1970 00:00:00 GMT`. Computed without `Date`, whose first use loads the time zone
 * tables: half a megabyte for an idle server.
 */
import { formatTime } from '../../kube/units/duration.ts'

const weekdays = ['Thu', 'Fri', 'Sat', 'Sun', 'Mon', 'Tue', 'Wed'] as const
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

const dayMs = 86_400_000

let lastTime = ''
let lastDate = ''

export function httpDate(ms: number): string {
  const time = formatTime(ms)
  if (time !== lastTime) {
    const [, year, month, day, clock] = /^(\d+)-(\d\d)-(\d\d)T(.*)Z$/.exec(time)!
    // 1 January 1970 was a Thursday.
    const weekday = weekdays[((Math.floor(ms / dayMs) % 7) + 7) % 7]!
    lastDate = `${weekday}, ${day} ${months[Number(month) - 1]!} ${year} ${clock} GMT`
    lastTime = time
  }
  return lastDate
}
