/** sprig's functions for dates. */
import { formatDuration } from '../../kube/units/duration.ts'
import { type CallContext, type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { GoError } from '../template/go-error.ts'
import { GoInteger, type GoObject, isInteger, integerValue } from '../template/values.ts'
import { readDuration } from './time/go-duration.ts'
import { parseInBase } from './go-numbers.ts'
import { formatInstant, type Instant, instantFrom, instantOf, isTime, timeObject, zeroTime } from './time/go-time.ts'
import { parseLayout } from './time/time-layout.ts'
import { isZone } from './time/time-zones.ts'

const billion = 1_000_000_000n
const htmlLayout = '2006-01-02'

function now({ services }: CallContext): Instant {
  const ms = services.generate('now', [], () => services.now())
  return { nanoseconds: BigInt(Math.trunc(ms)) * 1_000_000n, zone: services.zone }
}

/** A time, or seconds since the epoch; anything else is now. */
function instantIn(value: unknown, context: CallContext, types: readonly string[]): Instant {
  if (isTime(value)) return instantOf(value)
  const isSeconds = isInteger(value) && types.includes(typeof value === 'bigint' ? 'int' : value.type)
  if (!isSeconds) return now(context)
  return { nanoseconds: integerValue(value) * billion, zone: context.services.zone }
}

function dateIn(layout: string, date: unknown, zone: string, context: CallContext): string {
  const instant = instantIn(date, context, ['int', 'int64', 'int32'])
  const local = zone === 'Local' ? context.services.zone : zone
  return formatInstant(layout, { ...instant, zone: isZone(local) ? local : 'UTC' })
}

const dateInZone = goFunction('string any string', ([layout, date, zone]: [string, unknown, string], context) =>
  dateIn(layout, date, zone, context),
)

/** Moved by a duration; unchanged if the text is none. */
const dateModify = goFunction('string time.Time', ([text, date]: [string, GoObject]) => {
  try {
    return moved(date, readDuration(text))
  } catch (error) {
    if (error instanceof GoError) return date
    throw error
  }
})

const mustDateModify = goFunction('string time.Time', ([text, date]: [string, GoObject]) =>
  moved(date, readDuration(text)),
)

function moved(date: GoObject, by: bigint): GoObject {
  const instant = instantOf(date)
  return timeObject({ ...instant, nanoseconds: instant.nanoseconds + by })
}

export const dateFunctions: FunctionTable = new Map<string, GoFunction>([
  ['now', goFunction('', (_args: readonly unknown[], context) => timeObject(now(context)))],
  [
    'date',
    goFunction('string any', ([layout, date]: [string, unknown], context) => dateIn(layout, date, 'Local', context)),
  ],
  ['dateInZone', dateInZone],
  ['date_in_zone', dateInZone],
  ['htmlDate', goFunction('any', ([date]: readonly unknown[], context) => dateIn(htmlLayout, date, 'Local', context))],
  [
    'htmlDateInZone',
    goFunction('any string', ([date, zone]: [unknown, string], context) => dateIn(htmlLayout, date, zone, context)),
  ],
  ['dateModify', dateModify],
  ['date_modify', dateModify],
  ['mustDateModify', mustDateModify],
  ['must_date_modify', mustDateModify],
  [
    'toDate',
    goFunction('string string', ([layout, text]: [string, string], { services }) => {
      try {
        return timeObject(instantFrom(parseLayout(layout, text), services.zone))
      } catch (error) {
        if (error instanceof GoError) return timeObject(zeroTime)
        throw error
      }
    }),
  ],
  [
    'mustToDate',
    goFunction('string string', ([layout, text]: [string, string], { services }) =>
      timeObject(instantFrom(parseLayout(layout, text), services.zone)),
    ),
  ],
  ['unixEpoch', goFunction('time.Time', ([date]: [GoObject]) => unixSeconds(instantOf(date)))],
  [
    'ago',
    goFunction('any', ([date]: readonly unknown[], context) => {
      const since = now(context).nanoseconds - instantIn(date, context, ['int', 'int64']).nanoseconds
      return formatDuration(roundedToSeconds(since))
    }),
  ],
  [
    'duration',
    goFunction('any', ([value]: readonly unknown[]) => formatDuration(BigInt.asIntN(64, secondsIn(value) * billion))),
  ],
  [
    'durationRound',
    goFunction('any', ([value]: readonly unknown[], context) => roughly(nanosecondsIn(value, context))),
  ],
])

function unixSeconds({ nanoseconds }: Instant): string {
  const seconds = nanoseconds / billion
  return String(nanoseconds < 0n && nanoseconds % billion !== 0n ? seconds - 1n : seconds)
}

function roundedToSeconds(nanoseconds: bigint): bigint {
  const rest = nanoseconds % billion
  const magnitude = rest < 0n ? -rest : rest
  if (magnitude * 2n < billion) return nanoseconds - rest
  return nanoseconds < 0n ? nanoseconds - rest - billion : nanoseconds - rest + billion
}

function secondsIn(value: unknown): bigint {
  if (typeof value === 'string') return parseInBase(value, 10) ?? 0n
  return value instanceof GoInteger && value.type === 'int64' ? value.value : 0n
}

function nanosecondsIn(value: unknown, context: CallContext): bigint {
  if (isTime(value)) return now(context).nanoseconds - instantOf(value).nanoseconds
  if (value instanceof GoInteger && value.type === 'int64') return value.value
  if (typeof value !== 'string') return 0n
  try {
    return readDuration(value)
  } catch (error) {
    if (error instanceof GoError) return 0n
    throw error
  }
}

const roughUnits: readonly (readonly [bigint, string])[] = [
  [365n * 24n * 3600n, 'y'],
  [30n * 24n * 3600n, 'mo'],
  [24n * 3600n, 'd'],
  [3600n, 'h'],
  [60n, 'm'],
  [1n, 's'],
]

/** In the largest unit that fits. */
function roughly(duration: bigint): string {
  const length = duration < 0n ? -duration : duration
  const unit = roughUnits.find(([seconds]) => length > seconds * billion)
  return unit ? `${length / (unit[0] * billion)}${unit[1]}` : '0s'
}
