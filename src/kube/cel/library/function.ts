/**
 * Functions of the CEL environment. A function is a name with overloads; an overload is a signature and an implementation. The
 * checker picks the overloads that match the argument types. If types are not known before the run, several may match, and the
 * values decide.
 */
import { noSuchOverload } from '../value/error.ts'
import { spendSteps } from '../value/steps.ts'
import type { CelType } from '../value/type.ts'
import { CelList, CelMap, type CelValue, isOfType, celSizeOf, typeOfValue } from '../value/value.ts'

export type CelCost = (args: readonly CelValue[], result: CelValue) => number

export interface CelOverload {
  readonly id: string
  /** Called as `target.name(...)`: the target is the first parameter. */
  readonly member?: boolean
  readonly params: readonly CelType[]
  readonly result: CelType
  call(args: readonly CelValue[]): CelValue
  /** @default 1 */
  readonly cost?: CelCost
}

export interface CelFunction {
  readonly name: string
  readonly overloads: readonly CelOverload[]
}

export function functionNamed(name: string, overloads: readonly CelOverload[]): CelFunction {
  return { name, overloads }
}

/** The server's messages for a call without a matching overload. */
export function callOverload(
  name: string,
  overloads: readonly CelOverload[],
  args: readonly CelValue[],
): readonly [CelOverload, CelValue] {
  for (const overload of overloads) {
    if (
      overload.params.length === args.length &&
      overload.params.every((type, index) => isOfType(args[index]!, type))
    ) {
      return [overload, overload.call(args)]
    }
  }
  throw noSuchOverload(`${name}(${args.map((arg) => typeOfValue(arg).name).join(', ')})`)
}

export function fixedCost(cost: number): CelCost {
  return () => cost
}

/** Traversing a text or list costs a tenth per character or element. */
export function byLength(index: number, factor: number): CelCost {
  return (args) => Math.ceil(celSizeOf(args[index]!) * factor)
}

/** The cost of visiting every part of a value. */
export function traversalCost(value: CelValue): number {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * 0.1)
  if (value instanceof Uint8Array) return Math.floor(value.length * 0.1)
  return traverse(value)
}

function traverse(value: CelValue): number {
  let cost = 0
  if (value instanceof CelList) {
    for (const element of value) {
      spendSteps(1)
      cost += traversalCost(element)
    }
    return cost
  }
  if (value instanceof CelMap) {
    for (const key of value.keys()) {
      spendSteps(1)
      cost += traversalCost(key) + traversalCost(value.find(key)!)
    }
    return cost
  }
  return 1
}
