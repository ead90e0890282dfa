/**
 * Macros: calls that are rewritten before type checking, because they bind names. `list.all(x, x > 0)` is a loop with an
 * accumulator; `opt.optMap(x, x + 1)` a condition and a local variable.
 */
import {
  type CelExpression,
  type Fold,
  type FoldMacro,
  type Ident,
  call,
  ident,
  listExpression,
  literal,
} from './expression.ts'

/** A macro with invalid arguments. */
export class MacroError extends Error {
  readonly at: number
  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

const accumulator = '@result'

type Expander = (at: number, args: readonly CelExpression[], target: CelExpression) => CelExpression

/** undefined: it is an ordinary call. */
export function expandMacro(
  at: number,
  name: string,
  args: readonly CelExpression[],
  target: CelExpression | undefined,
): CelExpression | undefined {
  if (!target) return name === 'has' && args.length === 1 ? expandHas(at, args[0]!) : undefined
  return macros.get(`${name}/${args.length}`)?.(at, args, target)
}

function expandHas(at: number, arg: CelExpression): CelExpression {
  if (arg.kind !== 'select') throw new MacroError(arg.at, 'invalid argument to has() macro')
  return { ...arg, at, isTest: true }
}

/** The loop variables, one or two. */
function variables(
  args: readonly CelExpression[],
  count: 1 | 2,
  problem: string,
): readonly [string, string | undefined] {
  const names = args.slice(0, count).map((arg): Ident => {
    if (arg.kind !== 'ident') throw new MacroError(arg.at, problem)
    return arg
  })
  const [first, second] = [names[0]!, names[1]]
  if (second && first.name === second.name) throw new MacroError(second.at, `duplicate variable name: ${first.name}`)
  for (const name of names) {
    if (name.name === accumulator || name.name === '__result__') {
      throw new MacroError(name.at, 'iteration variable overwrites accumulator variable')
    }
  }
  return [first.name, second?.name]
}

const simpleName = 'argument must be a simple name'

interface Parts {
  readonly macro: FoldMacro
  readonly init: CelExpression
  readonly condition: CelExpression
  readonly step: CelExpression
  readonly result: CelExpression
  readonly filter?: CelExpression
  readonly body: CelExpression
}

function fold(at: number, range: CelExpression, names: readonly [string, string | undefined], parts: Parts): Fold {
  return {
    kind: 'fold',
    at,
    range,
    variable: names[0],
    variable2: names[1],
    accumulator,
    filter: undefined,
    ...parts,
  }
}

const accu = (at: number): CelExpression => ident(at, accumulator)

const quantifier =
  (macro: 'all' | 'exists', count: 1 | 2): Expander =>
  (at, args, target) => {
    const names = variables(args, count, simpleName)
    const predicate = args[count]!
    const test = macro === 'all' ? accu(at) : call(at, '!_', [accu(at)])
    return fold(at, target, names, {
      macro,
      init: literal(at, macro === 'all'),
      condition: call(at, '@not_strictly_false', [test]),
      step: call(at, macro === 'all' ? '_&&_' : '_||_', [accu(at), predicate]),
      result: accu(at),
      body: predicate,
    })
  }

const existsOne =
  (count: 1 | 2): Expander =>
  (at, args, target) => {
    const names = variables(args, count, simpleName)
    const predicate = args[count]!
    const more = call(at, '_+_', [accu(at), literal(at, 1)])
    return fold(at, target, names, {
      macro: 'exists_one',
      init: literal(at, 0),
      condition: literal(at, true),
      step: call(at, '_?_:_', [predicate, more, accu(at)]),
      result: call(at, '_==_', [accu(at), literal(at, 1)]),
      body: predicate,
    })
  }

/** Collects `body` of the elements that pass `filter`. */
function collect(
  at: number,
  range: CelExpression,
  names: readonly [string, string | undefined],
  filter: CelExpression | undefined,
  body: CelExpression,
): Fold {
  const more = call(at, '_+_', [accu(at), listExpression(at, body)])
  return fold(at, range, names, {
    macro: 'map',
    init: listExpression(at),
    condition: literal(at, true),
    step: filter ? call(at, '_?_:_', [filter, more, accu(at)]) : more,
    result: accu(at),
    ...(filter ? { filter } : {}),
    body,
  })
}

const map: Expander = (at, args, target) => {
  const names = variables(args, 1, 'argument is not an identifier')
  return args.length === 3
    ? collect(at, target, names, args[1], args[2]!)
    : collect(at, target, names, undefined, args[1]!)
}

const filter: Expander = (at, args, target) =>
  collect(at, target, variables(args, 1, 'argument is not an identifier'), args[1], args[0]!)

const transformList: Expander = (at, args, target) => {
  const names = variables(args, 2, simpleName)
  return args.length === 4
    ? collect(at, target, names, args[2], args[3]!)
    : collect(at, target, names, undefined, args[2]!)
}

const transformMap =
  (macro: 'mapInsert' | 'mapInsertEntry'): Expander =>
  (at, args, target) => {
    const names = variables(args, 2, simpleName)
    const test = args.length === 4 ? args[2] : undefined
    const body = args.at(-1)!
    const entry = macro === 'mapInsert' ? [ident(at, names[0]), body] : [body]
    const more = call(at, 'cel.@mapInsert', [accu(at), ...entry])
    return fold(at, target, names, {
      macro,
      init: { kind: 'map', at, entries: [] },
      condition: literal(at, true),
      step: test ? call(at, '_?_:_', [test, more, accu(at)]) : more,
      result: accu(at),
      ...(test ? { filter: test } : {}),
      body,
    })
  }

/** A local variable: a loop that never runs, whose accumulator is the variable. */
function bind(at: number, name: string, value: CelExpression, body: CelExpression): Fold {
  return {
    kind: 'fold',
    at,
    macro: 'bind',
    range: listExpression(at),
    variable: '#unused',
    variable2: undefined,
    accumulator: name,
    init: value,
    condition: literal(at, false),
    step: ident(at, name),
    result: body,
    filter: undefined,
    body,
  }
}

const optional =
  (name: 'optMap' | 'optFlatMap'): Expander =>
  (at, args, target) => {
    const variable = args[0]!
    if (variable.kind !== 'ident') {
      throw new MacroError(variable.at, `${name}() variable name must be a simple identifier`)
    }
    const result = bind(at, variable.name, call(at, 'value', [], target), args[1]!)
    return call(at, '_?_:_', [
      call(at, 'hasValue', [], target),
      name === 'optMap' ? call(at, 'optional.of', [result]) : result,
      call(at, 'optional.none', []),
    ])
  }

const sortBy: Expander = (at, args, target) => {
  if (target.kind === 'literal' || target.kind === 'map' || target.kind === 'struct') {
    throw new MacroError(
      target.at,
      'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
    )
  }
  const input = ident(at, '@__sortBy_input__')
  return bind(at, input.name, target, call(at, '@sortByAssociatedKeys', [map(at, args, input)], input))
}

const macros: ReadonlyMap<string, Expander> = new Map<string, Expander>([
  ['all/2', quantifier('all', 1)],
  ['all/3', quantifier('all', 2)],
  ['exists/2', quantifier('exists', 1)],
  ['exists/3', quantifier('exists', 2)],
  ['exists_one/2', existsOne(1)],
  ['exists_one/3', existsOne(2)],
  ['existsOne/3', existsOne(2)],
  ['map/2', map],
  ['map/3', map],
  ['filter/2', filter],
  ['transformList/3', transformList],
  ['transformList/4', transformList],
  ['transformMap/3', transformMap('mapInsert')],
  ['transformMap/4', transformMap('mapInsert')],
  ['transformMapEntry/3', transformMap('mapInsertEntry')],
  ['transformMapEntry/4', transformMap('mapInsertEntry')],
  ['optMap/2', optional('optMap')],
  ['optFlatMap/2', optional('optFlatMap')],
  ['sortBy/2', sortBy],
])
