/** The syntax tree of a template, and its text as messages quote it. */
import { quoteGo } from '../../kube/go/go-text.ts'
import type { NumberLiteral } from './literals.ts'

interface At {
  /** Where it begins in the template's text. */
  readonly at: number
}

export interface ListNode extends At {
  readonly kind: 'list'
  readonly nodes: TemplateTreeNode[]
}

interface TextNode extends At {
  readonly kind: 'text'
  readonly text: string
}

export interface PipeNode extends At {
  readonly kind: 'pipe'
  isAssignment: boolean
  /** Names of the declared or assigned variables, with `$`. */
  readonly variables: string[]
  readonly commands: CommandNode[]
}

interface ActionNode extends At {
  readonly kind: 'action'
  readonly pipe: PipeNode
}

export interface CommandNode extends At {
  readonly kind: 'command'
  readonly args: OperandNode[]
}

interface IdentifierNode extends At {
  readonly kind: 'identifier'
  readonly name: string
}

interface VariableNode extends At {
  readonly kind: 'variable'
  readonly name: string
  readonly fields: readonly string[]
}

interface FieldAccessNode extends At {
  readonly kind: 'field'
  readonly fields: readonly string[]
}

interface ChainNode extends At {
  readonly kind: 'chain'
  readonly operand: OperandNode
  readonly fields: readonly string[]
}

interface DotNode extends At {
  readonly kind: 'dot'
}

interface NilNode extends At {
  readonly kind: 'nil'
}

interface BoolNode extends At {
  readonly kind: 'bool'
  readonly value: boolean
}

export interface NumberNode extends At {
  readonly kind: 'number'
  readonly number: NumberLiteral
}

interface StringNode extends At {
  readonly kind: 'string'
  readonly quoted: string
  readonly value: string
}

export interface BranchNode extends At {
  readonly kind: 'if' | 'with' | 'range'
  readonly pipe: PipeNode
  readonly list: ListNode
  readonly elseList: ListNode | undefined
}

export interface TemplateNode extends At {
  readonly kind: 'template'
  readonly name: string
  readonly pipe: PipeNode | undefined
}

interface JumpNode extends At {
  readonly kind: 'break' | 'continue'
}

/** An element of a command. */
export type OperandNode =
  | IdentifierNode
  | VariableNode
  | FieldAccessNode
  | ChainNode
  | DotNode
  | NilNode
  | BoolNode
  | NumberNode
  | StringNode
  | PipeNode

/** An element of a list. */
export type TemplateTreeNode = TextNode | ActionNode | BranchNode | TemplateNode | JumpNode | ListNode

/** As messages quote it. */
export function nodeText(node: TemplateTreeNode | OperandNode | CommandNode): string {
  switch (node.kind) {
    case 'list':
      return node.nodes.map(nodeText).join('')
    case 'text':
      return node.text
    case 'action':
      return `{{${nodeText(node.pipe)}}}`
    case 'pipe': {
      const commands = node.commands.map(nodeText).join(' | ')
      if (node.variables.length === 0) return commands
      return `${node.variables.join(', ')} ${node.isAssignment ? '=' : ':='} ${commands}`
    }
    case 'command':
      return node.args.map(inParentheses).join(' ')
    case 'identifier':
      return node.name
    case 'variable':
      return [node.name, ...node.fields].join('.')
    case 'field':
      return node.fields.map((field) => `.${field}`).join('')
    case 'chain':
      return inParentheses(node.operand) + node.fields.map((field) => `.${field}`).join('')
    case 'dot':
      return '.'
    case 'nil':
      return 'nil'
    case 'bool':
      return String(node.value)
    case 'number':
      return node.number.text
    case 'string':
      return node.quoted
    case 'template':
      return `{{template ${quoteGo(node.name)}${node.pipe ? ` ${nodeText(node.pipe)}` : ''}}}`
    case 'break':
    case 'continue':
      return `{{${node.kind}}}`
    default: {
      const rest = node.elseList ? `{{else}}${nodeText(node.elseList)}` : ''
      return `{{${node.kind} ${nodeText(node.pipe)}}}${nodeText(node.list)}${rest}{{end}}`
    }
  }
}

function inParentheses(node: OperandNode): string {
  return node.kind === 'pipe' ? `(${nodeText(node)})` : nodeText(node)
}

/** Nothing but space: such a definition does not replace another. */
export function isEmptyTree(node: TemplateTreeNode): boolean {
  if (node.kind === 'list') return node.nodes.every(isEmptyTree)
  return node.kind === 'text' && /^[\s\u{85}]*$/u.test(node.text)
}
