/**
 * The protocol of all measured programs, whatever client they use. The mode is the first argument; the output is one
 * line of JSON on standard output.
 *
 * - `start N`: watch Pods until all N have arrived; the benchmark measures the time from outside.
 * - `footprint N`: the same, for anonymous memory.
 * - `memory N [PATHS]`: hold N Pods, or these fields of them, then report the heap after garbage collection.
 * - `rate N E`: hold N Pods, then receive E changes; reports the CPU seconds spent on them.
 * - `idle W`: hold W idle watches, in addition to a few that warm up.
 * - `consumers N C`: hold N Pods for one consumer, then for C.
 */
const [mode, first = '0', second = '0'] = process.argv.slice(2)

const warmUp = 20

const settled = () => {
  for (let round = 0; round < 4; round++) globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { held: heapUsed + external, rss }
}

const control = async (path) => {
  const { request } = await import('node:https')
  return await new Promise((resolve, reject) => {
    const call = request(
      `${process.env.BENCH_SERVER}${path}`,
      { method: 'POST', rejectUnauthorized: false, agent: false },
      (response) => {
        let text = ''
        response.on('data', (chunk) => (text += chunk))
        response.on('end', () => resolve(JSON.parse(text)))
      },
    )
    call.on('error', reject)
    call.end()
  })
}

/** Anonymous memory, as Linux counts it. */
const anonymousMemory = async () => {
  const { readFile } = await import('node:fs/promises')
  const text = await readFile('/proc/self/smaps_rollup', 'utf8').catch(() => '')
  return 1024 * Number(/^Anonymous:\s+(\d+)/m.exec(text)?.[1] ?? 0)
}

/** Resolves when `done` returns true; checked after every object, or periodically. */
const until = (done) =>
  new Promise((resolve) => {
    const look = () => (done() ? resolve() : setTimeout(look, 20))
    look()
  })

export async function measure(make) {
  const tell = (result) => process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
  if (mode === 'start' || mode === 'footprint') {
    let seen = 0
    const client = await make()
    await new Promise((resolve) => {
      void client.follow(() => {
        if (++seen === Number(first)) resolve()
      })
    })
    // The cost of the measurement must not be part of it.
    tell(mode === 'start' ? { rss: process.memoryUsage().rss } : { own: await anonymousMemory() })
    return
  }
  const client = await make()
  if (mode === 'idle') {
    // The first watches pay for one-time set-up; the figure is the price of each further one.
    await client.idle(0, warmUp)
    const before = settled()
    await client.idle(warmUp, Number(first))
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const after = settled()
    const { connections, watches } = await control('/control/stats')
    tell({
      rss: (after.rss - before.rss) / Number(first),
      held: (after.held - before.held) / Number(first),
      connections,
      watches,
    })
    return
  }
  const before = settled()
  let seen = 0
  let isOver = false
  await client.follow((name) => {
    seen++
    if (name === 'sentinel') isOver = true
  })
  await until(() => seen >= Number(first))
  const one = settled()
  const perObject = { held: (one.held - before.held) / Number(first), rss: (one.rss - before.rss) / Number(first) }
  if (mode === 'memory') {
    tell({ ...perObject, objects: client.count() })
  } else if (mode === 'rate') {
    await control(`/control/prepare?events=${second}`)
    const cpu = process.cpuUsage()
    const begun = performance.now()
    void control(`/control/stream?events=${second}`)
    await until(() => isOver)
    const { user, system } = process.cpuUsage(cpu)
    tell({
      cpuSeconds: (user + system) / 1e6,
      seconds: (performance.now() - begun) / 1000,
      events: seen - Number(first) - 1,
    })
  } else if (mode === 'consumers') {
    await client.join(Number(second) - 1)
    const many = settled()
    const { watches } = await control('/control/stats')
    tell({ one: one.held, many: many.held, watches, objects: client.count() })
  }
}
