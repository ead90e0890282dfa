/**
 * The input directory of an offline run: a must-gather, of which only what matters to the operator is kept. It is read file by
 * file, so it may be larger than memory.
 */
import { errorCode } from '../client/error-code.ts'
import { type ImportOptions, readGather } from '../apiserver/gather.ts'
import { isMusterError } from '../kube/errors.ts'
import { parseApiVersion } from '../kube/kind.ts'
import type { UntypedObject } from '../kube/object.ts'
import type { Operator } from '../operator/operator.ts'

/** The objects of the kinds that an operator declares, their definitions, and the namespaces. */
export async function readInputs(
  folder: string,
  operator: Operator,
  options: ImportOptions = {},
): Promise<readonly UntypedObject[]> {
  const kinds = new Set([...operator.inputs, ...operator.outputs].map(({ group, kind }) => `${kind}.${group}`))
  const isWanted = (object: UntypedObject): boolean => {
    const { group } = parseApiVersion(object.apiVersion)
    if (group === 'apiextensions.k8s.io') return definesOneOf(object, kinds)
    return kinds.has(`${object.kind}.${group}`) || (group === '' && object.kind === 'Namespace')
  }
  return await collect(folder, options, isWanted)
}

/** A directory that is not there holds nothing: so others have it. */
export async function collect(
  folder: string,
  options: ImportOptions,
  isWanted: (object: UntypedObject) => boolean,
): Promise<readonly UntypedObject[]> {
  const found: UntypedObject[] = []
  try {
    for await (const { object } of readGather(folder, options)) if (isWanted(object)) found.push(object)
  } catch (error) {
    const isMissing = isMusterError(error, 'GatherUnreadable') && errorCode(error.cause) === 'ENOENT'
    if (!isMissing || found.length > 0 || options.strict) throw error
    options.warn?.(`${folder} is not there: it is read as empty`)
  }
  return found
}

function definesOneOf(object: UntypedObject, kinds: ReadonlySet<string>): boolean {
  const { spec } = object as {
    readonly spec?: { readonly group?: string; readonly names?: { readonly kind?: string } }
  }
  return object.kind === 'CustomResourceDefinition' && kinds.has(`${spec?.names?.kind}.${spec?.group}`)
}
