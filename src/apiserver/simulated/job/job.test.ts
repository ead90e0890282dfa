import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { condition, openSimulatedCluster, type SimulatedCluster, template } from '../../../../test/simulated-cluster.ts'
import { formatIndexes, parseIndexes } from './index-set.ts'

async function job(
  cluster: SimulatedCluster,
  spec: object,
  script: Readonly<Record<string, string>> = {},
  restartPolicy = 'Never',
): Promise<void> {
  await cluster.create('Job', 'task', { spec: { template: template(script, { restartPolicy }), ...spec } })
}

describe('a Job', () => {
  it('runs its completions with its parallelism, and completes', async () => {
    const cluster = await openSimulatedCluster()
    await job(cluster, { completions: 5, parallelism: 2 }, { 'run-seconds': '10' })
    await cluster.seconds(5)
    expect((await cluster.get('Job', 'task')).status).toMatchObject({ active: 2, ready: 2 })
    await cluster.seconds(60)
    const done = await cluster.get('Job', 'task')
    expect(done.status).toMatchObject({ succeeded: 5, uncountedTerminatedPods: {} })
    expect(done.status?.active).toBeUndefined()
    expect(condition(done, 'Complete')).toBe('True CompletionsReached')
    expect(done.status?.completionTime).toBeDefined()
    const pods = await cluster.list('Pod')
    expect(pods).toHaveLength(5)
    expect(pods.flatMap(({ metadata }) => metadata.finalizers ?? [])).toEqual([])
  })

  it('finishes whatever happens, and counts every pod once', async () => {
    const shape = fc.record({
      completions: fc.integer({ min: 1, max: 4 }),
      parallelism: fc.integer({ min: 1, max: 3 }),
      backoffLimit: fc.nat(2),
      code: fc.constantFrom('0', '1'),
      restartPolicy: fc.constantFrom('Never', 'OnFailure'),
      isIndexed: fc.boolean(),
      killed: fc.array(fc.nat(10), { maxLength: 3 }),
    })
    await fc.assert(
      fc.asyncProperty(shape, async ({ code, restartPolicy, isIndexed, killed, ...spec }) => {
        const cluster = await openSimulatedCluster()
        const mode = isIndexed ? { completionMode: 'Indexed' } : {}
        await job(cluster, { ...spec, ...mode }, { 'run-seconds': '5', 'exit-code': code }, restartPolicy)
        for (const which of killed) {
          await cluster.seconds(3)
          const pods = await cluster.list('Pod')
          const victim = pods[which % Math.max(pods.length, 1)]
          if (victim) await cluster.remove('Pod', victim.metadata.name!)
        }
        await cluster.seconds(3 * 3600)
        const done = await cluster.get('Job', 'task')
        const ends = ['Complete', 'Failed'].filter((type) => condition(done, type)?.startsWith('True'))
        expect(ends).toHaveLength(1)
        const succeeded = done.status?.succeeded ?? 0
        expect(succeeded === spec.completions).toBe(ends[0] === 'Complete')
        expect(done.status?.active ?? 0).toBe(0)
        expect(cluster.failures).toEqual([])
      }),
      { numRuns: 15, seed: 11 },
    )
  })

  it('fails after backoffLimit failures, with a growing back-off', async () => {
    const cluster = await openSimulatedCluster()
    await job(cluster, { backoffLimit: 2 }, { 'run-seconds': '1', 'exit-code': '1' })
    await cluster.seconds(25)
    expect((await cluster.get('Job', 'task')).status).toMatchObject({ failed: 2 })
    await cluster.seconds(60)
    const done = await cluster.get('Job', 'task')
    expect(condition(done, 'Failed')).toBe('True BackoffLimitExceeded')
    expect(done.status?.failed).toBe(3)
  })

  it('gives each pod its index, and replaces a failed one with the same index', async () => {
    const cluster = await openSimulatedCluster()
    await job(cluster, { completionMode: 'Indexed', completions: 3, parallelism: 3 }, { 'run-seconds': '5' })
    await cluster.seconds(3)
    const pods = await cluster.list('Pod')
    expect(pods.map(({ spec }) => spec?.hostname ?? '').toSorted()).toEqual(['task-0', 'task-1', 'task-2'])
    expect(pods[0]!.spec?.containers[0]?.env?.map(({ name }) => name)).toEqual(['JOB_COMPLETION_INDEX'])
    await cluster.remove('Pod', pods[1]!.metadata.name!)
    await cluster.seconds(60)
    expect((await cluster.get('Job', 'task')).status).toMatchObject({ succeeded: 3, completedIndexes: '0-2' })
  })

  it('stops at its deadline', async () => {
    const cluster = await openSimulatedCluster()
    await job(cluster, { activeDeadlineSeconds: 20 }, { 'run-seconds': '1000' })
    await cluster.seconds(30)
    expect(condition(await cluster.get('Job', 'task'), 'Failed')).toBe('True DeadlineExceeded')
    expect(await cluster.list('Pod')).toEqual([])
  })

  it('is deleted when its TTL expires', async () => {
    const cluster = await openSimulatedCluster()
    await job(cluster, { ttlSecondsAfterFinished: 100 })
    await cluster.seconds(60)
    expect(condition(await cluster.get('Job', 'task'), 'Complete')).toBe('True CompletionsReached')
    await cluster.seconds(60)
    expect(await cluster.find('Job', 'task')).toBeUndefined()
    expect(await cluster.list('Pod')).toEqual([])
  })

  it.each(['Background', 'Foreground'])('is deleted with its running pods: %s', async (propagation) => {
    const cluster = await openSimulatedCluster()
    await job(cluster, { parallelism: 2 }, { 'run-seconds': '1000' })
    await cluster.seconds(5)
    expect(await cluster.list('Pod')).toHaveLength(2)
    await cluster.remove('Job', 'task', { propagation })
    await cluster.seconds(60)
    expect(await cluster.find('Job', 'task')).toBeUndefined()
    expect(await cluster.list('Pod')).toEqual([])
  })

  it('orphans its pods without the finalizer', async () => {
    const cluster = await openSimulatedCluster()
    await job(cluster, { parallelism: 2 }, { 'run-seconds': '1000' })
    await cluster.seconds(5)
    await cluster.remove('Job', 'task', { propagation: 'Orphan' })
    await cluster.seconds(60)
    const pods = await cluster.list('Pod')
    expect(pods.map(({ metadata }) => [metadata.ownerReferences, metadata.finalizers])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ])
    await cluster.remove('Pod', pods[0]!.metadata.name!)
    await cluster.seconds(60)
    expect(await cluster.list('Pod')).toHaveLength(1)
  })

  it('adopts matching orphans, and releases pods that no longer match', async () => {
    const cluster = await openSimulatedCluster()
    await job(cluster, { parallelism: 2 }, { 'run-seconds': '1000' })
    await cluster.seconds(5)
    const [first, second] = await cluster.list('Pod')
    const { name } = first!.metadata
    await cluster.merge('Pod', name!, { metadata: { ownerReferences: null } })
    await cluster.seconds(5)
    const adopted = await cluster.get('Pod', name!)
    expect(adopted.metadata.ownerReferences).toMatchObject([{ kind: 'Job', name: 'task', controller: true }])
    expect(adopted.metadata.finalizers).toEqual(['batch.kubernetes.io/job-tracking'])
    expect((await cluster.list('Pod')).map(({ metadata }) => metadata.name)).toEqual([name, second!.metadata.name])
    await cluster.merge('Pod', name!, { metadata: { labels: null } })
    await cluster.seconds(5)
    const released = await cluster.get('Pod', name!)
    expect([released.metadata.ownerReferences, released.metadata.finalizers]).toEqual([undefined, undefined])
    expect(await cluster.list('Pod')).toHaveLength(3)
    expect(cluster.failures).toEqual([])
  })

  it('runs no pods while suspended', async () => {
    const cluster = await openSimulatedCluster()
    await job(cluster, { suspend: true })
    await cluster.seconds(10)
    const asleep = await cluster.get('Job', 'task')
    expect([condition(asleep, 'Suspended'), asleep.status?.startTime]).toEqual(['True JobSuspended', undefined])
    expect(await cluster.list('Pod')).toEqual([])
    await cluster.merge('Job', 'task', { spec: { suspend: false } })
    await cluster.seconds(20)
    const done = await cluster.get('Job', 'task')
    expect([condition(done, 'Suspended'), condition(done, 'Complete')]).toEqual([
      'False JobResumed',
      'True CompletionsReached',
    ])
  })

  it.each([
    ['FailJob', 'True PodFailurePolicy', 1],
    ['Count', 'True BackoffLimitExceeded', 1],
  ])('applies its pod failure policy: %s', async (action, expected, failed) => {
    const cluster = await openSimulatedCluster()
    const podFailurePolicy = { rules: [{ action, onExitCodes: { operator: 'In', values: [42] } }] }
    const backoffLimit = action === 'FailJob' ? 6 : 0
    await job(cluster, { podFailurePolicy, backoffLimit }, { 'run-seconds': '1', 'exit-code': '42' })
    await cluster.seconds(60)
    const done = await cluster.get('Job', 'task')
    expect([condition(done, 'Failed'), done.status?.failed]).toEqual([expected, failed])
  })
})

describe('a set of indexes', () => {
  it('survives formatting and parsing', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(40)), (indexes) => {
        expect([...parseIndexes(formatIndexes(indexes))].toSorted((a, b) => a - b)).toEqual(
          indexes.toSorted((a, b) => a - b),
        )
      }),
    )
    expect(formatIndexes([0, 1, 2, 5, 7, 8])).toBe('0-2,5,7,8')
  })
})
