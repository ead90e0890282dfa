/**
 * Syntax trees of expressions. Every node has its position in the text (`at`, an index) for messages. Macros (`all`, `map`,
 * `optMap`, ...) are expanded: a comprehension is a {@link Fold}.
 */
import type { CelValue } from '../value/value.ts'

export interface Literal {
  readonly kind: 'literal'
  readonly at: number
  readonly value: CelValue
}

export interface Ident {
  readonly kind: 'ident'
  readonly at: number
  readonly name: string
}

export interface Select {
  readonly kind: 'select'
  readonly at: number
  readonly operand: CelExpression
  readonly field: string
  /** `has(operand.field)` */
  readonly isTest: boolean
}

export interface CelCall {
  readonly kind: 'call'
  readonly at: number
  readonly name: string
  /** Of `target.name(args)`. */
  readonly target: CelExpression | undefined
  readonly args: readonly CelExpression[]
}

export interface ListExpression {
  readonly kind: 'list'
  readonly at: number
  readonly elements: readonly { readonly value: CelExpression; readonly isOptional: boolean }[]
}

export interface MapExpression {
  readonly kind: 'map'
  readonly at: number
  readonly entries: readonly {
    readonly key: CelExpression
    readonly value: CelExpression
    readonly isOptional: boolean
  }[]
}

export interface StructExpression {
  readonly kind: 'struct'
  readonly at: number
  readonly typeName: string
  readonly fields: readonly {
    readonly at: number
    readonly name: string
    readonly value: CelExpression
    readonly isOptional: boolean
  }[]
}

export type FoldMacro = 'all' | 'exists' | 'exists_one' | 'map' | 'mapInsert' | 'mapInsertEntry' | 'bind'

/**
 * A loop over `range` that computes `accumulator`. For the checker it is the general comprehension of the CEL specification:
 * from `init`, by `step` while `condition`, to `result`. For the compiler it is one of a few kinds, by `macro`, with the parts
 * that the author wrote: `filter` and `body`.
 */
export interface Fold {
  readonly kind: 'fold'
  readonly at: number
  readonly macro: FoldMacro
  readonly range: CelExpression
  readonly variable: string
  readonly variable2: string | undefined
  readonly accumulator: string
  readonly init: CelExpression
  readonly condition: CelExpression
  readonly step: CelExpression
  readonly result: CelExpression
  readonly filter: CelExpression | undefined
  readonly body: CelExpression
}

export type CelExpression =
  | Literal
  | Ident
  | Select
  | CelCall
  | ListExpression
  | MapExpression
  | StructExpression
  | Fold

export function literal(at: number, value: CelValue): Literal {
  return { kind: 'literal', at, value }
}

export function ident(at: number, name: string): Ident {
  return { kind: 'ident', at, name }
}

export function call(at: number, name: string, args: readonly CelExpression[], target?: CelExpression): CelCall {
  return { kind: 'call', at, name, target, args }
}

export function listExpression(at: number, ...values: readonly CelExpression[]): ListExpression {
  return { kind: 'list', at, elements: values.map((value) => ({ value, isOptional: false })) }
}

/** The children of a node, in the order of the text. */
export function partsOf(node: CelExpression): readonly CelExpression[] {
  switch (node.kind) {
    case 'select':
      return [node.operand]
    case 'call':
      return node.target ? [node.target, ...node.args] : node.args
    case 'list':
      return node.elements.map(({ value }) => value)
    case 'map':
      return node.entries.flatMap(({ key, value }) => [key, value])
    case 'struct':
      return node.fields.map(({ value }) => value)
    case 'fold':
      return [node.range, node.init, node.condition, node.step, node.result]
    default:
      return []
  }
}
