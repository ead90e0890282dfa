/** sprig's functions for lists. All but `slice` return new lists. */
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { GoError, nilDereference, runtimeError } from '../template/go-error.ts'
import { byteValue, deepEqual, isGoList, isGoTrue, goKindOf, nilList, typeOf, withType } from '../template/values.ts'
import { toInt64 } from './string-value.ts'

type Values = readonly unknown[]

/** sprig's notion of empty: zero values, but no struct. */
export function isEmpty(value: unknown): boolean {
  return !isGoTrue(value)
}

/** The elements of any kind of list. @param problem what the message says before the kind */
function elements(list: unknown, problem: string): unknown[] {
  if ((list ?? null) === null) throw nilDereference()
  if (list instanceof Uint8Array) return Array.from(list, byteValue)
  if (!isGoList(list)) throw new GoError(`${problem} ${goKindOf(list)}`)
  return list
}

/** Each function also under its name with `must`. */
function both(name: string, made: GoFunction): (readonly [string, GoFunction])[] {
  return [
    [name, made],
    [`must${name[0]!.toUpperCase()}${name.slice(1)}`, made],
  ]
}

function ofList(problem: string, work: (list: unknown[]) => unknown): GoFunction {
  return goFunction('any', ([list]: Values) => work(elements(list, problem)))
}

const push = goFunction('any any', ([list, item]: Values) => [...elements(list, 'Cannot push on type'), item])

export const sprigListFunctions: FunctionTable = new Map<string, GoFunction>([
  ['list', goFunction('...any', (args: Values) => (args.length === 0 ? [] : [...args]))],
  ['tuple', goFunction('...any', (args: Values) => [...args])],
  ...both('append', push),
  ...both('push', push),
  ...both(
    'prepend',
    goFunction('any any', ([list, item]: Values) => [item, ...elements(list, 'Cannot prepend on type')]),
  ),
  ...both(
    'first',
    ofList('Cannot find first on type', (list) => list[0] ?? null),
  ),
  ...both(
    'last',
    ofList('Cannot find last on type', (list) => list.at(-1) ?? null),
  ),
  ...both(
    'rest',
    ofList('Cannot find rest on type', (list) => (list.length === 0 ? nilList() : list.slice(1))),
  ),
  ...both(
    'initial',
    ofList('Cannot find initial on type', (list) => (list.length === 0 ? nilList() : list.slice(0, -1))),
  ),
  ...both(
    'reverse',
    ofList('Cannot find reverse on type', (list) => list.toReversed()),
  ),
  ...both(
    'compact',
    ofList('Cannot compact on type', (list) => list.filter((item) => !isEmpty(item))),
  ),
  ...both(
    'uniq',
    goFunction('any', ([list]: Values, { budget }) =>
      unique(elements(list, 'Cannot find uniq on type'), (steps) => budget.step(steps)),
    ),
  ),
  ...both(
    'without',
    goFunction('any ...any', ([list, ...omitted]: Values) =>
      elements(list, 'Cannot find without on type').filter((item) => !omitted.some((other) => deepEqual(other, item))),
    ),
  ),
  ...both(
    'has',
    goFunction('any any', ([needle, list]: Values) => {
      if ((list ?? null) === null) return false
      return elements(list, 'Cannot find has on type').some((item) => deepEqual(needle, item))
    }),
  ),
  ...both(
    'slice',
    goFunction('any ...any', ([list, from, to]: Values) => slice(list, from, to)),
  ),
  ...both(
    'chunk',
    goFunction('int any', ([size, list]: [bigint, unknown]) => chunks(Number(size), list)),
  ),
  ['concat', goFunction('...any', (lists: Values) => concat(lists))],
])

/** Every item is compared with all that are kept: the steps count. */
function unique(list: Values, spend: (steps: number) => void): unknown[] {
  const kept: unknown[] = []
  const simple = new Set<unknown>()
  for (const item of list) {
    if (typeof item !== 'object' || item === null) {
      if (simple.has(item ?? null)) continue
      simple.add(item ?? null)
      kept.push(item)
      continue
    }
    spend(kept.length)
    if (!kept.some((other) => deepEqual(item, other))) kept.push(item)
  }
  return kept
}

function slice(list: unknown, from: unknown, to: unknown): unknown {
  if ((list ?? null) === null) throw nilDereference()
  if (!isGoList(list) && !(list instanceof Uint8Array)) {
    throw new GoError(`list should be type of slice or array but ${goKindOf(list)}`)
  }
  if (list.length === 0) return null
  const start = from === undefined ? 0 : Number(toInt64(from))
  const end = to === undefined ? list.length : Number(toInt64(to))
  if (start < 0 || start > end || end > list.length) throw new GoError('reflect.Value.Slice: slice index out of bounds')
  const part = list.slice(start, end)
  return list instanceof Uint8Array ? part : withType(part, typeOf(list))
}

function chunks(size: number, list: unknown): unknown[] {
  const all = elements(list, 'Cannot chunk type')
  const count = Math.floor((all.length - 1) / size) + 1
  if (!Number.isFinite(count) || count < 0) throw runtimeError('makeslice: len out of range')
  const parts: unknown[] = []
  for (let index = 0; index < count; index++) {
    const rest = all.length % size
    const length = index === count - 1 && rest !== 0 ? rest : size
    if (length < 0) throw runtimeError('makeslice: len out of range')
    parts.push(all.slice(index * size, index * size + length))
  }
  return withType(parts, '[][]interface {}')
}

function concat(lists: Values): unknown {
  let all: unknown[] = []
  for (const list of lists) {
    if ((list ?? null) === null) throw nilDereference()
    if (!isGoList(list) && !(list instanceof Uint8Array))
      throw new GoError(`Cannot concat type ${goKindOf(list)} as list`)
    all = all.concat(elements(list, ''))
  }
  return all.length === 0 ? nilList() : all
}
