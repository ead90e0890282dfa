/** The node scaler in a test environment, with simulated machines and, by hand, the queue's part. */
import type { Transport } from '../src/transport/transport.ts'
import { type Condition, findCondition } from '../src/kube/meta/condition.ts'
import { formatTime } from '../src/kube/units/duration.ts'
import {
  openTestEnvironment,
  type TestEnvironment,
  type TestEnvironmentOptions,
} from '../src/manager/testing/test-environment.ts'
import { AppWrapper } from '../src/workloads/appwrapper/appwrapper.ts'
import type { InstascaleSettings } from '../src/workloads/configuration/instascale-section.ts'
import { type MachineApi, openShiftMachines } from '../src/workloads/scaler/machine-kinds.ts'
import { nodeScalerOperator } from '../src/workloads/scaler/scaler-operator.ts'
import { type MachineSimulation, simulateMachines } from './simulated-machines.ts'

export interface ScalerEnvironment extends TestEnvironment {
  readonly machines: MachineSimulation
  /** Lets the scaler and the machine controller act in turns until both are at rest. */
  rest(horizonMs?: number): Promise<void>
  /** An AppWrapper with a Job for each number of pods; `types` is its label. */
  submit(name: string, types: string | undefined, ...pods: readonly number[]): Promise<void>
  /** What the queue says: it waits for nodes. */
  lacks(name: string): Promise<void>
  starts(name: string): Promise<void>
  completes(name: string): Promise<void>
  say(name: string, phase: string, status: 'True' | 'False', reason: string): Promise<void>
  /** What the scaler says. */
  conditionOf(name: string): Promise<Condition | undefined>
}

interface ScalerOptions extends Omit<TestEnvironmentOptions, 'config'> {
  readonly settings?: { readonly [Name in keyof InstascaleSettings]?: Partial<InstascaleSettings[Name]> | undefined }
  readonly api?: MachineApi
  /** Without the CRDs of machines. @default false */
  readonly isBare?: boolean
  readonly wire?: (transport: Transport) => Transport
}

const at = (name: string) => ({ name, namespace: 'default' })
const mostTurns = 30

export async function openScaler(options: ScalerOptions = {}): Promise<ScalerEnvironment> {
  const { settings = {}, api = openShiftMachines, isBare = false, ...others } = options
  const environment = await openTestEnvironment(nodeScalerOperator, { ...others, config: { instascale: settings } })
  const { client, clock } = environment
  const machines = simulateMachines({ client, api })
  if (!isBare) await machines.install()
  const say: ScalerEnvironment['say'] = async (name, phase, status, reason) => {
    const { status: before } = await client.get(AppWrapper, at(name))
    const kept = (before?.conditions ?? []).filter(({ type }) => type !== 'QuotaReserved')
    const condition = {
      type: 'QuotaReserved',
      status,
      reason,
      message: 'Insufficient resources',
      lastTransitionTime: formatTime(clock.now()),
    }
    const patch = { status: { phase, conditions: [...kept, condition] } }
    await client.patch(AppWrapper, at(name), patch, { type: 'merge', subresource: 'status' })
  }
  return {
    ...environment,
    get writes() {
      return environment.writes
    },
    get ledgers() {
      return environment.ledgers
    },
    machines,
    say,
    async rest(horizonMs = 2000) {
      await environment.settle(horizonMs)
      for (let turn = 0; await machines.step(); turn++) {
        if (turn === mostTurns) throw new Error('Scaler and machines do not come to rest.')
        await environment.settle()
      }
    },
    async submit(name, types, ...pods) {
      await environment.create(AppWrapper, {
        apiVersion: 'workload.codeflare.dev/v1beta2',
        kind: 'AppWrapper',
        metadata: { ...at(name), ...(types !== undefined && { labels: { orderedinstance: types } }) },
        spec: { components: pods.map((count) => ({ template: job(count) })) },
      })
    },
    lacks: (name) => say(name, 'Suspended', 'False', 'InsufficientNodes'),
    starts: (name) => say(name, 'Running', 'True', 'Dispatched'),
    completes: (name) => say(name, 'Succeeded', 'False', 'Completed'),
    async conditionOf(name) {
      return findCondition((await client.get(AppWrapper, at(name))).status?.conditions, 'NodesRequested')
    },
  }
}

function job(pods: number): object {
  const containers = [{ name: 'main', image: 'main:1', resources: { requests: { cpu: '1' } } }]
  const template = { metadata: { labels: { app: 'main' } }, spec: { containers, restartPolicy: 'Never' } }
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'main' }, spec: { parallelism: pods, template } }
}
