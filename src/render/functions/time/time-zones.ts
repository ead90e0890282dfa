/** Offsets of time zones, from the tables of the runtime. */

interface ZoneOffset {
  /** East of UTC. */
  readonly seconds: number
  /** `CET`; without an abbreviation the offset, `+03`. */
  readonly name: string
}

const formats = new Map<string, Intl.DateTimeFormat | undefined>()

function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  if (formats.has(zone)) return formats.get(zone)
  let format: Intl.DateTimeFormat | undefined
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      era: 'short',
      timeZoneName: 'short',
    })
  } catch {
    format = undefined
  }
  formats.set(zone, format)
  return format
}

/** Whether there is such a zone: names are those of the IANA database. */
export function isZone(zone: string): boolean {
  return zone === 'UTC' || (/^[A-Za-z]/.test(zone) && formatOf(zone) !== undefined)
}

/** Abbreviations that the runtime writes as an offset in English. */
const abbreviations: Readonly<Record<string, readonly [standard: string, summer: string]>> = {
  'Europe/London': ['GMT', 'BST'],
  'Europe/Dublin': ['GMT', 'IST'],
  'Europe/Lisbon': ['WET', 'WEST'],
  'Asia/Tokyo': ['JST', 'JST'],
  'Asia/Shanghai': ['CST', 'CST'],
  'Asia/Kolkata': ['IST', 'IST'],
  'Asia/Calcutta': ['IST', 'IST'],
  'Europe/Moscow': ['MSK', 'MSK'],
  'Australia/Sydney': ['AEST', 'AEDT'],
}

const central =
  /^Europe\/(?:Amsterdam|Berlin|Brussels|Budapest|Copenhagen|Madrid|Oslo|Paris|Prague|Rome|Stockholm|Vienna|Warsaw|Zurich)$/
const eastern = /^Europe\/(?:Athens|Bucharest|Helsinki|Kiev|Kyiv|Riga|Sofia|Tallinn|Vilnius)$/

export function zoneOffset(zone: string, ms: number): ZoneOffset {
  const format = zone === 'UTC' ? undefined : formatOf(zone)
  if (!format) return { seconds: 0, name: 'UTC' }
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  const part = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type))
  const year = parts.get('era') === 'BC' ? 1 - part('year') : part('year')
  const local = new Date(0)
  local.setUTCFullYear(year, part('month') - 1, part('day'))
  local.setUTCHours(part('hour'), part('minute'), part('second'))
  const seconds = Math.round((local.getTime() - Math.floor(ms / 1000) * 1000) / 1000)
  return { seconds, name: abbreviation(zone, parts.get('timeZoneName') ?? '', seconds) }
}

function regional(zone: string): readonly [standard: string, summer: string] | undefined {
  if (central.test(zone)) return ['CET', 'CEST']
  return eastern.test(zone) ? ['EET', 'EEST'] : undefined
}

function abbreviation(zone: string, name: string, seconds: number): string {
  if (!/^(?:GMT|UTC)./.test(name)) return name
  const known = abbreviations[zone] ?? regional(zone)
  if (known) {
    const standard = { 'Australia/Sydney': 36_000 }[zone] ?? (central.test(zone) ? 3600 : eastern.test(zone) ? 7200 : 0)
    return known[0] === known[1] || seconds === standard ? known[0] : known[1]
  }
  const sign = seconds < 0 ? '-' : '+'
  const minutes = Math.abs(Math.trunc(seconds / 60))
  const hours = String(Math.floor(minutes / 60)).padStart(2, '0')
  return minutes % 60 === 0 ? `${sign}${hours}` : `${sign}${hours}${String(minutes % 60).padStart(2, '0')}`
}
