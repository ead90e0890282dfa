/** An embedded cluster with simulated nodes and the operator of workloads, in virtual time; AppWrappers for it, and what became of them. */
import type { JsonObject } from '../src/kube/json.ts'
import { Node, Pod } from '../src/kube/kinds.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import { resourceOf, type TypedResource } from '../src/kube/typed-resource.ts'
import { openTestEnvironment, type TestEnvironment } from '../src/manager/testing/test-environment.ts'
import { AppWrapper, type AppWrapperObject } from '../src/workloads/appwrapper/appwrapper.ts'
import { nameLabel } from '../src/workloads/appwrapper/labels.ts'
import { workloadsOperator } from '../src/workloads/workloads-operator.ts'

/** AppWrappers as users of MCAD see them. */
export const OldAppWrapper: TypedResource<UntypedObject> = {
  ...resourceOf('workload.codeflare.dev/v1beta1', 'AppWrapper', { plural: 'appwrappers', namespaced: true }),
}

export interface AppWrapperEnvironment extends TestEnvironment {
  /** A node of its own for a test: its pods go nowhere else. Returns what selects it. */
  pool(this: void, name: string, capacity: Readonly<Record<string, string>>, count?: number): Promise<PodPlace>
  wrap(this: void, name: string, spec: JsonObject, annotations?: Readonly<Record<string, string>>): Promise<void>
  /** As `wrap`, in v1beta1. */
  wrapOld(this: void, name: string, spec: JsonObject): Promise<void>
  appWrapper(this: void, name: string): Promise<AppWrapperObject>
  phaseOf(this: void, name: string): Promise<string>
  /** The state and the conditions in v1beta1. */
  oldStatus(this: void, name: string): Promise<JsonObject>
  podsOf(this: void, name: string): Promise<readonly Pod[]>
}

interface PodPlace {
  readonly nodeSelector: { readonly pool: string }
}

export const at = (name: string): { readonly name: string; readonly namespace: string } => ({
  name,
  namespace: 'default',
})

export async function openAppWrapperEnvironment(config: JsonObject = {}): Promise<AppWrapperEnvironment> {
  const environment = await openTestEnvironment(workloadsOperator, { workloads: true, config })
  const { client } = environment
  const find = async (name: string): Promise<AppWrapperObject> => await client.get(AppWrapper, at(name))
  return {
    ...environment,
    get writes() {
      return environment.writes
    },
    async pool(name, capacity, count = 1) {
      for (let index = 0; index < count; index++) {
        const metadata = { name: `${name}-${index}`, labels: { pool: name } }
        const node = { apiVersion: 'v1', kind: 'Node', metadata, status: { capacity: { pods: '110', ...capacity } } }
        await environment.create(Node, node)
      }
      await environment.settle()
      return { nodeSelector: { pool: name } }
    },
    async wrap(name, spec, annotations = {}) {
      const metadata = { ...at(name), annotations }
      const kind = { apiVersion: 'workload.codeflare.dev/v1beta2', kind: 'AppWrapper' }
      await environment.create(AppWrapper, { ...kind, metadata, spec })
    },
    async wrapOld(name, spec) {
      const kind = { apiVersion: 'workload.codeflare.dev/v1beta1', kind: 'AppWrapper' }
      await environment.create(OldAppWrapper, { ...kind, metadata: at(name), spec })
    },
    appWrapper: find,
    phaseOf: async (name) => (await find(name)).status?.phase ?? '',
    oldStatus: async (name) => ((await client.get(OldAppWrapper, at(name)))['status'] ?? {}) as JsonObject,
    async podsOf(name) {
      const { items } = await client.list(Pod, { namespace: 'default', labelSelector: `${nameLabel}=${name}` })
      return items
    },
  }
}

interface PodOptions {
  readonly requests?: Readonly<Record<string, string>>
  readonly place?: PodPlace
  /** Annotations of the simulation, without their prefix. */
  readonly simulated?: Readonly<Record<string, string>>
  readonly restartPolicy?: string
  readonly initContainers?: readonly JsonObject[]
}

export function podTemplate({
  requests = { cpu: '100m' },
  place,
  simulated = {},
  restartPolicy,
  initContainers,
}: PodOptions): JsonObject {
  const annotations = Object.entries(simulated).map(([name, value]) => [`simulated.muster.dev/${name}`, value])
  return {
    metadata: { annotations: Object.fromEntries(annotations), labels: { app: 'main' } },
    spec: {
      ...place,
      ...(restartPolicy !== undefined && { restartPolicy }),
      ...(initContainers && { initContainers }),
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'main:1', resources: { requests } }],
    },
  }
}

export function job(name: string, count: number, options: PodOptions = {}, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      parallelism: count,
      completions: count,
      backoffLimit: 0,
      template: podTemplate({ restartPolicy: 'Never', ...options }),
      ...spec,
    },
  }
}

export function deployment(name: string, replicas: number, options: PodOptions = {}): JsonObject {
  const selector = { matchLabels: { app: 'main' } }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { replicas, selector, template: podTemplate(options) },
  }
}

export const components = (...templates: readonly JsonObject[]): JsonObject => ({
  components: templates.map((template) => ({ template })),
})

/** Items of v1beta1. */
export const items = (...all: readonly JsonObject[]): JsonObject => ({ resources: { GenericItems: all } })
export const item = (generictemplate: JsonObject, more: JsonObject = {}): JsonObject => ({ generictemplate, ...more })
