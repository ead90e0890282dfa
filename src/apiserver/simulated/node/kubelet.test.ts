import { describe, expect, it } from 'vitest'
import { condition, openSimulatedCluster, type SimulatedCluster } from '../../../../test/simulated-cluster.ts'

async function pod(
  cluster: SimulatedCluster,
  script: Readonly<Record<string, string>>,
  spec: object = {},
): Promise<void> {
  const annotations = Object.fromEntries(
    Object.entries(script).map(([word, value]) => [`simulated.muster.dev/${word}`, value]),
  )
  await cluster.create(
    'Pod',
    'one',
    { spec: { containers: [{ name: 'main', image: 'x:1' }], ...spec } },
    { annotations },
  )
}

async function state(cluster: SimulatedCluster): Promise<string> {
  const { status } = await cluster.get('Pod', 'one')
  const [container] = status?.containerStatuses ?? []
  const how =
    container?.state?.waiting?.reason ??
    container?.state?.terminated?.reason ??
    (container?.state?.running ? 'Running' : '')
  return `${status?.phase} ${how} ${container?.restartCount} ${container?.ready ? 'ready' : 'unready'}`
}

describe('the kubelet', () => {
  it('rejects a pod that names its node and does not fit it', async () => {
    const cluster = await openSimulatedCluster({ nodes: [{ name: 'node-1', cpu: '2' }] })
    const create = async (name: string, container: object, spec: object = {}): Promise<void> => {
      const containers = [{ name: 'main', image: 'x:1', ...container }]
      await cluster.create('Pod', name, { spec: { nodeName: 'node-1', containers, ...spec } })
      await cluster.seconds(3)
    }
    const outcome = async (name: string): Promise<string> => {
      const { phase, reason, message } = (await cluster.get('Pod', name)).status ?? {}
      return [phase, reason, message].filter(Boolean).join(' ')
    }
    const ports = [{ containerPort: 80, hostPort: 8080 }]
    await create('first', { ports, resources: { requests: { cpu: '1500m' } } })
    expect(await outcome('first')).toBe('Running')
    await create('ports', { ports })
    expect(await outcome('ports')).toBe(
      "Failed NodePorts Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    )
    await create('cpu', { resources: { requests: { cpu: '1' } } })
    expect(await outcome('cpu')).toBe(
      "Failed OutOfcpu Pod was rejected: Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000",
    )
    await create('selector', {}, { nodeSelector: { gpu: 'yes' } })
    expect(await outcome('selector')).toMatch(/^Failed NodeAffinity /)
    await create('small', {})
    expect(await outcome('small')).toBe('Running')
  })

  it('runs ephemeral containers, which affect neither readiness nor phase', async () => {
    const cluster = await openSimulatedCluster()
    await pod(cluster, { 'run-seconds.short': '5', 'exit-code.short': '3' })
    await cluster.seconds(3)
    const ephemeralContainers = [
      { name: 'debugger', image: 'busybox:1' },
      { name: 'short', image: 'busybox:1' },
    ]
    await cluster.merge('Pod', 'one', { spec: { ephemeralContainers } }, 'ephemeralcontainers')
    await cluster.seconds(1)
    const { status } = await cluster.get('Pod', 'one')
    expect(status?.ephemeralContainerStatuses).toMatchObject([
      { name: 'debugger', ready: false, restartCount: 0, state: { running: {} } },
      { name: 'short', state: { running: {} } },
    ])
    expect(await state(cluster)).toBe('Running Running 0 ready')
    await cluster.seconds(6)
    const later = await cluster.get('Pod', 'one')
    expect(later.status?.ephemeralContainerStatuses).toMatchObject([
      { name: 'debugger', state: { running: {} } },
      { name: 'short', restartCount: 0, state: { terminated: { exitCode: 3, reason: 'Error' } } },
    ])
    expect(condition(later, 'Ready')).toBe('True')
    expect(await state(cluster)).toBe('Running Running 0 ready')
  })

  it('starts a pod step by step, and reports what it waits for', async () => {
    const cluster = await openSimulatedCluster()
    await pod(cluster, { 'start-seconds': '5', 'ready-after-seconds': '10' })
    await cluster.seconds(2)
    expect(await state(cluster)).toBe('Pending ContainerCreating 0 unready')
    expect(condition(await cluster.get('Pod', 'one'), 'Ready')).toBe('False ContainersNotReady')
    await cluster.seconds(4)
    expect(await state(cluster)).toBe('Running Running 0 unready')
    await cluster.seconds(10)
    expect(await state(cluster)).toBe('Running Running 0 ready')
    const one = await cluster.get('Pod', 'one')
    expect(
      ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) =>
        condition(one, type),
      ),
    ).toEqual(Array.from({ length: 5 }, () => 'True'))
    expect(one.status).toMatchObject({ podIP: '10.244.0.1', qosClass: 'BestEffort', observedGeneration: 1 })
  })

  it('restarts terminated containers with a growing back-off', async () => {
    const cluster = await openSimulatedCluster()
    await pod(cluster, { 'run-seconds': '2', 'exit-code': '3' })
    const restarts: number[] = []
    let known = 0
    for (let second = 0; second < 120; second++) {
      await cluster.seconds(1)
      const count = (await cluster.get('Pod', 'one')).status?.containerStatuses?.[0]?.restartCount ?? 0
      if (count > known) restarts.push(second)
      known = count
    }
    const pauses = restarts.slice(1).map((at, index) => at - restarts[index]!)
    // Each round is two seconds of running and the back-off: 10, 20, 40.
    expect(pauses).toEqual([12, 22, 42])
    expect(await state(cluster)).toBe('Running CrashLoopBackOff 4 unready')
    const { status } = await cluster.get('Pod', 'one')
    expect(status?.containerStatuses?.[0]?.lastState?.terminated).toMatchObject({ exitCode: 3, reason: 'Error' })
  })

  it('lets a container recover after a given number of failures', async () => {
    const cluster = await openSimulatedCluster()
    await pod(cluster, { 'run-seconds': '1', 'exit-code': '1', 'fail-times': '2' })
    await cluster.seconds(60)
    expect(await state(cluster)).toBe('Running Running 2 ready')
  })

  it.each([
    ['Never', '0', 'Succeeded Completed 0 unready', 'False PodCompleted'],
    ['Never', '1', 'Failed Error 0 unready', 'False PodFailed'],
    ['OnFailure', '0', 'Succeeded Completed 0 unready', 'False PodCompleted'],
  ])('finishes a pod with restartPolicy %s and exit code %s', async (restartPolicy, code, expected, ready) => {
    const cluster = await openSimulatedCluster()
    await pod(cluster, { 'run-seconds': '3', 'exit-code': code }, { restartPolicy })
    await cluster.seconds(10)
    expect(await state(cluster)).toBe(expected)
    expect(condition(await cluster.get('Pod', 'one'), 'Ready')).toBe(ready)
  })

  it('reports ImagePullBackOff until the image can be pulled', async () => {
    const cluster = await openSimulatedCluster()
    await pod(cluster, { 'fail-image-pull': 'true' })
    await cluster.seconds(5)
    expect(await state(cluster)).toBe('Pending ImagePullBackOff 0 unready')
    await cluster.merge('Pod', 'one', {
      metadata: { annotations: { 'simulated.muster.dev/fail-image-pull': 'false' } },
    })
    await cluster.seconds(5)
    expect(await state(cluster)).toBe('Running Running 0 ready')
  })

  it('runs init containers in turn, and none after a failed one', async () => {
    const initContainers = [
      { name: 'first', image: 'x' },
      { name: 'side', image: 'x', restartPolicy: 'Always' },
      { name: 'second', image: 'x' },
    ]
    const cluster = await openSimulatedCluster()
    await pod(cluster, { 'run-seconds.first': '5', 'run-seconds.second': '5' }, { initContainers })
    await cluster.seconds(4)
    expect(await state(cluster)).toBe('Pending PodInitializing 0 unready')
    expect(condition(await cluster.get('Pod', 'one'), 'Initialized')).toBe('False ContainersNotInitialized')
    await cluster.seconds(10)
    const { status } = await cluster.get('Pod', 'one')
    expect(status?.initContainerStatuses?.map(({ state: one }) => Object.keys(one ?? {})[0])).toEqual([
      'terminated',
      'running',
      'terminated',
    ])
    expect(await state(cluster)).toBe('Running Running 0 ready')

    const failing = await openSimulatedCluster()
    await pod(failing, { 'exit-code.first': '1' }, { initContainers, restartPolicy: 'Never' })
    await failing.seconds(5)
    expect(await state(failing)).toBe('Failed PodInitializing 0 unready')
  })

  it('reports a pod as ready only if its readiness gates are true', async () => {
    const cluster = await openSimulatedCluster()
    await pod(cluster, {}, { readinessGates: [{ conditionType: 'example.com/ok' }] })
    await cluster.seconds(3)
    expect(condition(await cluster.get('Pod', 'one'), 'Ready')).toBe('False ReadinessGatesNotReady')
    const { status } = await cluster.get('Pod', 'one')
    await cluster.merge(
      'Pod',
      'one',
      { status: { conditions: [...(status?.conditions ?? []), { type: 'example.com/ok', status: 'True' }] } },
      'status',
    )
    await cluster.seconds(1)
    expect(condition(await cluster.get('Pod', 'one'), 'Ready')).toBe('True')
  })

  it('stops a pod within its grace period, and kills it afterwards', async () => {
    const cluster = await openSimulatedCluster()
    await pod(cluster, { 'stop-seconds': '20' }, { terminationGracePeriodSeconds: 60 })
    await cluster.seconds(3)
    await cluster.remove('Pod', 'one')
    await cluster.seconds(15)
    expect((await cluster.get('Pod', 'one')).metadata.deletionTimestamp).toBeDefined()
    expect(await state(cluster)).toBe('Running Running 0 ready')
    await cluster.seconds(10)
    expect(await cluster.find('Pod', 'one')).toBeUndefined()
  })

  it('fails a pod that exceeds activeDeadlineSeconds', async () => {
    const cluster = await openSimulatedCluster()
    await pod(cluster, {}, { activeDeadlineSeconds: 30 })
    await cluster.seconds(40)
    expect((await cluster.get('Pod', 'one')).status).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' })
  })
})
