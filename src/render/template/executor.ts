/**
 * Executes a template: walks its tree, evaluates pipelines and collects the output. Errors have the words and the position that
 * Go gives them, because Helm takes them apart again.
 */
import { validText } from './text-bytes.ts'
import { quoteGo } from '../../kube/go/go-text.ts'
import type { RenderMeter } from './budget.ts'
import { type TemplateEvaluation, Evaluator } from './evaluator.ts'
import { formatPlain } from './format-value.ts'
import { BudgetExceeded, ExecError, GoError, isStackOverflow, StackExhausted } from './go-error.ts'
import type { CallContext, FunctionTable } from './function-type.ts'
import type { BranchNode, ListNode, TemplateTreeNode, PipeNode, TemplateNode } from './nodes.ts'
import { RangePosition } from './range-position.ts'
import type { CallPlace, CallStep, RenderServices } from './services.ts'
import { type VariableCell, TemplateScope } from './scope.ts'
import { type ParsedDefinition, TemplateSet } from './template-set.ts'
import { byteValue, elementType, integerValue, isInteger, isGoList, isMap, isGoTrue, sortedKeys } from './values.ts'

/** What all templates of one render share. */
export interface RenderState {
  readonly functions: FunctionTable
  readonly valuesMethods: TemplateEvaluation['valuesMethods']
  readonly budget: RenderMeter
  /** Fail on keys that a map does not have. */
  readonly isStrict: boolean
  /** Whether the caller renders again in a thread with a larger stack when that of this one is used up. */
  readonly hasLargerStack: boolean
  /** How many includes of each template are being executed. */
  readonly included: Map<string, number>
  /** Where the templates that are being executed lead to the next one, and the elements of their loops; the outermost first. */
  readonly callers: (() => CallStep)[]
  /** The services, for a call at this place. */
  services(place: () => CallPlace): RenderServices
}

/** The deepest `include` of one template in itself. */
const deepestInclude = 1000

/** The deepest `template` in another; the stack may end before it. */
const deepestTemplate = 100_000
const tooDeep = `exceeded maximum template depth (${deepestTemplate})`

/** The name of text that `tpl` executes. */
const rootName = 'gotpl'

type Flow = 'next' | 'break' | 'continue'

/** @throws ExecError */
export function executeTemplate(
  state: RenderState,
  set: TemplateSet,
  template: ParsedDefinition,
  data: unknown,
): string {
  const output: Output = { text: '' }
  new Execution(state, set, template, data ?? undefined, output).run(data ?? undefined)
  return output.text
}

/** @throws GoError */
function executeNamed(state: RenderState, set: TemplateSet, name: string, data: unknown): string {
  const template = set.get(name)
  if (!template) throw new GoError(`template: no template ${quoteGo(name)} associated with template "${rootName}"`)
  return executeTemplate(state, set, template, data)
}

interface Output {
  text: string
}

class Execution implements TemplateEvaluation, CallContext {
  readonly budget: RenderMeter
  readonly services: RenderServices
  readonly scope: TemplateScope
  readonly #state: RenderState
  readonly #set: TemplateSet
  readonly #template: ParsedDefinition
  readonly #output: Output
  readonly #evaluator: Evaluator
  /** How many `template` actions lead here. */
  readonly #depth: number

  constructor(
    state: RenderState,
    set: TemplateSet,
    template: ParsedDefinition,
    data: unknown,
    output: Output,
    depth = 0,
  ) {
    this.#state = state
    this.#set = set
    this.#template = template
    this.#output = output
    this.#depth = depth
    this.budget = state.budget
    this.scope = new TemplateScope(data)
    this.#evaluator = new Evaluator(this)
    this.services = state.services(() => this.#place('call'))
  }

  get functions(): FunctionTable {
    return this.#state.functions
  }

  get valuesMethods(): TemplateEvaluation['valuesMethods'] {
    return this.#state.valuesMethods
  }

  get isStrict(): boolean {
    return this.#state.isStrict
  }

  run(dot: unknown): void {
    try {
      this.#walkList({ value: dot, isInterface: false }, this.#template.root)
    } catch (error) {
      if (error instanceof BudgetExceeded && !error.message.startsWith('template ')) {
        throw new BudgetExceeded(`template ${this.#location()}: ${error.message}`)
      }
      throw error
    }
  }

  #place(via: CallPlace['via']): CallPlace {
    const { text, parseName } = this.#template
    const before = text.slice(0, this.#evaluator.node?.at ?? 0)
    const lineStart = before.lastIndexOf('\n') + 1
    const line = before.split('\n').length
    return { via, file: parseName, text, line, column: Buffer.byteLength(before.slice(lineStart)) }
  }

  #location(): string {
    const { file, line, column } = this.#place('call')
    return `${file}:${line}:${column}`
  }

  /** @throws ExecError */
  fail(problem: string, cause?: GoError): never {
    const { name } = this.#template
    const context = this.#evaluator.nodeText()
    const place = `template: ${this.#location()}: executing ${quoteGo(name)} at <${context}>`
    throw new ExecError(`${place}: ${validText(problem)}`, cause)
  }

  include(name: string, data: unknown): string {
    const { included } = this.#state
    const count = included.get(name) ?? 0
    const nested = `rendering template has a nested reference name: ${name}: unable to execute template`
    if (count > deepestInclude) throw new GoError(nested, new GoError('unable to execute template'))
    included.set(name, count + 1)
    this.#state.callers.push(() => this.#place('include'))
    try {
      return executeNamed(this.#state, this.#set, name, data)
    } catch (error) {
      if (!isStackOverflow(error)) throw error
      if (this.#state.hasLargerStack) throw new StackExhausted()
      throw new GoError(nested, new GoError('unable to execute template'))
    } finally {
      this.#state.callers.pop()
      included.set(name, count)
    }
  }

  tpl(text: string, data: unknown): string {
    const set = new TemplateSet(this.#set)
    const template = wrapping('cannot parse template', text, () =>
      set.add(rootName, text, (name) => this.functions.has(name)),
    )
    this.#state.callers.push(() => this.#place('tpl'))
    const output = wrapping('error during tpl function execution for', text, () =>
      executeTemplate(this.#state, set, template, data),
    )
    this.#state.callers.pop()
    return output.replaceAll('<no value>', '')
  }

  #write(text: string): void {
    this.budget.text(text.length)
    this.#output.text += text
  }

  #walkList(dot: VariableCell, list: ListNode): Flow {
    this.#evaluator.node = list
    for (const node of list.nodes) {
      const flow = this.#walk(dot, node)
      if (flow !== 'next') return flow
    }
    return 'next'
  }

  #walk(dot: VariableCell, node: TemplateTreeNode): Flow {
    this.budget.step()
    this.#evaluator.node = node
    switch (node.kind) {
      case 'text':
        this.#write(node.text)
        return 'next'
      case 'action': {
        const value = this.#evaluator.pipeline(dot, node.pipe)
        if (node.pipe.variables.length === 0) {
          this.#evaluator.node = node
          this.#print(value)
        }
        return 'next'
      }
      case 'if':
      case 'with':
        return this.#branch(dot, node)
      case 'range':
        return this.#range(dot, node)
      case 'template':
        this.#invoke(dot, node)
        return 'next'
      case 'list':
        return this.#walkList(dot, node)
      default:
        return node.kind
    }
  }

  #print(value: unknown): void {
    if (value === undefined) this.#write('<no value>')
    else if (typeof value === 'string') this.#write(value)
    else {
      this.budget.measure(value)
      this.#write(formatPlain(value))
    }
  }

  #branch(dot: VariableCell, { kind, pipe, list, elseList }: BranchNode): Flow {
    const mark = this.scope.mark()
    const value = this.#evaluator.pipeline(dot, pipe)
    let flow: Flow = 'next'
    if (isGoTrue(value)) flow = this.#walkList(kind === 'with' ? { value, isInterface: false } : dot, list)
    else if (elseList) flow = this.#walkList(dot, elseList)
    this.scope.reset(mark)
    return flow
  }

  #invoke(dot: VariableCell, node: TemplateNode): void {
    const template = this.#set.get(node.name)
    if (!template) this.fail(`template ${quoteGo(node.name)} not defined`)
    if (this.#depth >= deepestTemplate) this.fail(tooDeep)
    const value = node.pipe ? this.#evaluator.pipeline(dot, node.pipe) : undefined
    this.#evaluator.node = node
    this.#state.callers.push(() => this.#place('template'))
    try {
      new Execution(this.#state, this.#set, template, value, this.#output, this.#depth + 1).run(value)
      this.#state.callers.pop()
    } catch (error) {
      if (!isStackOverflow(error)) throw error
      if (this.#state.hasLargerStack) throw new StackExhausted()
      this.#evaluator.node = node
      this.fail(tooDeep)
    }
  }

  #range(dot: VariableCell, node: BranchNode): Flow {
    const mark = this.scope.mark()
    const value = this.#evaluator.pipeline(dot, node.pipe)
    const position = new RangePosition(value, this.budget)
    this.#state.callers.push(() => position.step())
    const hasRun = this.#iterate(value, node, position)
    this.#state.callers.pop()
    const flow = !hasRun && node.elseList ? this.#walkList(dot, node.elseList) : 'next'
    this.scope.reset(mark)
    // A break in the else list ends this loop, not the one around it.
    return flow === 'break' ? 'next' : flow
  }

  /** Whether there was anything to iterate over. */
  #iterate(value: unknown, node: BranchNode, position: RangePosition): boolean {
    const { pipe } = node
    if (value === undefined || value === null) return false
    if (isInteger(value)) {
      if (pipe.variables.length > 1) this.fail(`can't use ${formatPlain(value)} to iterate over more than one variable`)
      const count = integerValue(value)
      const typed = typeof value === 'bigint' ? undefined : value
      for (let index = 0n; index < count; index++) {
        position.index = Number(index)
        const element = typed ? typed.withValue(index) : index
        if (!this.#iteration(node, undefined, { value: element, isInterface: false })) break
      }
      return count > 0n
    }
    if (isGoList(value) || value instanceof Uint8Array) {
      const isInterface = elementType(value) === 'interface {}'
      for (let index = 0; index < value.length; index++) {
        position.index = index
        const element = value instanceof Uint8Array ? byteValue(value[index]!) : value[index]
        if (!this.#iteration(node, BigInt(index), { value: element, isInterface })) break
      }
      return value.length > 0
    }
    if (isMap(value)) {
      const isInterface = elementType(value) === 'interface {}'
      const keys = sortedKeys(value)
      // Values as they were when the loop began, even if its body changes the map.
      const values = keys.map((key) => value[key])
      for (const [index, key] of keys.entries()) {
        position.key = key
        if (!this.#iteration(node, key, { value: values[index], isInterface })) break
      }
      return keys.length > 0
    }
    return this.fail(`range can't iterate over ${formatPlain(value)}`)
  }

  /** Whether the loop goes on. */
  #iteration({ pipe, list }: BranchNode, index: unknown, element: VariableCell): boolean {
    this.budget.step()
    this.#assignLoopVariables(pipe, index, element)
    const mark = this.scope.mark()
    const flow = this.#walkList(element.value === undefined ? { ...element, value: null } : element, list)
    this.scope.reset(mark)
    return flow !== 'break'
  }

  #assignLoopVariables(pipe: PipeNode, index: unknown, element: VariableCell): void {
    const [first, second] = pipe.variables
    if (first === undefined) return
    const key: VariableCell = { value: index, isInterface: false }
    if (pipe.isAssignment) {
      this.scope.assign(first, second === undefined ? element : key)
      if (second !== undefined) this.scope.assign(second, element)
    } else {
      this.scope.setTop(1, element)
      if (second !== undefined) this.scope.setTop(2, key)
    }
  }
}

function wrapping<Result>(what: string, text: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof GoError) throw new GoError(`${what} ${quoteGo(text)}: ${error.message}`, error)
    throw error
  }
}
