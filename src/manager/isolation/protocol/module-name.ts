/** The module of an operator: `MODULE#export`, as in the configuration and on the command line. */
import path from 'node:path'
import { managerErrors } from '../../errors.ts'
import { MusterError } from '../../../kube/muster-error.ts'
import type { Operator } from '../../../operator/operator.ts'

export interface ModuleName {
  /** An absolute path. */
  readonly file: string
  readonly exported: string
}

/** `./operator.ts#memcached`; without `#`, the export is called `operator`, or is the default one. */
export function parseModuleName(text: string, folder: string = process.cwd()): ModuleName {
  const hash = text.lastIndexOf('#')
  const [file, exported] = hash < 0 ? [text, 'operator'] : [text.slice(0, hash), text.slice(hash + 1)]
  return { file: path.resolve(folder, file), exported: exported || 'operator' }
}

/** @throws OperatorNotLoaded */
export function operatorIn(module: Readonly<Record<string, unknown>>, { file, exported }: ModuleName): Operator {
  const names = exported === 'operator' ? ['operator', 'default'] : [exported]
  const found = names.filter((name) => Object.hasOwn(module, name)).map((name) => module[name])
  const operator = found.find(isOperator)
  if (operator) return operator
  throw new MusterError(managerErrors.OperatorNotLoaded, `${file} has no export ${exported} that is an operator.`)
}

function isOperator(value: unknown): value is Operator {
  const { name, controllers } = (value ?? {}) as Partial<Operator>
  return typeof name === 'string' && Array.isArray(controllers)
}
