/**
 * The measured process: a manager with the operator of Installations on the cluster of a kubeconfig. It answers questions of its
 * parent over IPC: how much memory it takes, and which requests it has sent.
 */
import { readFileSync } from 'node:fs'
import { createSharedCache } from '../../src/cache/shared-cache.ts'
import { createClient } from '../../src/client/create-client.ts'
import { httpTransport } from '../../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../../src/client/load-connection.ts'
import { systemRandom } from '../../src/clock/random.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { createManager } from '../../src/manager/hosting/manager.ts'
import { openGates } from '../../src/manager/gates/gate-options.ts'
import { installationOperator } from '../../src/platform/installation/operator.ts'
import type { Transport } from '../../src/transport/transport.ts'

export type Question = 'memory' | 'requests' | 'writes' | 'stop'

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

const counts = { writes: 0, reads: 0, watches: 0 }
let writes: SentWrite[] = []

function counted(transport: Transport): Transport {
  return {
    ...transport,
    send(request) {
      if (request.method !== 'GET') {
        counts.writes++
        writes.push([Date.now(), request.path])
      } else if (request.path.includes('watch=')) counts.watches++
      else counts.reads++
      return transport.send(request)
    },
  }
}

function peakBytes(): number {
  const [, kilobytes = '0'] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return Number(kilobytes) * 1024
}

function memory(): ProgramMemory {
  ;(globalThis as { gc?: () => void }).gc?.()
  const { rss, heapUsed } = process.memoryUsage()
  const cached = cache.report().reduce((sum, { bytes }) => sum + bytes, 0)
  // The record of writes belongs to the measurement.
  writes = []
  const { user, system } = process.cpuUsage()
  return { rss, peak: peakBytes(), heap: heapUsed, cached, cpuMs: (user + system) / 1000 }
}

const kubeconfig = readFileSync(process.argv[2]!, 'utf8')
const connection = await connectionFromKubeconfig(kubeconfig)
const client = createClient({ transport: counted(httpTransport(connection, { clock: systemClock })) })
const cache = createSharedCache({ client })
const manager = createManager({ client, cache, concurrency: 16 })
await manager.add(installationOperator({ clock: systemClock, random: systemRandom }), {
  gates: { ...openGates, concurrency: 16 },
})
process.send!('ready')
process.on('message', (question: Question) => {
  if (question === 'memory') process.send!(memory())
  else if (question === 'requests') process.send!({ ...counts })
  else if (question === 'writes') {
    process.send!(writes)
    writes = []
  } else void manager.stop().then(() => process.exit(0))
})
