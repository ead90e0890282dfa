/**
 * A machine API for tests: the CRDs of MachineSet, Machine and MachineDeployment, and a controller that makes machines and nodes of
 * them as the real ones do: those with the annotation go first, and one without a node goes before one with it.
 */
import type { Client } from '../src/client/client.ts'
import { formatApiVersion, type Resource } from '../src/kube/kind.ts'
import { Namespace, Node } from '../src/kube/kinds.ts'
import type { Named, UntypedObject } from '../src/kube/object.ts'
import {
  type MachineObject,
  type MachineApi,
  type MachineOwner,
  openShiftMachines,
} from '../src/workloads/scaler/machine-kinds.ts'

export const machineNamespace = 'openshift-machine-api'

const crds: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

function crdOf({ group, version, kind, plural, namespaced }: Resource): UntypedObject {
  const schema = {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: { replicas: { type: 'integer', format: 'int32' } },
          'x-kubernetes-preserve-unknown-fields': true,
        },
        status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema, subresources: { status: {} } }],
    },
  }
}

interface MachineSimulationOptions {
  readonly client: Client
  /** @default OpenShift's */
  readonly api?: MachineApi
}

/** What a machine of a pool becomes. */
export interface MachineBehaviour {
  /** It fails with this reason. */
  failure?: string
  /** It never becomes a node. */
  isStuck?: boolean
}

export interface MachineSimulation {
  /** How new machines of a pool behave, by its name. */
  readonly behaviour: Map<string, MachineBehaviour>
  /** Every machine that was ever deleted. */
  readonly deleted: string[]
  install(): Promise<void>
  /** A pool with machines that others wanted. */
  createPool(name: string, type: string, replicas?: number, more?: Partial<Named['metadata']>): Promise<void>
  replicas(name: string): Promise<number | undefined>
  machines(pool?: string): Promise<readonly Named<MachineObject>[]>
  /** Does what there is to do at this moment; whether that was anything. */
  step(): Promise<boolean>
}

export function simulateMachines(options: MachineSimulationOptions): MachineSimulation {
  const { client, api = openShiftMachines } = options
  const behaviour = new Map<string, MachineBehaviour>()
  const deleted: string[] = []
  let made = 0

  const listMachines = async (pool?: string): Promise<readonly Named<MachineObject>[]> => {
    const { items } = await client.list(api.machine, { namespace: machineNamespace })
    return items.filter(({ metadata }) => pool === undefined || metadata.labels?.['pool'] === pool)
  }

  const make = async ({ metadata, spec }: Named<MachineOwner>): Promise<void> => {
    const name = `${metadata.name}-${made++}`
    const { failure, isStuck } = behaviour.get(metadata.name) ?? {}
    const owner = {
      apiVersion: formatApiVersion(api.owner),
      kind: api.owner.kind,
      name: metadata.name,
      uid: metadata.uid!,
    }
    const labels = { pool: metadata.name, ...(api.ownerLabel !== undefined && { [api.ownerLabel]: metadata.name }) }
    const meta = { name, namespace: machineNamespace, labels, ownerReferences: [{ ...owner, controller: true }] }
    await client.create(api.machine, { apiVersion: formatApiVersion(api.machine), kind: 'Machine', metadata: meta })
    const isNode = failure === undefined && isStuck !== true
    const status =
      failure !== undefined
        ? { phase: 'Failed', errorReason: failure }
        : isStuck
          ? { phase: 'Provisioning' }
          : undefined
    if (isNode) {
      await client.create(Node, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, labels: { 'kubernetes.io/hostname': name, ...spec?.template?.spec?.metadata?.labels } },
        spec: { taints: [...(spec?.template?.spec?.taints ?? [])] },
        status: { capacity: { cpu: '4', memory: '16Gi', pods: '110' } },
      })
      const allocatable = { cpu: '4', memory: '16Gi', pods: '110' }
      await client.patch(Node, { name }, { status: { allocatable } }, { type: 'merge', subresource: 'status' })
    }
    const reported = status ?? { phase: 'Running', nodeRef: { name } }
    await client.patch(
      api.machine,
      { name, namespace: machineNamespace },
      { status: reported },
      { type: 'merge', subresource: 'status' },
    )
  }

  const remove = async ({ metadata, status }: Named<MachineObject>): Promise<void> => {
    deleted.push(metadata.name)
    await client.delete(api.machine, { name: metadata.name, namespace: machineNamespace })
    const node = status?.nodeRef?.name
    if (node !== undefined) await client.delete(Node, { name: node })
  }

  return {
    behaviour,
    deleted,
    async install() {
      const metadata = { name: machineNamespace }
      await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata })
      for (const resource of [api.owner, api.machine]) await client.create(crds, crdOf(resource))
    },
    async createPool(name, type, replicas = 0, more = {}) {
      await client.create(api.owner, {
        apiVersion: formatApiVersion(api.owner),
        kind: api.owner.kind,
        metadata: { name, namespace: machineNamespace, ...more },
        spec: {
          replicas,
          selector: { matchLabels: { pool: name } },
          template: {
            metadata: { labels: { pool: name } },
            spec: {
              metadata: { labels: { 'node.kubernetes.io/instance-type': type } },
              providerSpec: { value: { instanceType: type } },
            },
          },
        },
      })
    },
    async replicas(name) {
      const { items } = await client.list(api.owner, { namespace: machineNamespace })
      return items.find(({ metadata }) => metadata.name === name)?.spec?.replicas
    },
    machines: listMachines,
    async step() {
      let acted = false
      const { items } = await client.list(api.owner, { namespace: machineNamespace })
      const pools = items
      for (const pool of pools) {
        const machines = await listMachines(pool.metadata.name)
        const wanted = pool.spec?.replicas ?? 1
        const isMarked = ({ metadata }: Named<MachineObject>): number =>
          Number(metadata.annotations?.[api.deleteFirst] !== undefined)
        const isNode = ({ status }: Named<MachineObject>): number => Number(status?.nodeRef !== undefined)
        const order = machines.toSorted((a, b) => isMarked(b) - isMarked(a) || isNode(a) - isNode(b))
        for (const machine of order.slice(0, Math.max(0, machines.length - wanted))) await remove(machine)
        for (let each = machines.length; each < wanted; each++) await make(pool)
        acted ||= machines.length !== wanted
      }
      const names = new Set(pools.map(({ metadata }) => metadata.name))
      for (const machine of await listMachines()) {
        if (names.has(machine.metadata.labels?.['pool'] ?? '')) continue
        await remove(machine)
        acted = true
      }
      return acted
    },
  }
}
