/**
 * What a measured process runs: a manager with one operator on the cluster of a kubeconfig. It answers questions of its parent
 * (`measured-process.ts`) over IPC: how much memory and processor time it takes, and which requests it has sent.
 */
import { readFileSync } from 'node:fs'
import { createSharedCache } from '../src/cache/shared-cache.ts'
import { createClient } from '../src/client/create-client.ts'
import { httpTransport } from '../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../src/client/load-connection.ts'
import { systemClock } from '../src/clock/system-clock.ts'
import { createManager } from '../src/manager/hosting/manager.ts'
import { openGates } from '../src/manager/gates/gate-options.ts'
import type { Operator } from '../src/operator/operator.ts'
import type { Transport } from '../src/transport/transport.ts'

export type Question = 'memory' | 'processor' | 'requests' | 'writes' | 'stop'

export interface ProgramMemory {
  readonly rss: number
  readonly peak: number
  readonly heap: number
  /** Of the cached objects, as the cache estimates it. */
  readonly cached: number
  /** Processor time of the process so far. */
  readonly cpuMs: number
}

export interface ProgramRequests {
  readonly writes: number
  readonly reads: number
  readonly watches: number
}

/** A write: when it was sent, and its path. */
export type SentWrite = readonly [at: number, path: string]

/** Milliseconds of processor time so far. */
export type ProgramProcessor = number

/** Does not return: the parent ends it. */
export async function runMeasuredManager(operator: Operator): Promise<void> {
  const counts = { writes: 0, reads: 0, watches: 0 }
  let writes: SentWrite[] = []
  const counted = (transport: Transport): Transport => ({
    ...transport,
    send(request) {
      if (request.method !== 'GET') {
        counts.writes++
        writes.push([Date.now(), request.path])
      } else if (request.path.includes('watch=')) counts.watches++
      else counts.reads++
      return transport.send(request)
    },
  })
  const connection = await connectionFromKubeconfig(readFileSync(process.argv[2]!, 'utf8'))
  const client = createClient({ transport: counted(httpTransport(connection, { clock: systemClock })) })
  const cache = createSharedCache({ client })
  const manager = createManager({ client, cache, concurrency: 16 })
  const memory = (): ProgramMemory => {
    ;(globalThis as { gc?: () => void }).gc?.()
    const { rss, heapUsed } = process.memoryUsage()
    const cached = cache.report().reduce((sum, { bytes }) => sum + bytes, 0)
    // The record of writes belongs to the measurement.
    writes = []
    return { rss, peak: peakBytes(), heap: heapUsed, cached, cpuMs: processorMs() }
  }
  await manager.add(operator, { gates: { ...openGates, concurrency: 16 } })
  process.send!('ready')
  process.on('message', (question: Question) => {
    if (question === 'memory') process.send!(memory())
    else if (question === 'processor') process.send!(processorMs() satisfies ProgramProcessor)
    else if (question === 'requests') process.send!({ ...counts })
    else if (question === 'writes') {
      process.send!(writes)
      writes = []
    } else void manager.stop().then(() => process.exit(0))
  })
}

function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

function peakBytes(): number {
  const [, kilobytes = '0'] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
