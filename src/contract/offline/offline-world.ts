/**
 * The environment of an offline run: an embedded API server with the objects of a directory, and a fixed clock. The
 * operator runs as it would live, once for each of its CRs, and its writes are recorded.
 *
 * It reads the objects as of the start of the run, never its own writes; the server keeps those for the next run. There
 * is no network: the only transport leads to the embedded server, and `live` fails.
 */
import { seededRandom } from '../../clock/random.ts'
import { type VirtualClock, virtualClock } from '../../clock/virtual-clock.ts'
import { type ApiServer, createApiServer } from '../../apiserver/server/api-server.ts'
import { readGather } from '../../apiserver/must-gather/must-gather.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import { clientErrors } from '../../client/errors.ts'
import { inProcessTransport } from '../../client/in-process.ts'
import { isJsonObject, type Json } from '../../kube/json.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { eventsOf, type Ledger } from '../../operator/ledger.ts'
import { type Live, offline } from '../../operator/live.ts'
import type { Controller } from '../../operator/controller.ts'
import { noReferences, selects } from '../../operator/view/coverage.ts'
import type { Operator } from '../../operator/operator.ts'
import { directDecisions } from '../../operator/coordinator/direct-decisions.ts'
import type { DecisionSource } from '../../operator/coordinator/decisions.ts'
import type { Wave } from '../../operator/plan.ts'
import { noMemory } from '../../operator/reconcile.ts'
import { isCustom } from '../../operator/role.ts'
import { type ObjectName, openView, type ViewSource } from '../../operator/view/view.ts'
import { runReconcile } from '../../manager/run/run-reconcile.ts'
import { createEventRecorder } from '../../manager/run/event-recorder.ts'
import { createExecutor } from '../../manager/run/executor.ts'
import { isPausedObject } from '../../manager/run/paused.ts'
import { createTaskRunner, type TaskRunner } from '../../manager/tasks/task-runner.ts'
import type { ControllerResult } from '../directory/controller-results.ts'
import { outputResourcesOf } from '../declaration/declaration.ts'
import { describeMutation } from '../declaration/mutation.ts'
import type { OutputDirectory, PlacedFile } from '../directory/output-directory.ts'
import { recording } from './recorder.ts'
import { foldersOf } from '../declaration/resource-list.ts'
import { snapshot } from './snapshot.ts'

export interface OfflineRunOptions {
  readonly operator: Operator
  /** The initial objects. */
  readonly objects: readonly UntypedObject[]
  /** The time of its clock. @default 2026-01-01 */
  readonly now?: number
  /** The seed of uids and generated names. @default 1 */
  readonly seed?: number
  /** As the operator's own `config` declares it. @default its defaults */
  readonly config?: Readonly<Record<string, unknown>>
  /** Simulates the scheduler, kubelets and workload controllers as the clock advances. @default false */
  readonly workloads?: boolean
  /** Access beyond the cluster. @default none: it fails with `NeedsCluster` */
  readonly live?: Live
}

/** An embedded API server without controllers. */
export interface OfflineServer {
  readonly clock: VirtualClock
  readonly server: ApiServer
  /** The client of a test, whose writes are not recorded. */
  readonly client: Client
}

export interface OfflineWorld extends OfflineServer {
  /** Runs the selected controllers, once for each CR. @default all */
  run(isChosen?: (controller: string) => boolean): Promise<WorldRun>
}

export interface WorldRun extends OutputDirectory {
  /** Undeclared writes: `Create-ConfigMap.v1./a[default]`. */
  readonly undeclared: readonly string[]
  /** Undeclared reads, which the view refused. */
  readonly refusedReads: readonly string[]
  readonly ledgers: readonly Ledger[]
}

/** No retries: the clock stands still, so nothing would change. */
const once = { attempts: 1 }

type OfflineServerOptions = Pick<OfflineRunOptions, 'now' | 'seed' | 'workloads'>

export async function openOfflineServer({
  now,
  seed = 1,
  workloads = false,
}: OfflineServerOptions): Promise<OfflineServer> {
  const clock = virtualClock(now)
  const simulated = workloads ? await import('../../apiserver/simulated/simulation.ts') : undefined
  const server = createApiServer({
    clock,
    random: seededRandom(seed),
    // A gathered directory is a part of a cluster: an object is not deleted because its owner is missing.
    collectGarbage: false,
    ...(simulated && { workloads: simulated.simulatedWorkloads() }),
  })
  return {
    clock,
    server,
    client: createClient({ transport: inProcessTransport(server), clock, random: seededRandom(seed), retry: once }),
  }
}

/** Loads the objects of a directory, and creates their namespaces. */
export async function fillOfflineServer({ server }: OfflineServer, folder: string): Promise<void> {
  const namespaces = new Set<string>()
  const known = new Set(first)
  for await (const { object } of readGather(folder)) {
    namespaces.add(object.metadata.namespace ?? 'default')
    if (object.kind === 'Namespace') known.add(object.metadata.name ?? '')
  }
  await server.importGather(folder, { strict: true })
  await server.importObjects([...namespaces].filter((name) => !known.has(name)).map(namespaceObject))
}

/** The namespaces of every cluster. */
const first: readonly string[] = ['default', 'kube-system', 'kube-public', 'kube-node-lease']

export async function openOfflineWorld(options: OfflineRunOptions): Promise<OfflineWorld> {
  const { operator, objects, seed = 1 } = options
  const { clock, server, client } = await openOfflineServer(options)
  const transport = inProcessTransport(server)
  const namespaces = new Set(first)
  const missing = namespacesMissing(objects, namespaces)
  await server.importObjects([...definitionsFor(operator, objects), ...missing, ...objects])
  const declared = outputResourcesOf(operator)
  const config: unknown = operator.config?.read(options.config ?? {}) ?? {}

  return {
    clock,
    server,
    client,
    async run(isChosen = () => true) {
      const source = await snapshot(client, operator.inputs)
      const mutations: PlacedFile[] = []
      const undeclared: string[] = []
      const refusedReads = new Set<string>()
      const ledgers: Ledger[] = []
      const results: ControllerResult[] = []
      const tasks = createTaskRunner({ clock, runBlocking: (_key, work) => work() })
      // As of the start of the run, like everything that it reads.
      const decisions = directDecisions({ coordinators: operator.coordinators, source, config, now: clock.now() })
      for (const controller of operator.controllers) {
        if (!isChosen(controller.name)) {
          results.push({ controller: controller.name, status: 'Skipped', errors: [] })
          continue
        }
        const own = createClient({
          transport: recording({
            transport,
            controller: controller.name,
            record: (mutation, body) => {
              const folders = foldersOf(declared, mutation)
              mutations.push({ mutation, folders, content: body })
              if (folders.length === 0)
                undeclared.push(describeMutation(mutation, kindIn(body, mutation.type.resource)))
              return folders.length > 0
            },
            prepare: async (namespace) => {
              // In a part of a cluster a missing namespace means nothing: create it.
              if (namespaces.has(namespace)) return
              namespaces.add(namespace)
              await server.importObjects([namespaceObject(namespace)])
            },
          }),
          clock,
          random: seededRandom(seed),
          retry: once,
        })
        const run = await runController({
          controller,
          operator,
          source,
          client: own,
          clock,
          config,
          live: options.live ?? offline,
          tasks,
          decisions,
          onRefused: (message) => void refusedReads.add(`${controller.name} ${message}`),
        })
        ledgers.push(...run.ledgers)
        results.push(run.result)
      }
      await tasks.close()
      return { mutations, results, undeclared, refusedReads: [...refusedReads], ledgers }
    },
  }
}

interface ControllerRun {
  readonly controller: Controller
  readonly operator: Operator
  readonly source: ViewSource
  readonly client: Client
  readonly clock: VirtualClock
  readonly config: unknown
  readonly live: Live
  readonly tasks: TaskRunner
  readonly decisions: DecisionSource
  readonly onRefused: (message: string) => void
}

async function runController(
  at: ControllerRun,
): Promise<{ readonly result: ControllerResult; readonly ledgers: readonly Ledger[] }> {
  const { controller, operator, source, client, clock } = at
  const { name, kind } = controller
  const ledgers: Ledger[] = []
  const errors: string[] = []
  const recorder = createEventRecorder({ client, clock, operator: operator.name, onProblem: () => undefined })
  try {
    for (const cr of source.list(kind)) {
      if (isPausedObject(cr) || !selects(controller.own, cr, noReferences)) continue
      const view = openView({
        source,
        reader: `${operator.name}, controller ${name}`,
        inputs: controller.declaredInputs,
        given: { resource: kind, object: cr },
        onRefused: at.onRefused,
      })
      // It waits for its tasks, so there is nothing to wake.
      const tasks = at.tasks.openCaller(() => undefined)
      const situation = { ...at, operator: operator.name, cr, view, tasks, memory: noMemory }
      const run = { written: new Set<string>() }
      const execute = (wave: Wave): ReturnType<ReturnType<typeof createExecutor>> => {
        // The recorder checks the declaration, down to the name; the executor only sends.
        const outputs = wave.map(({ resource }) => resource)
        return createExecutor({
          writer: lookingFirst(client),
          reader: client,
          fieldManager: operator.name,
          outputs,
          kinds: outputs,
          parallel: 1,
        })(wave, run)
      }
      const { ledger } = await runReconcile(situation, execute)
      tasks.end('done')
      ledgers.push(ledger)
      for (const event of eventsOf(ledger)) await recorder.record(cr, event)
      const { failure } = ledger
      // Giving up is a decision, reported on the CR.
      if (failure && !failure.gaveUp)
        errors.push(`${ledger.key}: ${failure.step}, ${failure.subject}: ${failure.message}`)
    }
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined }
    return {
      ledgers,
      result: { controller: name, status: 'Panicked', errors: [...errors, message], panicStack: stack },
    }
  }
  return { ledgers, result: { controller: name, status: errors.length > 0 ? 'Failed' : 'Succeeded', errors } }
}

/**
 * An apply that must create its object is recorded without that precondition, which a reader of the directory could not
 * meet, and not at all if the object exists.
 */
function lookingFirst(client: Client): Client {
  return {
    ...client,
    async apply(resource, object, { createOnly, ...options }) {
      const { name = '', namespace } = object.metadata
      if (createOnly && (await exists(client, resource, { name, namespace })))
        throw new MusterError(clientErrors.Conflict, `${resource.kind} ${name} exists already.`)
      return await client.apply(resource, object, options)
    },
  }
}

async function exists(client: Client, resource: Resource, name: ObjectName): Promise<boolean> {
  try {
    await client.get(resource, name)
    return true
  } catch (error) {
    if (isMusterError(error, clientErrors.NotFound)) return false
    throw error
  }
}

function kindIn(body: Json | undefined, resource: string): string {
  return isJsonObject(body) && typeof body['kind'] === 'string' ? body['kind'] : resource
}

/** The CRDs of the operator, and permissive ones for other custom kinds. */
function definitionsFor(operator: Operator, objects: readonly UntypedObject[]): readonly UntypedObject[] {
  const known = new Set(
    objects.flatMap(({ kind, metadata }) => (kind === 'CustomResourceDefinition' ? [metadata.name ?? ''] : [])),
  )
  return ownDefinitions(operator).filter(({ metadata }) => !known.has(metadata.name ?? ''))
}

const definitions = new WeakMap<Operator, readonly UntypedObject[]>()

/** Cached: the API server compiles the schema of the same CRD object once. */
function ownDefinitions(operator: Operator): readonly UntypedObject[] {
  const made = definitions.get(operator)
  if (made) return made
  const own = operator.kinds.map((kind) => kind.crd() as unknown as UntypedObject)
  const others = [...operator.controllers.map(({ kind }) => kind), ...operator.outputs]
    .filter(
      (resource) =>
        isCustom(resource) && !operator.kinds.some((kind) => formatResource(kind) === formatResource(resource)),
    )
    .map(openDefinition)
  const all = new Map([...others, ...own].map((crd) => [crd.metadata.name ?? '', crd]))
  definitions.set(operator, [...all.values()])
  return [...all.values()]
}

function openDefinition({ group, version, kind, plural, namespaced }: Resource): UntypedObject {
  const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` }
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      versions: [{ name: version, served: true, storage: true, subresources: { status: {} }, schema }],
    },
  }
}

/** Namespaces of objects that are not among the objects. */
function namespacesMissing(objects: readonly UntypedObject[], known: Set<string>): readonly UntypedObject[] {
  for (const { kind, apiVersion, metadata } of objects) {
    if (kind === 'Namespace' && apiVersion === 'v1') known.add(metadata.name ?? '')
  }
  const missing = new Set(
    objects.flatMap(({ metadata: { namespace } }) =>
      namespace === undefined || known.has(namespace) ? [] : [namespace],
    ),
  )
  for (const name of missing) known.add(name)
  return [...missing].map(namespaceObject)
}

function namespaceObject(name: string): UntypedObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }
}
