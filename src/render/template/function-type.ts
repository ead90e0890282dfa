/** Functions that templates call: parameters have Go types, by which arguments are checked and converted. */
import type { RenderMeter } from './budget.ts'
import type { RenderServices } from './services.ts'

/**
 * A parameter type: `any` is `interface {}`, `value` keeps the distinction of absent values from nil ones, `map` is
 * `map[string]interface {}`, `list` is `[]interface {}`, all others are Go's names.
 */
export type ParameterType =
  | 'any'
  | 'value'
  | 'string'
  | 'int'
  | 'uint32'
  | 'float64'
  | 'bool'
  | 'map'
  | 'list'
  | 'time.Time'
  | 'sprig.certificate'
  | 'reflect.Value'

export interface GoFunction {
  readonly parameters: readonly ParameterType[]
  /** Whether the last parameter may be repeated or left out. */
  readonly isVariadic: boolean
  /** @throws GoError */
  call(this: void, args: never, context: CallContext): unknown
}

/** What functions may use besides their arguments. */
export interface CallContext {
  readonly budget: RenderMeter
  readonly services: RenderServices
  include(name: string, data: unknown): string
  tpl(text: string, data: unknown): string
}

/**
 * A function from a signature such as `string any ...any`: parameter types, the last one variadic after `...`.
 * Arguments are checked before the call, so that `call` may rely on the types; it gets all of them in one list.
 */
export function goFunction(signature: string, call: (args: never, context: CallContext) => unknown): GoFunction {
  const words = signature === '' ? [] : signature.split(' ')
  const isVariadic = words.at(-1)?.startsWith('...') ?? false
  return { parameters: words.map((word) => word.replace('...', '') as ParameterType), isVariadic, call }
}

/** A function for each name. */
export type FunctionTable = ReadonlyMap<string, GoFunction>
