/** Evaluates pipelines, commands and their operands. */
import type { RenderMeter } from './budget.ts'
import { acceptsNil, assign, nilOf, typeName, WrongArgument } from './arguments.ts'
import type { CallContext, FunctionTable, GoFunction, ParameterType } from './function-type.ts'
import { BudgetExceeded, GoError } from './go-error.ts'
import {
  type CommandNode,
  type TemplateTreeNode,
  type NumberNode,
  nodeText,
  type OperandNode,
  type PipeNode,
} from './nodes.ts'
import { fitsInt64 } from './literals.ts'
import type { VariableCell, TemplateScope } from './scope.ts'
import {
  elementType,
  GoInteger,
  type GoMap,
  GoObject,
  hasMember,
  hasValuesMethods,
  isMap,
  isGoTrue,
  methodsOf,
  typeOf,
  underlying,
} from './values.ts'

/** The execution that an evaluator works for. */
export interface TemplateEvaluation extends CallContext {
  readonly functions: FunctionTable
  /** The methods of `.Values`. */
  readonly valuesMethods: ReadonlyMap<string, (values: GoMap) => GoFunction>
  readonly scope: TemplateScope
  readonly budget: RenderMeter
  readonly isStrict: boolean
  /** At the evaluator's current node. @throws ExecError */
  fail(problem: string, cause?: GoError): never
}

/** The absence of a value from an earlier command of the pipeline. */
const missing = Symbol('missing')

/** A value with the static type of its origin, as messages name it; undefined if its own type is meant. */
interface Receiver {
  readonly value: unknown
  readonly type: string | undefined
}

export class Evaluator {
  /** The node being evaluated, for messages. */
  node: TemplateTreeNode | OperandNode | CommandNode | undefined
  readonly #evaluation: TemplateEvaluation

  constructor(evaluation: TemplateEvaluation) {
    this.#evaluation = evaluation
  }

  nodeText(): string {
    return this.node ? nodeText(this.node) : ''
  }

  /** Never null: a nil interface is an absent value. Variables are declared or assigned. */
  pipeline(dot: VariableCell, pipe: PipeNode): unknown {
    this.node = pipe
    let value: unknown = missing
    for (const command of pipe.commands) value = this.#command(dot, command, value) ?? undefined
    for (const name of pipe.variables) {
      const cell: VariableCell = { value, isInterface: false }
      if (!pipe.isAssignment) this.#evaluation.scope.declare(name, cell)
      else if (!this.#evaluation.scope.assign(name, cell)) this.#fail(`undefined variable: ${name}`)
    }
    return value
  }

  #fail(problem: string, cause?: GoError): never {
    return this.#evaluation.fail(problem, cause)
  }

  #command(dot: VariableCell, command: CommandNode, final: unknown): unknown {
    this.#evaluation.budget.step()
    const first = command.args[0]!
    switch (first.kind) {
      case 'field':
        this.node = first
        return this.#fields(dot, receiverOf(dot), first, first.fields, command.args, final)
      case 'chain':
        return this.#chain(dot, first, command.args, final)
      case 'identifier':
        return this.#function(dot, first.name, first, command, command.args, final)
      case 'pipe':
        this.#notAFunction(command.args, final)
        return this.pipeline(dot, first)
      case 'variable':
        return this.#variable(dot, first, command.args, final)
      default:
        break
    }
    this.node = first
    this.#notAFunction(command.args, final)
    if (first.kind === 'nil') this.#fail('nil is not a command')
    return this.#constant(dot, first)
  }

  #notAFunction(args: readonly OperandNode[], final: unknown): void {
    if (args.length > 1 || final !== missing) this.#fail(`can't give argument to non-function ${nodeText(args[0]!)}`)
  }

  /** A literal, or dot. */
  #constant(dot: VariableCell, node: OperandNode): unknown {
    switch (node.kind) {
      case 'bool':
      case 'string':
        return node.value
      case 'dot':
        return dot.value
      case 'number':
        this.node = node
        return this.#idealNumber(node)
      default:
        return this.#fail(`can't evaluate command "${nodeText(node)}"`)
    }
  }

  /** A number where any type will do: its notation decides. */
  #idealNumber({ number }: NumberNode): unknown {
    const { text, int, uint, float } = number
    if (number.isComplex) return new GoObject('complex128', { text: () => text })
    const isHex = /^0[xX]/.test(text) && !/[pP]/.test(text)
    if (float !== undefined && !isHex && !text.startsWith("'") && /[.eEpP]/.test(text)) return float
    if (int !== undefined) return int
    return uint === undefined ? undefined : this.#fail(`${text} overflows int`)
  }

  #chain(
    dot: VariableCell,
    node: OperandNode & { kind: 'chain' },
    args: readonly OperandNode[] | undefined,
    final: unknown,
  ): unknown {
    this.node = node
    if (node.operand.kind === 'nil') this.#fail(`indirection through explicit nil in ${nodeText(node)}`)
    this.node = node.operand
    const value =
      node.operand.kind === 'pipe' ? this.pipeline(dot, node.operand) : this.#argument(dot, 'value', node.operand)
    return this.#fields(dot, { value, type: undefined }, node, node.fields, args, final)
  }

  #variable(
    dot: VariableCell,
    node: OperandNode & { kind: 'variable' },
    args: readonly OperandNode[] | undefined,
    final: unknown,
  ): unknown {
    this.node = node
    const cell = this.#evaluation.scope.get(node.name)
    if (!cell) return this.#fail(`undefined variable: ${node.name}`)
    if (node.fields.length === 0) {
      if (args) this.#notAFunction(args, final)
      return cell.value
    }
    return this.#fields(dot, receiverOf(cell), node, node.fields, args, final)
  }

  #fields(
    dot: VariableCell,
    start: Receiver,
    node: OperandNode,
    fields: readonly string[],
    args: readonly OperandNode[] | undefined,
    final: unknown,
  ): unknown {
    let receiver = start
    const last = fields.length - 1
    for (let index = 0; index < last; index++) {
      receiver = this.#field(dot, fields[index]!, node, undefined, missing, receiver)
    }
    return this.#field(dot, fields[last]!, node, args, final, receiver).value
  }

  #field(
    dot: VariableCell,
    name: string,
    node: OperandNode,
    args: readonly OperandNode[] | undefined,
    final: unknown,
    receiver: Receiver,
  ): Receiver {
    const { value } = receiver
    if (value === undefined) {
      if (this.#evaluation.isStrict) this.#fail(`nil data; no entry for key "${name}"`)
      return receiver
    }
    if (value === null) this.#fail(`nil pointer evaluating ${typeOfReceiver(receiver)}.${name}`)
    const ofValues = this.#evaluation.valuesMethods.get(name)
    if (ofValues && hasValuesMethods(value)) {
      return { value: this.#call(dot, ofValues(value), false, node, name, args, final), type: undefined }
    }
    const methods = methodsOf(value)
    if (methods && Object.hasOwn(methods, name)) {
      const result = this.#call(dot, methods[name]!, false, node, name, args, final)
      return { value: result, type: undefined }
    }
    const hasArguments = (args !== undefined && args.length > 1) || final !== missing
    if (value instanceof GoObject) {
      if (Object.hasOwn(value.fields, name)) {
        if (hasArguments) this.#fail(`${name} has arguments but cannot be invoked as function`)
        const field = value.fields[name]
        return { value: field, type: value.fieldTypes[name] }
      }
    } else if (isMap(value)) {
      if (hasArguments) this.#fail(`${name} is not a method but has arguments`)
      const element = elementType(value)
      if (hasMember(value, name)) return { value: value[name] ?? null, type: element }
      if (this.#evaluation.isStrict) this.#fail(`map has no entry for key "${name}"`)
      return { value: zeroOf(element), type: element }
    }
    return this.#fail(`can't evaluate field ${name} in type ${typeOfReceiver(receiver)}`)
  }

  #function(
    dot: VariableCell,
    name: string,
    node: OperandNode,
    place: OperandNode | CommandNode,
    args: readonly OperandNode[] | undefined,
    final: unknown,
  ): unknown {
    this.node = node
    const found = this.#evaluation.functions.get(name)
    if (!found) return this.#fail(`"${name}" is not a defined function`)
    return this.#call(dot, found, true, place, name, args, final)
  }

  #call(
    dot: VariableCell,
    target: GoFunction,
    isFunction: boolean,
    place: OperandNode | CommandNode,
    name: string,
    operands: readonly OperandNode[] | undefined,
    final: unknown,
  ): unknown {
    const { parameters, isVariadic } = target
    const given = operands ? operands.length - 1 : 0
    const count = given + (final === missing ? 0 : 1)
    const fixed = isVariadic ? parameters.length - 1 : parameters.length
    if (isVariadic ? count < fixed : count !== fixed) {
      this.#fail(
        isVariadic
          ? `wrong number of args for ${name}: want at least ${fixed} got ${given}`
          : `wrong number of args for ${name}: want ${fixed} got ${count}`,
      )
    }
    if (isFunction && (name === 'and' || name === 'or')) return this.#logic(dot, name, operands, final)
    const args: unknown[] = []
    for (let index = 0; index < given; index++) {
      const type = parameters[Math.min(index, parameters.length - 1)]!
      args.push(this.#argument(dot, type, operands![index + 1]!))
    }
    if (final !== missing) {
      const type = parameters[Math.min(count - 1, parameters.length - 1)]!
      args.push(this.#assigned(final, type))
    }
    if (isFunction && name === 'call') return this.#callValue(args, place, operands?.[1])
    return this.#run(target, args, place, name)
  }

  /** No value of a chart is a function. */
  #callValue([value]: readonly unknown[], place: OperandNode | CommandNode, operand: OperandNode | undefined): never {
    this.node = place
    const problem =
      (value ?? null) === null
        ? 'call of nil'
        : `non-function ${operand ? nodeText(operand) : reflected(value)} of type ${typeOf(value)}`
    this.#fail(`error calling call: ${problem}`, new GoError(problem))
  }

  #run(target: GoFunction, args: readonly unknown[], place: OperandNode | CommandNode, name: string): unknown {
    const before = this.node
    this.node = place
    try {
      const result = target.call(args as never, this.#evaluation)
      this.#spend(result)
      this.node = before
      return result
    } catch (error) {
      this.node = place
      if (error instanceof RangeError && error.message.startsWith('Invalid ')) {
        throw new BudgetExceeded('more text or elements than a value can hold')
      }
      if (error instanceof GoError) return this.#fail(`error calling ${name}: ${error.message}`, error)
      throw error
    }
  }

  /** What a function created counts too: templates can double a text again and again. */
  #spend(result: unknown): void {
    if (typeof result === 'string') this.#evaluation.budget.text(result.length)
    else if (Array.isArray(result)) this.#evaluation.budget.step(result.length)
  }

  /** `and` and `or` evaluate only as many operands as decide. */
  #logic(dot: VariableCell, name: 'and' | 'or', operands: readonly OperandNode[] | undefined, final: unknown): unknown {
    let value: unknown
    for (const operand of operands?.slice(1) ?? []) {
      value = this.#argument(dot, 'value', operand)
      if (isGoTrue(value) === (name === 'or')) return value
    }
    return final === missing ? value : final
  }

  #assigned(value: unknown, type: ParameterType): unknown {
    const argument = assign(value, type)
    return argument instanceof WrongArgument ? this.#fail(argument.problem) : argument
  }

  #argument(dot: VariableCell, type: ParameterType, node: OperandNode): unknown {
    this.node = node
    switch (node.kind) {
      case 'dot':
        return this.#assigned(dot.value, type)
      case 'nil':
        return acceptsNil(type) ? nilOf(type) : this.#fail(`cannot assign nil to ${typeName(type)}`)
      case 'field':
        return this.#assigned(this.#fields(dot, receiverOf(dot), node, node.fields, undefined, missing), type)
      case 'variable':
        return this.#assigned(this.#variable(dot, node, undefined, missing), type)
      case 'pipe':
        return this.#assigned(this.pipeline(dot, node), type)
      case 'identifier':
        return this.#assigned(this.#function(dot, node.name, node, node, undefined, missing), type)
      case 'chain':
        return this.#assigned(this.#chain(dot, node, undefined, missing), type)
      default:
        return this.#literal(dot, type, node)
    }
  }

  /** A literal takes the type of the parameter. */
  #literal(dot: VariableCell, type: ParameterType, node: OperandNode): unknown {
    switch (type) {
      case 'any':
      case 'value':
        return this.#constant(dot, node)
      case 'bool':
        return node.kind === 'bool' ? node.value : this.#fail(`expected bool; found ${nodeText(node)}`)
      case 'string':
        return node.kind === 'string' ? node.value : this.#fail(`expected string; found ${nodeText(node)}`)
      case 'int':
        if (node.kind === 'number' && node.number.int !== undefined && fitsInt64(node.number.int))
          return node.number.int
        return this.#fail(`expected integer; found ${nodeText(node)}`)
      case 'uint32':
        if (node.kind === 'number' && node.number.uint !== undefined) {
          return new GoInteger('uint32', BigInt.asUintN(32, node.number.uint))
        }
        return this.#fail(`expected unsigned integer; found ${nodeText(node)}`)
      case 'float64':
        if (node.kind === 'number' && node.number.float !== undefined) return node.number.float
        return this.#fail(`expected float; found ${nodeText(node)}`)
      default:
        return this.#fail(`can't handle ${nodeText(node)} for arg of type ${typeName(type)}`)
    }
  }
}

function receiverOf({ value, isInterface }: VariableCell): Receiver {
  return { value, type: isInterface ? 'interface {}' : undefined }
}

/** `reflect.Value.String`. */
function reflected(value: unknown): string {
  return typeof value === 'string' ? value : `<${typeOf(value)} Value>`
}

function typeOfReceiver({ value, type }: Receiver): string {
  return type ?? (value === null || value === undefined ? 'interface {}' : typeOf(value))
}

/** What a map of this element type gives for a key that it does not have. */
function zeroOf(type: string): unknown {
  if (type === 'string') return ''
  return underlying(type) === '[]uint8' ? new Uint8Array() : null
}
