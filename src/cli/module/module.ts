/** Loads modules named on the command line: a file that exports an operator, or kinds. See `manager/loading`. */
import type { Kind } from '../../operator/kind/kind.ts'
import type { Operator } from '../../operator/operator.ts'
import {
  isOperatorModule,
  loadModule,
  namedExport,
  operatorOfModule,
  several,
  unusable,
} from '../../manager/loading/module.ts'
import { moduleReference } from './package-module.ts'

/** A kind, and the name of its export. */
export interface ExportedKind {
  readonly name: string
  readonly kind: Kind
  /** The file, as it was given. */
  readonly file: string
  /** The same file exports an operator. */
  readonly isBesideOperator: boolean
}

/**
 * `anew`: loads the file again without its module state, as after a restart.
 * @throws ModuleUnusable
 */
export async function loadOperator(reference: string, options: { readonly anew?: boolean } = {}): Promise<Operator> {
  return operatorOfModule(await loadModule(await moduleReference(reference), options))
}

/** All exports of a file. @throws ModuleUnusable */
export async function loadExports(file: string): Promise<Readonly<Record<string, unknown>>> {
  return (await loadModule(file)).exported
}

/** The kinds that a file exports, and those of the operators that it exports. @throws ModuleUnusable */
export async function loadKinds(reference: string): Promise<readonly Kind[]> {
  const { file, name, exported } = await loadModule(await moduleReference(reference))
  const values = name === undefined ? Object.values(exported) : [namedExport(exported, name, file)]
  const kinds = values.flatMap((value) => (isKind(value) ? [value] : isOperatorModule(value) ? value.kinds : []))
  if (kinds.length === 0) {
    throw unusable(`${file} exports no kind: make one with defineKind and export it, or an operator that has one.`)
  }
  return [...new Set(kinds)]
}

/** The one kind that a file exports, or that is named. @throws ModuleUnusable */
export async function loadKind(reference: string): Promise<ExportedKind> {
  const { file, name, exported } = await loadModule(await moduleReference(reference))
  const isBesideOperator = Object.values(exported).some(isOperatorModule)
  if (name !== undefined) {
    const kind = namedExport(exported, name, file)
    if (isKind(kind)) return { name, kind, file, isBesideOperator }
    throw unusable(`${file} exports "${name}", but it is no kind.`)
  }
  const found = Object.entries(exported).filter((entry): entry is [string, Kind] => isKind(entry[1]))
  if (found.length === 1) return { name: found[0]![0], kind: found[0]![1], file, isBesideOperator }
  if (found.length > 1) throw several(file, 'kinds', found)
  throw unusable(`${file} exports no kind: make one with defineKind and export it.`)
}

// By its structure: the project may have its own copy of muster, whose classes differ.
function isKind(value: unknown): value is Kind {
  return isObject(value) && typeof value['crd'] === 'function' && isObject(value['definition'])
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
