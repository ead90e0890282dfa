/**
 * A replica in a process of its own, to be killed. The first line on stdin is its kubeconfig, as JSON; when stdin ends
 * it ends too. It says, one JSON a line, whether it leads and what it owns, whenever that changes.
 */
import { createInterface } from 'node:readline'
import { systemRandom } from '../../../src/clock/random.ts'
import { systemClock as clock } from '../../../src/clock/system-clock.ts'
import { createClient } from '../../../src/client/create-client.ts'
import { httpTransport } from '../../../src/client/http/http-transport.ts'
import { connectionFromKubeconfig } from '../../../src/client/load-connection.ts'
import { electLeader } from '../../../src/manager/leases/election.ts'
import { joinShards } from '../../../src/manager/leases/shards.ts'

export interface Told {
  readonly at: number
  readonly isLeader: boolean
  readonly owned: readonly string[]
}

const [namespace = '', name = '', identity = ''] = process.argv.slice(2)
const items = Array.from({ length: 20 }, (_, index) => `operator-${index}`)

async function run(kubeconfig: string): Promise<void> {
  const connection = await connectionFromKubeconfig(kubeconfig, { clock })
  const client = createClient({ transport: httpTransport(connection, { clock }) })
  const onProblem = (error: unknown): void => void process.stderr.write(`${identity}: ${String(error)}\n`)
  const times = { leaseDurationMs: 3_000, renewDeadlineMs: 2_000, retryPeriodMs: 500 }
  const common = { client, clock, random: systemRandom, identity, onProblem, ...times }

  let told = ''
  const tell = (): void => {
    const state = { isLeader: election.isLeader(), owned: items.filter((item) => shards.owns(item)) }
    if (JSON.stringify(state) === told) return
    told = JSON.stringify(state)
    process.stdout.write(`${JSON.stringify({ at: Date.now(), ...state })}\n`)
  }
  const election = electLeader({ ...common, lease: { namespace, name }, onChange: tell })
  const shards = joinShards({ ...common, group: { namespace, name } })
  shards.onChange(tell)
  // No callback reports a lease that expires by time alone, so the replica polls.
  const asking = setInterval(tell, 50)

  process.on('SIGTERM', () => {
    void Promise.all([election.release(), shards.leave()]).then(async () => {
      clearInterval(asking)
      await client.close()
      process.exit()
    })
    tell()
  })
}

const lines = createInterface({ input: process.stdin })
lines.once('line', (line) => void run(JSON.parse(line) as string))
lines.once('close', () => process.exit())
