/** Parses a template's text into syntax trees: its own, and those of its definitions. */
import { quoteGo } from '../../kube/go/go-text.ts'
import { GoError } from './go-error.ts'
import { type TemplateToken, tokenize, type TokenKind, tokenText } from './lexer.ts'
import { parseCharacter, parseNumber, unquote } from './literals.ts'
import {
  type BranchNode,
  type CommandNode,
  isEmptyTree,
  type ListNode,
  type TemplateTreeNode,
  nodeText,
  type OperandNode,
  type PipeNode,
  type TemplateNode,
} from './nodes.ts'

export interface ParsedTemplate {
  readonly root: ListNode
  readonly definitions: ReadonlyMap<string, ListNode>
}

interface Ending {
  readonly kind: 'end' | 'else'
  readonly at: number
}

/** Deeper expressions would exhaust the stack. */
const deepestExpression = 1000

/**
 * @param name as messages show it
 * @throws GoError `template: name:line: problem`
 */
export function parseTemplate(name: string, text: string, hasFunction: (name: string) => boolean): ParsedTemplate {
  return new Parser(name, text, hasFunction).parse()
}

class Parser {
  readonly #name: string
  readonly #text: string
  readonly #hasFunction: (name: string) => boolean
  readonly #tokens: readonly TemplateToken[]
  #next = 0
  /** The index of the furthest token that was read: messages name its line. */
  #furthest = 0
  #variables: string[] = ['$']
  #definitions = new Map<string, ListNode>()
  #actionAt: number | undefined
  #rangeDepth = 0
  #expressionDepth = 0
  #blockDepth = 0

  constructor(name: string, text: string, hasFunction: (name: string) => boolean) {
    this.#name = name
    this.#text = text
    this.#hasFunction = hasFunction
    this.#tokens = tokenize(text)
  }

  parse(): ParsedTemplate {
    const root: ListNode = { kind: 'list', at: this.#peek().at, nodes: [] }
    while (this.#peek().kind !== 'EOF') {
      if (this.#peek().kind === '{{') {
        const before = this.#next
        this.#take()
        if (this.#takeWord().kind === 'define') {
          this.#definition()
          continue
        }
        this.#next = before
      }
      const node = this.#textOrAction()
      if (isEnding(node)) this.#fail(`unexpected {{${node.kind}}}`)
      else root.nodes.push(node)
    }
    return { root, definitions: this.#definitions }
  }

  #take(): TemplateToken {
    const token = this.#tokens[this.#next] ?? this.#tokens.at(-1)!
    if (this.#next > this.#furthest) this.#furthest = this.#next
    this.#next++
    return token
  }

  #peek(): TemplateToken {
    if (this.#next > this.#furthest) this.#furthest = this.#next
    return this.#tokens[this.#next] ?? this.#tokens.at(-1)!
  }

  #takeWord(): TemplateToken {
    let token = this.#take()
    while (token.kind === 'space') token = this.#take()
    return token
  }

  #peekWord(): TemplateToken {
    while (this.#peek().kind === 'space') this.#next++
    return this.#peek()
  }

  #lineOf(at: number): number {
    let line = 1
    for (let found = this.#text.indexOf('\n'); found >= 0 && found < at; found = this.#text.indexOf('\n', found + 1)) {
      line++
    }
    return line
  }

  #fail(problem: string): never {
    const token = this.#tokens[Math.min(this.#furthest, this.#tokens.length - 1)]!
    throw new GoError(`template: ${this.#name}:${this.#lineOf(token.at)}: ${problem}`)
  }

  #unexpected(token: TemplateToken, context: string): never {
    if (token.kind !== 'error') this.#fail(`unexpected ${tokenText(token)} in ${context}`)
    let extra = ''
    if (this.#actionAt !== undefined && this.#lineOf(this.#actionAt) !== this.#lineOf(token.at)) {
      extra = ` in action started at ${this.#name}:${this.#lineOf(this.#actionAt)}`
      if (token.text.endsWith(' action')) extra = extra.slice(' in action'.length)
    }
    this.#fail(token.text + extra)
  }

  #expect(kind: TokenKind, context: string): TemplateToken {
    const token = this.#takeWord()
    if (token.kind !== kind) this.#unexpected(token, context)
    return token
  }

  /** A definition or a block: its own variables, and no loop around it. */
  #inOwnScope(work: () => ListNode): ListNode {
    const [variables, rangeDepth] = [this.#variables, this.#rangeDepth]
    this.#variables = ['$']
    this.#rangeDepth = 0
    const list = work()
    this.#variables = variables
    this.#rangeDepth = rangeDepth
    return list
  }

  #definition(): void {
    const context = 'define clause'
    const name = this.#templateName(this.#takeWord(), context)
    this.#expect('}}', context)
    const list = this.#inOwnScope(() => this.#listUntilEnd(context))
    this.#define(name, list)
  }

  #listUntilEnd(context: string): ListNode {
    const { list, ending } = this.#itemList()
    if (ending.kind !== 'end') this.#fail(`unexpected {{else}} in ${context}`)
    return list
  }

  #define(name: string, list: ListNode): void {
    const known = this.#definitions.get(name)
    if (!known || isEmptyTree(known)) this.#definitions.set(name, list)
    else if (!isEmptyTree(list)) this.#fail(`template: multiple definition of template ${quoteGo(name)}`)
  }

  #itemList(): { readonly list: ListNode; readonly ending: Ending } {
    const list: ListNode = { kind: 'list', at: this.#peekWord().at, nodes: [] }
    if (++this.#blockDepth > deepestExpression) this.#fail('max expression depth exceeded')
    while (this.#peekWord().kind !== 'EOF') {
      const node = this.#textOrAction()
      if (isEnding(node)) {
        this.#blockDepth--
        return { list, ending: node }
      }
      list.nodes.push(node)
    }
    return this.#fail('unexpected EOF')
  }

  #textOrAction(): TemplateTreeNode | Ending {
    const token = this.#takeWord()
    if (token.kind === 'text') return { kind: 'text', at: token.at, text: token.text }
    if (token.kind !== '{{') this.#unexpected(token, 'input')
    this.#actionAt = token.at
    const node = this.#action()
    this.#actionAt = undefined
    return node
  }

  #action(): TemplateTreeNode | Ending {
    const before = this.#next
    const token = this.#takeWord()
    switch (token.kind) {
      case 'block':
        return this.#block()
      case 'break':
      case 'continue':
        return this.#jump(token, token.kind)
      case 'else':
        return this.#else()
      case 'end':
        return { kind: 'end', at: this.#expect('}}', 'end').at }
      case 'if':
      case 'with':
      case 'range':
        return this.#control(token.kind)
      case 'template':
        return this.#template()
      default:
        this.#next = before
        // A space that precedes the pipeline is not part of it.
        return { kind: 'action', at: this.#peekWord().at, pipe: this.#pipeline('command', '}}') }
    }
  }

  #jump(token: TemplateToken, kind: 'break' | 'continue'): TemplateTreeNode {
    const next = this.#takeWord()
    if (next.kind !== '}}') this.#unexpected(next, `{{${kind}}}`)
    if (this.#rangeDepth === 0) this.#fail(`{{${kind}}} outside {{range}}`)
    return { kind, at: token.at }
  }

  #else(): Ending {
    const next = this.#peekWord()
    if (next.kind === 'if' || next.kind === 'with') return { kind: 'else', at: next.at }
    return { kind: 'else', at: this.#expect('}}', 'else').at }
  }

  #control(kind: BranchNode['kind']): BranchNode {
    const variables = this.#variables.length
    const pipe = this.#pipeline(kind, '}}')
    if (kind === 'range') this.#rangeDepth++
    const { list, ending } = this.#itemList()
    if (kind === 'range') this.#rangeDepth--
    let elseList: ListNode | undefined
    if (ending.kind === 'else') {
      const next = this.#peek()
      if ((kind === 'if' || kind === 'with') && next.kind === kind) {
        this.#take()
        if (++this.#blockDepth > deepestExpression) this.#fail('max expression depth exceeded')
        elseList = { kind: 'list', at: ending.at, nodes: [this.#control(kind)] }
        this.#blockDepth--
      } else {
        const rest = this.#itemList()
        if (rest.ending.kind !== 'end') this.#fail('expected end; found {{else}}')
        elseList = rest.list
      }
    }
    this.#variables.length = variables
    return { kind, at: pipe.at, pipe, list, elseList }
  }

  #block(): TemplateNode {
    const context = 'block clause'
    const token = this.#takeWord()
    const name = this.#templateName(token, context)
    const pipe = this.#pipeline(context, '}}')
    const list = this.#inOwnScope(() => this.#listUntilEnd(context))
    this.#define(name, list)
    return { kind: 'template', at: token.at, name, pipe }
  }

  #template(): TemplateNode {
    const context = 'template clause'
    const token = this.#takeWord()
    const name = this.#templateName(token, context)
    const before = this.#next
    if (this.#takeWord().kind === '}}') return { kind: 'template', at: token.at, name, pipe: undefined }
    this.#next = before
    return { kind: 'template', at: token.at, name, pipe: this.#pipeline(context, '}}') }
  }

  #templateName(token: TemplateToken, context: string): string {
    if (token.kind !== 'string' && token.kind !== 'raw string') this.#unexpected(token, context)
    return this.#unquoted(token.text)
  }

  #unquoted(text: string): string {
    const value = unquote(text)
    if (value === undefined) this.#fail('invalid syntax')
    return value
  }

  #pipeline(context: string, end: '}}' | ')'): PipeNode {
    const pipe: PipeNode = { kind: 'pipe', at: this.#peekWord().at, isAssignment: false, variables: [], commands: [] }
    this.#declarations(pipe, context)
    for (;;) {
      const before = this.#next
      const token = this.#takeWord()
      if (token.kind === end) {
        this.#checkPipeline(pipe, context)
        return pipe
      }
      if (!startsOperand.has(token.kind)) this.#unexpected(token, context)
      this.#next = before
      pipe.commands.push(this.#command())
    }
  }

  #declarations(pipe: PipeNode, context: string): void {
    while (this.#peekWord().kind === 'variable') {
      const before = this.#next
      const variable = this.#take()
      const next = this.#peekWord()
      const isComma = next.kind === 'char' && next.text === ','
      if (next.kind !== '=' && next.kind !== ':=' && !isComma) {
        this.#next = before
        return
      }
      this.#take()
      pipe.variables.push(variable.text)
      this.#variables.push(variable.text)
      if (!isComma) {
        pipe.isAssignment = next.kind === '='
        return
      }
      if (context !== 'range' || pipe.variables.length > 1) this.#fail(`too many declarations in ${context}`)
      const following = this.#peekWord().kind
      if (following !== 'variable' && following !== '}}' && following !== ')') {
        this.#fail('range can only initialize variables')
      }
    }
  }

  #checkPipeline(pipe: PipeNode, context: string): void {
    if (pipe.commands.length === 0) this.#fail(`missing value for ${context}`)
    for (const [index, command] of pipe.commands.entries()) {
      if (index > 0 && isConstant(command.args[0]!)) {
        this.#fail(`non executable command in pipeline stage ${index + 1}`)
      }
    }
  }

  #command(): CommandNode {
    const command: CommandNode = { kind: 'command', at: this.#peekWord().at, args: [] }
    for (;;) {
      this.#peekWord()
      const operand = this.#operand()
      if (operand) command.args.push(operand)
      const before = this.#next
      const token = this.#take()
      if (token.kind === 'space') continue
      if (token.kind === '}}' || token.kind === ')') this.#next = before
      else if (token.kind !== '|') this.#unexpected(token, 'operand')
      break
    }
    if (command.args.length === 0) this.#fail('empty command')
    return command
  }

  #operand(): OperandNode | undefined {
    const node = this.#term()
    if (!node || this.#peek().kind !== 'field') return node
    const { at } = this.#peek()
    const fields: string[] = []
    while (this.#peek().kind === 'field') fields.push(this.#take().text.slice(1))
    switch (node.kind) {
      case 'field':
        return { kind: 'field', at, fields: [...node.fields, ...fields] }
      case 'variable':
        return { kind: 'variable', at, name: node.name, fields: [...node.fields, ...fields] }
      case 'bool':
      case 'string':
      case 'number':
      case 'nil':
      case 'dot':
        return this.#fail(`unexpected . after term ${quoteGo(nodeText(node))}`)
      default:
        return { kind: 'chain', at, operand: node, fields }
    }
  }

  #term(): OperandNode | undefined {
    const before = this.#next
    const { kind, at, text } = this.#takeWord()
    switch (kind) {
      case 'identifier':
        if (!this.#hasFunction(text)) this.#fail(`function ${quoteGo(text)} not defined`)
        return { kind, at, name: text }
      case '.':
        return { kind: 'dot', at }
      case 'nil':
        return { kind, at }
      case 'variable':
        if (!this.#variables.includes(text)) this.#fail(`undefined variable ${quoteGo(text)}`)
        return { kind, at, name: text, fields: [] }
      case 'field':
        return { kind, at, fields: [text.slice(1)] }
      case 'bool':
        return { kind, at, value: text === 'true' }
      case 'character constant':
      case 'complex':
      case 'number': {
        const number = kind === 'character constant' ? parseCharacter(text) : parseNumber(text, kind === 'complex')
        if (typeof number === 'string') this.#fail(number)
        return { kind: 'number', at, number }
      }
      case '(': {
        if (++this.#expressionDepth > deepestExpression) this.#fail('max expression depth exceeded')
        const pipe = this.#pipeline('parenthesized pipeline', ')')
        this.#expressionDepth--
        return pipe
      }
      case 'string':
      case 'raw string':
        return { kind: 'string', at, quoted: text, value: this.#unquoted(text) }
      default:
        this.#next = before
        return undefined
    }
  }
}

const startsOperand: ReadonlySet<TokenKind> = new Set<TokenKind>([
  'bool',
  'character constant',
  'complex',
  '.',
  'field',
  'identifier',
  'number',
  'nil',
  'raw string',
  'string',
  'variable',
  '(',
])

function isEnding(node: TemplateTreeNode | Ending): node is Ending {
  return node.kind === 'end' || node.kind === 'else'
}

function isConstant({ kind }: OperandNode): boolean {
  return kind === 'bool' || kind === 'dot' || kind === 'nil' || kind === 'number' || kind === 'string'
}
