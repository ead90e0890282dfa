import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openSimulatedCluster, type SimulatedCluster, template } from '../../../../test/simulated-cluster.ts'
import { parseSchedule } from './cron-time.ts'

async function cron(
  cluster: SimulatedCluster,
  spec: object,
  script: Readonly<Record<string, string>> = {},
): Promise<void> {
  const jobTemplate = { spec: { template: template(script, { restartPolicy: 'Never' }) } }
  await cluster.create('CronJob', 'tick', { spec: { schedule: '*/5 * * * *', jobTemplate, ...spec } })
}

const minutes = async (cluster: SimulatedCluster, count: number): Promise<void> => await cluster.seconds(count * 60)

describe('a CronJob', () => {
  it('creates a Job at each scheduled time, and keeps a limited history', async () => {
    const cluster = await openSimulatedCluster()
    const made: string[] = []
    cluster.state.storage.onChange(({ name }, { type, object }) => {
      if (name === 'jobs.batch' && type === 'ADDED')
        made.push(object.metadata.annotations!['batch.kubernetes.io/cronjob-scheduled-timestamp']!)
    })
    await cron(cluster, { successfulJobsHistoryLimit: 2 })
    await minutes(cluster, 21)
    expect(made).toEqual(['05', '10', '15', '20'].map((minute) => `2026-01-01T00:${minute}:00Z`))
    expect(await cluster.list('Job')).toHaveLength(2)
    expect((await cluster.get('CronJob', 'tick')).status).toMatchObject({ lastScheduleTime: '2026-01-01T00:20:00Z' })
    expect((await cluster.get('CronJob', 'tick')).status?.active).toBeUndefined()
  })

  it('is deleted with its Jobs and their running pods', async () => {
    const cluster = await openSimulatedCluster()
    await cron(cluster, {}, { 'run-seconds': '100000' })
    await minutes(cluster, 11)
    expect(await cluster.list('Pod')).toHaveLength(2)
    await cluster.remove('CronJob', 'tick')
    await minutes(cluster, 2)
    expect([await cluster.list('Job'), await cluster.list('Pod')]).toEqual([[], []])
  })

  it.each([
    ['Allow', 2],
    ['Forbid', 1],
    ['Replace', 1],
  ])('concurrency policy %s', async (concurrencyPolicy, count) => {
    const cluster = await openSimulatedCluster()
    await cron(cluster, { concurrencyPolicy }, { 'run-seconds': '100000' })
    await minutes(cluster, 6)
    const [first] = await cluster.list('Job')
    await minutes(cluster, 5)
    const jobs = await cluster.list('Job')
    expect(jobs).toHaveLength(count)
    expect(jobs.some(({ metadata }) => metadata.name === first!.metadata.name)).toBe(concurrencyPolicy !== 'Replace')
    expect((await cluster.get('CronJob', 'tick')).status?.active).toHaveLength(count)
  })

  it('does nothing while suspended', async () => {
    const cluster = await openSimulatedCluster()
    await cron(cluster, { suspend: true })
    await minutes(cluster, 30)
    expect(await cluster.list('Job')).toEqual([])
  })
})

describe('a schedule', () => {
  const start = Date.UTC(2026, 0, 1)
  const next = (text: string, zone?: string, after = start): string | undefined => {
    const moment = parseSchedule(text, zone)(after)
    return moment === undefined ? undefined : new Date(moment).toISOString().slice(0, 16)
  }

  it.each([
    ['* * * * *', '2026-01-01T00:01'],
    ['30 6 * * *', '2026-01-01T06:30'],
    ['0 0 * * 0', '2026-01-04T00:00'],
    ['0 0 13 * fri', '2026-01-02T00:00'],
    ['0 0 29 2 *', '2028-02-29T00:00'],
    ['15-45/15 3,5 * jan-mar mon-fri', '2026-01-01T03:15'],
    ['@monthly', '2026-02-01T00:00'],
    ['@every 90m', '2026-01-01T01:30'],
    ['TZ=America/New_York 0 9 * * *', '2026-01-01T14:00'],
    ['0 0 31 2 *', undefined],
  ])('%s', (text, expected) => {
    expect(next(text)).toBe(expected)
  })

  it('follows its time zone through the change to summer time', () => {
    const zone = 'Europe/Berlin'
    expect(next('0 12 * * *', zone, Date.UTC(2026, 2, 28))).toBe('2026-03-28T11:00')
    expect(next('0 12 * * *', zone, Date.UTC(2026, 2, 29))).toBe('2026-03-29T10:00')
  })

  it('yields a future time, and skips none', () => {
    const field = (most: number): fc.Arbitrary<string> =>
      fc.oneof(
        fc.constant('*'),
        fc.nat(most).map(String),
        fc.integer({ min: 1, max: most }).map((step) => `*/${step}`),
      )
    fc.assert(
      fc.property(field(59), field(23), fc.nat(86_400_000), (minute, hour, offset) => {
        const schedule = parseSchedule(`${minute} ${hour} * * *`)
        const after = start + offset
        const found = schedule(after)!
        expect(found).toBeGreaterThan(after)
        // From any time in between, the next one is the same.
        expect(schedule(after + Math.floor((found - after) / 2))).toBe(found)
      }),
    )
  })
})
