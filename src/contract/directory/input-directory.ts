/**
 * The input directory of an offline run: a must-gather. Only declared inputs are kept, since it may be larger than
 * memory.
 */
import type { ImportOptions } from '../../apiserver/must-gather/must-gather.ts'
import { errorCode } from '../../system/error-code.ts'
import { apiserverErrors } from '../../apiserver/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { Operator } from '../../operator/operator.ts'
import { inputResourcesOf, outputResourcesOf } from '../declaration/declaration.ts'
import { poolOfGather } from './inputs.ts'
import type { ResourceType } from '../declaration/mutation.ts'
import type { ResourceList } from '../declaration/resource-list.ts'
import { selectionKey, selectObjects, typesIn } from '../declaration/selection.ts'

const definitions: ResourceType = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
}

/** Reads an operator's inputs and outputs, their definitions, and the namespaces. */
export async function readInputs(
  folder: string,
  operator: Operator,
  options: ImportOptions = {},
): Promise<readonly UntypedObject[]> {
  const { list, withDefinitions, resources, kinds } = wantsOf(operator)
  try {
    const { pool, namespaces } = await poolOfGather(folder, withDefinitions, { ...options, resources })
    const selected = [...selectObjects(list, pool).values()].flatMap(({ objects }) => objects)
    const defining = pool(definitions).filter((object) => definesOneOf(object, kinds))
    return [...new Set([...defining, ...namespaces, ...selected])]
  } catch (error) {
    // A missing directory counts as empty, as in the upstream tools.
    const isMissing = isMusterError(error, apiserverErrors.GatherUnreadable) && errorCode(error.cause) === 'ENOENT'
    if (!isMissing || options.strict) throw error
    options.warn?.(`${folder} is not there: it is read as empty`)
    return []
  }
}

interface Wants {
  readonly list: ResourceList
  readonly withDefinitions: ResourceList
  readonly resources: readonly Resource[]
  /** `Kind.group` */
  readonly kinds: ReadonlySet<string>
}

const wants = new WeakMap<Operator, Wants>()

/** Cached per operator: a test suite needs it once per test. */
function wantsOf(operator: Operator): Wants {
  const known = wants.get(operator)
  if (known) return known
  const list = declared(operator)
  const resources = [...operator.inputs, ...operator.outputs]
  const made: Wants = {
    list,
    withDefinitions: { ...list, kindResources: [...(list.kindResources ?? []), definitions] },
    resources,
    kinds: new Set(resources.map(({ group, kind }) => `${kind}.${group}`)),
  }
  wants.set(operator, made)
  return made
}

/** Outputs are read, too: a write depends on the live object. */
function declared(operator: Operator): ResourceList {
  const { applyConfigurationResources: read } = inputResourcesOf(operator)
  const written = Object.values(outputResourcesOf(operator)) as readonly ResourceList[]
  const all = <K extends 'exactResources' | 'generatedNameResources' | 'kindResources'>(
    member: K,
  ): readonly NonNullable<ResourceList[K]>[number][] => [read, ...written].flatMap((list) => list[member] ?? [])
  const known = new Set([read, ...written].flatMap((list) => typesIn(list).map(selectionKey)))
  const others = [...operator.inputs, ...operator.outputs]
    .map(({ group, version, plural }) => ({ group, version, resource: plural }))
    .filter((type) => !known.has(selectionKey(type)))
  return {
    ...read,
    exactResources: all('exactResources'),
    generatedNameResources: all('generatedNameResources'),
    kindResources: [...all('kindResources'), ...others],
  }
}

function definesOneOf(object: UntypedObject, kinds: ReadonlySet<string>): boolean {
  const { spec } = object as {
    readonly spec?: { readonly group?: string; readonly names?: { readonly kind?: string } }
  }
  return kinds.has(`${spec?.names?.kind}.${spec?.group}`)
}
