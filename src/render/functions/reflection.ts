/** sprig's functions about types, and paths. */
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { deepEqual, goKindOf, typeOf } from '../template/values.ts'

type Values = readonly unknown[]

export const reflectionFunctions: FunctionTable = new Map<string, GoFunction>([
  ['typeOf', goFunction('any', ([value]: Values) => typeOf(value))],
  ['typeIs', goFunction('string any', ([type, value]: [string, unknown]) => type === typeOf(value))],
  [
    'typeIsLike',
    goFunction('string any', ([type, value]: [string, unknown]) => [type, `*${type}`].includes(typeOf(value))),
  ],
  ['kindOf', goFunction('any', ([value]: Values) => goKindOf(value))],
  ['kindIs', goFunction('string any', ([kind, value]: [string, unknown]) => kind === goKindOf(value))],
  ['deepEqual', goFunction('any any', ([a, b]: Values) => deepEqual(a, b))],
])
