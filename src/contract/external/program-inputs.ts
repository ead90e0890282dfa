/**
 * The inputs of a program: watched in the shared caches like those of every operator, and laid out as a directory in
 * which only changed files are written.
 *
 * A kind that is not served is not the same as a kind without objects: in the directory they look alike, and the
 * program might delete what it made for objects that it does not see. So it waits until all declared kinds are served.
 */
import type { SharedCache } from '../../cache/shared-cache.ts'
import type { Subscription } from '../../cache/subscription.ts'
import type { Client } from '../../client/client.ts'
import { createClient } from '../../client/create-client.ts'
import type { Clock } from '../../clock/clock.ts'
import type { Json } from '../../kube/json.ts'
import type { Resource } from '../../kube/kind.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { createInputTracker, type InputTracker } from '../../manager/inputs/input-tracker.ts'
import type { Log } from '../../manager/logging/log-line.ts'
import { coverageOf } from '../../operator/view/coverage.ts'
import { type Input, kindsOf, uniqueInputs, whole } from '../../operator/view/input.ts'
import type { Operator } from '../../operator/operator.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import type { InputChange, ObjectName } from '../../operator/view/view.ts'
import type { GatherFolder } from '../directory/gather-folder.ts'
import { discoveryOf } from '../directory/inputs.ts'
import type { ResourceType } from '../declaration/mutation.ts'
import type { ResourceList } from '../declaration/resource-list.ts'
import { selectionKey, selectObjects, typesIn } from '../declaration/selection.ts'
import { inputsOf } from './declared-inputs.ts'
import { servedResource } from '../directory/served.ts'

interface ProgramInputsOptions {
  /** The operator without controllers and declarations: `list` has those. */
  readonly operator: Operator
  readonly list: ResourceList
  readonly client: Client
  readonly cache: SharedCache
  readonly clock: Clock
  /** The directory. */
  readonly folder: GatherFolder
  /** An input changed, by another writer. */
  readonly onChange: (change: InputChange) => void
  /** A referenced object is loaded. */
  readonly onLoaded: () => void
  /** A kind appeared or disappeared: these inputs are obsolete. */
  readonly onKinds: (how: 'came' | 'went') => void
  readonly log: Log
  /** The host is stopping. */
  readonly signal: AbortSignal
}

export interface ProgramInputs {
  /** Declared kinds that are not served: the program waits. */
  readonly missing: readonly ResourceType[]
  /** Whether a CRD of one of them exists. */
  isComing(): boolean
  /** Whether a referenced object is still being loaded. */
  isPending(): boolean
  /** Syncs the directory. Returns the number of changed files, and the objects. */
  layOut(): Promise<{ readonly changes: number; readonly objects: readonly UntypedObject[] }>
  /** Whether an object of this name is an input: then its absence is known. */
  sees(resource: Resource, name: ObjectName): boolean
  /** Reads the cache. */
  peek(resource: Resource, name: ObjectName): KubeObject | undefined
  stop(): void
}

const namespaces: TypedResource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}
const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}
/** The minimum interval of discovery. */
const discoveryMs = 60_000

/** Resolves when all inputs are loaded, or a kind is missing. @throws InvalidController */
export async function openProgramInputs(options: ProgramInputsOptions): Promise<ProgramInputs> {
  const { operator, list, client, folder, clock } = options
  const types = typesIn(list)
  const found = await Promise.all(types.map((type) => servedResource(client, type)))
  const missing = types.filter((_, at) => !found[at])
  if (missing.length > 0) return await waitFor(missing, options)
  const served = new Map(types.map((type, at) => [selectionKey(type), found[at]!]))
  const own = inputsOf(list, served)
  const coverage = coverageOf(own)
  // Namespaces are laid out, too, but are no inputs, and trigger nothing.
  const declaredInputs = uniqueInputs([...own, whole(served.get(selectionKey(namespacesType)) ?? namespaces)])
  const known: Operator = { ...operator, declaredInputs, inputs: kindsOf(declaredInputs) }
  const intake: InputTracker = createInputTracker({
    operator: known,
    client,
    // A program that applies reads managedFields.
    cache: managed(options.cache),
    onChange(change) {
      const { resource, before, after } = change
      // Two names in a namespace are watched as the whole namespace, so filter.
      const isSeen = [before, after].some((each) => each && coverage.shows(resource, each, intake.references))
      if (isSeen) options.onChange(change)
    },
    onNamed: (_, __, object) => {
      // An existing object that is newly referenced is a change to the program.
      if (object) options.onLoaded()
    },
    onKind: (resource) => {
      if (!intake.source.serves(resource)) options.onKinds('went')
    },
    onLoaded: options.onLoaded,
    log: options.log,
  })
  const giveUp = (): void => intake.stop()
  options.signal.addEventListener('abort', giveUp, { once: true })
  await intake.start()
  options.signal.removeEventListener('abort', giveUp)
  let discovered: { readonly at: number; readonly files: ReadonlyMap<string, Json> } | undefined
  return {
    missing,
    isComing: () => false,
    isPending: () => !intake.pending()[Symbol.iterator]().next().done,
    async layOut() {
      if (!discovered || clock.now() - discovered.at >= discoveryMs) {
        // Discovery has no object names, so it bypasses the name map.
        const plain = createClient({ transport: client.transport, clock, flow: false })
        discovered = { at: clock.now(), files: await discoveryOf(plain) }
      }
      const selected = selectObjects(list, (type) => listIn(intake, served.get(selectionKey(type))))
      const objects = [...selected.values()].flatMap((each) => each.objects)
      const used = new Set(objects.map(({ metadata }) => metadata.namespace))
      const around = listIn(intake, namespaces).filter(({ metadata }) => used.has(metadata.name))
      return { changes: folder.update({ selected, namespaces: around, extra: discovered.files }), objects }
    },
    sees: (resource, name) => coverage.of(resource).some((input) => holds(input, name)),
    peek: (resource, name) => intake.peek(resource, name),
    stop: () => intake.stop(),
  }
}

const namespacesType: ResourceType = { group: '', version: 'v1', resource: 'namespaces' }

/** Whether the name alone decides; labels and references cannot. */
function holds(input: Input, { name, namespace }: ObjectName): boolean {
  if (input.select === 'kind') return true
  if (input.select === 'labels' || input.select === 'reference') return false
  const isThere = input.namespace === undefined || input.namespace === namespace
  return isThere && (input.select === 'name' ? input.name === name : name.startsWith(input.prefix))
}

function listIn(intake: InputTracker, resource: Resource | undefined): readonly UntypedObject[] {
  return resource ? (intake.source.list(resource) as readonly UntypedObject[]) : []
}

function managed(cache: SharedCache): SharedCache {
  return { ...cache, subscribe: (resource, wish) => cache.subscribe(resource, { ...wish, managedFields: true }) }
}

/** A waiting program caches only the CRDs that it waits for. */
async function waitFor(
  missing: readonly ResourceType[],
  { cache, operator, onKinds, signal }: ProgramInputsOptions,
): Promise<ProgramInputs> {
  const names = new Set(missing.map(({ group, resource }) => `${resource}.${group}`))
  const subscription: Subscription = cache.subscribe(definitions, {
    consumer: operator.name,
    onEvent: (event) => {
      // An existing CRD is about to be served: see `isComing`.
      const isNews = event.type !== 'added' || !event.initial
      if (isNews && names.has(event.object.metadata.name ?? '')) onKinds('came')
    },
  })
  await subscription.synced({ signal })
  return {
    missing,
    isComing: () => [...names].some((name) => subscription.get({ name })),
    isPending: () => false,
    layOut: () => Promise.resolve({ changes: 0, objects: [] }),
    sees: () => false,
    peek: () => undefined,
    stop: () => subscription.close(),
  }
}
