/** A crash at every write of scale-out, hand-over and scale-in: the next process ends where one without a crash ends. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { howMany, runsAllPlans } from '../../../test/fault-plans.ts'
import { openScaler, type ScalerEnvironment } from '../../../test/scaler-environment.ts'
import { machineNamespace } from '../../../test/simulated-machines.ts'
import { clientErrors } from '../../client/errors.ts'
import { Node } from '../../kube/kinds.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Transport } from '../../transport/transport.ts'
import { AppWrapper } from '../appwrapper/appwrapper.ts'
import { added } from '../core/scale/node-pool.ts'
import type { InstascaleSettings } from '../configuration/instascale-section.ts'
import { openShiftMachines } from './machine-kinds.ts'
import { parseRecord, recordAnnotation } from './pool-record.ts'

const mostAdded = 3

/** The process dies at its write number `at`, before or after the server has done it; no request leaves it after that. */
class DyingProcess {
  writes = 0
  isDead = false
  readonly at: number
  readonly isDone: boolean

  constructor(at: number, isDone: boolean) {
    this.at = at
    this.isDone = isDone
  }

  through = (transport: Transport): Transport => ({
    ...transport,
    send: async (request) => {
      const isWrite = request.method !== 'GET' && !request.path.includes('/events')
      if (isWrite && !this.isDead && ++this.writes === this.at) {
        this.isDead = true
        if (this.isDone) await transport.send(request)
      }
      if (this.isDead) throw new MusterError(clientErrors.Unreachable, 'The process is gone.')
      return await transport.send(request)
    },
  })
}

const at = (name: string) => ({ name, namespace: 'default' })

/** One AppWrapper gets nodes, hands them over to a second one, and the nodes of that one go. */
async function story(environment: ScalerEnvironment, rest: (horizonMs?: number) => Promise<void>): Promise<string[]> {
  const { machines, client } = environment
  const seen: string[] = []
  const look = async (): Promise<void> => void seen.push(await shownState(environment))
  await machines.createPool('gpu', 'g4dn.xlarge', 1)
  await environment.submit('a', 'g4dn.xlarge', 2)
  await environment.lacks('a')
  await rest()
  await look()
  await environment.starts('a')
  await environment.submit('b', 'g4dn.xlarge', 2)
  await environment.lacks('b')
  await rest()
  await client.delete(AppWrapper, at('a'))
  await rest()
  await look()
  await environment.starts('b')
  await rest()
  await environment.completes('b')
  await rest()
  await rest(120_000)
  await look()
  return seen
}

/** What people see: pools, labels of nodes, what AppWrappers say. */
async function shownState(environment: ScalerEnvironment): Promise<string> {
  const { client, machines } = environment
  const pools = (await client.list(openShiftMachines.owner, { namespace: machineNamespace })).items
  const records = pools.map(({ metadata }) => parseRecord(metadata.annotations?.[recordAnnotation]))
  expect(records.reduce((sum, record) => sum + added(record), 0)).toBeLessThanOrEqual(mostAdded)
  const nodes = (await client.list(Node)).items
  const wrappers = (await client.list(AppWrapper, { namespace: 'default' })).items
  const reasons = await Promise.all(
    wrappers.map(async ({ metadata: { name } }) => `${name}: ${(await environment.conditionOf(name))?.reason}`),
  )
  return JSON.stringify({
    pools: pools
      .map(({ metadata, spec }) => `${metadata.name.replace(/-[0-9a-f]{8}$/, '')}: ${spec?.replicas}`)
      .toSorted(compare),
    claims: records.map(({ claims, idle }) => [claims.map(({ name, count }) => [name, count]), idle.length]),
    nodes: nodes
      .map(({ metadata }) => Object.keys(metadata.labels ?? {}).find((key) => key.endsWith('-default')) ?? '')
      .toSorted(compare),
    deleted: machines.deleted.length,
    reasons,
  })
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

describe.each<InstascaleSettings['machineSetsStrategy']>(['reuse', 'duplicate'])(
  'with the strategy %s',
  (machineSetsStrategy) => {
    const run = async (process: DyingProcess): Promise<readonly string[]> => {
      const settings = { machineSetsStrategy, maxScaleoutAllowed: mostAdded }
      const environment = await openScaler({ settings, wire: process.through, log: () => undefined })
      try {
        return await story(environment, async (horizonMs) => {
          await environment.rest(horizonMs)
          if (!process.isDead) return
          process.isDead = false
          await environment.restart()
          await environment.rest(horizonMs)
        })
      } finally {
        await environment.close()
      }
    }

    it(`a crash at any write changes nothing about where it ends (${howMany} crashes)`, async () => {
      const undisturbed = new DyingProcess(0, false)
      const expected = await run(undisturbed)
      expect(undisturbed.writes).toBeGreaterThan(10)
      const crashes = Array.from({ length: undisturbed.writes }, (_, index) => index + 1).flatMap((write) => [
        { write, isDone: false },
        { write, isDone: true },
      ])
      const chosen = runsAllPlans ? crashes : fc.sample(fc.constantFrom(...crashes), 5)
      for (const { write, isDone } of chosen) {
        expect(await run(new DyingProcess(write, isDone)), `write ${write}, ${isDone ? 'done' : 'not done'}`).toEqual(
          expected,
        )
      }
    })
  },
)
