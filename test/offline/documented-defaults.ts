/**
 * Compares documented defaults with the code. A member of an interface documents its default as `@default 30_000`; the
 * code states it as a destructuring default, as the right side of `??`, or in a constant called `default…`.
 *
 * Types are followed as far as names lead: parameters and variables with an annotation, members of interfaces, `extends`,
 * aliases, `Partial<…>` and its like. A default that is computed in any other way stays undecided.
 */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseSync } from 'rolldown/utils'

type Value = string | number | boolean

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

interface Member {
  /** The interfaces that its type mentions. */
  readonly types: readonly string[]
  readonly isBoolean: boolean
}

/** An interface, or an alias, which has no members of its own. */
interface Declared {
  readonly parents: readonly string[]
  readonly members: ReadonlyMap<string, Member>
}

export interface DocumentedDefault {
  /** `src/client/retry.ts:37 RetryPolicy.attempts`. */
  readonly where: string
  readonly documented: Value
  /** As the code has it, at each place that states one; none: undecided. */
  readonly stated: readonly Value[]
}

interface SourceFile {
  readonly name: string
  readonly text: string
  readonly program: Node
  readonly comments: readonly { readonly value: string; readonly start: number; readonly end: number }[]
  /** Local names of what is imported, and what they are called where they are exported. */
  readonly imported: ReadonlyMap<string, string>
  readonly interfaces: ReadonlySet<string>
}

/** What is known of a variable: the interfaces of its type, and the member that it was read from. */
interface Known {
  readonly types: readonly string[]
  readonly from?: { readonly types: readonly string[]; readonly member: string }
}

type Scope = ReadonlyMap<string, Known>

export function documentedDefaults(root: string): readonly DocumentedDefault[] {
  const files = globSync('src/**/*.ts', { cwd: root })
    .map((name) => name.split(path.sep).join('/'))
    .filter((name) => !name.endsWith('.test.ts') && !name.startsWith('src/kube/types/'))
    .map((name) => parse(name, readFileSync(path.join(root, name), 'utf8')))
  const declared = new Map<string, Declared>()
  const constants = new Map<string, Node>()
  for (const file of files) {
    for (const statement of nodesIn(file.program['body'])) {
      const { node, isExported } = withoutExport(statement)
      if (isInterface(node)) declared.set(idOf(file, nameOf(node['id'])), declare(file, node))
      for (const one of node.type === 'VariableDeclaration' ? nodesIn(node['declarations']) : []) {
        if (isNode(one['init'])) constants.set(`${isExported ? '' : `${file.name}#`}${nameOf(one['id'])}`, one['init'])
      }
    }
  }
  const stated = new Map<string, Value[]>()
  for (const file of files) new Reader(file, declared, constants, stated).read()
  return files.flatMap((file) => documentedIn(file, stated))
}

function parse(name: string, text: string): SourceFile {
  const { program, comments } = parseSync(name, text)
  const body = nodesIn((program as unknown as Node)['body'])
  const imported = new Map<string, string>()
  for (const statement of body.filter(({ type }) => type === 'ImportDeclaration')) {
    for (const one of nodesIn(statement['specifiers'])) imported.set(nameOf(one['local']), nameOf(one['imported']))
  }
  const interfaces = body.map((statement) => withoutExport(statement)).filter(({ node }) => isInterface(node))
  return {
    name,
    text,
    program: program as unknown as Node,
    comments,
    imported,
    // Exported names are unique in src/, others belong to their file.
    interfaces: new Set(interfaces.filter(({ isExported }) => !isExported).map(({ node }) => nameOf(node['id']))),
  }
}

function withoutExport(statement: Node): { readonly node: Node; readonly isExported: boolean } {
  const inner = statement.type === 'ExportNamedDeclaration' ? statement['declaration'] : undefined
  return isNode(inner) ? { node: inner, isExported: true } : { node: statement, isExported: false }
}

function isInterface({ type }: Node): boolean {
  return type === 'TSInterfaceDeclaration' || type === 'TSTypeAliasDeclaration'
}

function idOf(file: SourceFile, name: string): string {
  return file.interfaces.has(name) ? `${file.name}#${name}` : (file.imported.get(name) ?? name)
}

function declare(file: SourceFile, node: Node): Declared {
  const members = new Map<string, Member>()
  if (node.type === 'TSTypeAliasDeclaration') return { parents: typesIn(file, node['typeAnnotation']), members }
  for (const one of membersOf(node)) {
    const annotation = annotationOf(one)
    const isBoolean = annotation?.type === 'TSBooleanKeyword' || isBooleanUnion(annotation)
    members.set(nameOf(one['key']), { types: typesIn(file, annotation), isBoolean })
  }
  const extended = nodesIn(node['extends'])
  const named = extended.map((parent) => idOf(file, nameOf(parent['expression'])))
  const parents = named.concat(extended.flatMap((parent) => typesIn(file, parent['typeArguments'])))
  return { parents, members }
}

function membersOf(node: Node): readonly Node[] {
  const body = node['body']
  return isNode(body) ? nodesIn(body['body']).filter(({ type }) => type === 'TSPropertySignature') : []
}

function isBooleanUnion(annotation: Node | undefined): boolean {
  return annotation?.type === 'TSUnionType' && nodesIn(annotation['types'])[0]?.type === 'TSBooleanKeyword'
}

/** The interfaces that a type mentions. What functions take and return is not the type itself. */
function typesIn(file: SourceFile, type: unknown): readonly string[] {
  if (!isNode(type) || type.type === 'TSFunctionType') return []
  const own = type.type === 'TSTypeReference' ? [idOf(file, nameOf(type['typeName']))] : []
  return [...own, ...childrenOf(type).flatMap((child) => typesIn(file, child))]
}

/** Reads one file for what it states about the members of interfaces. */
class Reader {
  readonly #file: SourceFile
  readonly #declared: ReadonlyMap<string, Declared>
  readonly #constants: ReadonlyMap<string, Node>
  readonly #stated: Map<string, Value[]>

  constructor(
    file: SourceFile,
    declared: ReadonlyMap<string, Declared>,
    constants: ReadonlyMap<string, Node>,
    stated: Map<string, Value[]>,
  ) {
    this.#file = file
    this.#declared = declared
    this.#constants = constants
    this.#stated = stated
  }

  read(): void {
    this.#walk(this.#file.program, new Map())
  }

  #walk(node: Node, outer: Scope): void {
    const scope = new Map(outer)
    if (Array.isArray(node['params'])) for (const one of nodesIn(node['params'])) this.#bind(one, undefined, scope)
    if (node.type === 'ClassBody') {
      for (const one of nodesIn(node['body'])) {
        if (annotationOf(one)) scope.set(`this.${nameOf(one['key'])}`, { types: this.#annotated(one) })
      }
    }
    this.#walkAll(childrenOf(node), scope)
  }

  /** Statements of one block see what those before them declare. */
  #walkAll(nodes: readonly Node[], scope: Map<string, Known>): void {
    for (const node of nodes) {
      const { node: bare } = withoutExport(node)
      if (bare.type === 'VariableDeclaration')
        for (const one of nodesIn(bare['declarations'])) this.#declare(one, scope)
      if (node.type === 'LogicalExpression' && node['operator'] === '??') this.#fallback(node, scope)
      this.#tested(node, scope)
      if (opensScope.has(node.type)) this.#walk(node, scope)
      else this.#walkAll(childrenOf(node), scope)
    }
  }

  #declare(declarator: Node, scope: Map<string, Known>): void {
    const { id, init } = declarator as unknown as { readonly id: Node; readonly init: unknown }
    const value = isNode(init) ? init : undefined
    this.#bind(id, value && this.#known(value, scope), scope)
    if (value?.type === 'ObjectExpression') {
      const types = this.#annotated(id)
      const isDefault = /^default|Defaults$/.test(nameOf(id))
      this.#object(value, types, isDefault)
    }
  }

  /** Members that come before a spread, or of a constant called `default…`, are what holds unless something else is said. */
  #object(object: Node, types: readonly string[], isDefault: boolean): void {
    const members = nodesIn(object['properties'])
    const lastSpread = members.findLastIndex(({ type }) => type === 'SpreadElement')
    for (const [index, member] of members.entries()) {
      if (member.type !== 'Property' || !isNode(member['value'])) continue
      const name = nameOf(member['key'])
      if (!isDefault && index >= lastSpread) continue
      if (member['value'].type === 'ObjectExpression') {
        this.#object(member['value'], this.#memberTypes(types, name), isDefault)
      } else this.#state(types, name, member['value'])
    }
  }

  #bind(pattern: Node, known: Known | undefined, scope: Map<string, Known>): void {
    if (pattern.type === 'AssignmentPattern') {
      this.#bind(pattern['left'] as Node, known, scope)
      return
    }
    if (pattern.type === 'TSParameterProperty') {
      this.#bind(pattern['parameter'] as Node, known, scope)
      return
    }
    const annotated = this.#annotated(pattern)
    const types = annotated.length > 0 ? annotated : (known?.types ?? [])
    if (pattern.type === 'Identifier') scope.set(nameOf(pattern), { types, ...(known?.from && { from: known.from }) })
    if (pattern.type !== 'ObjectPattern') return
    for (const property of nodesIn(pattern['properties'])) {
      const value = property['value']
      if (property.type === 'RestElement') {
        this.#bind(property['argument'] as Node, { types }, scope)
        continue
      }
      if (!isNode(value)) continue
      const member = nameOf(property['key'])
      const memberTypes = this.#memberTypes(types, member)
      // With a default it is never absent: what is tested afterwards says nothing.
      const isDefaulted = value.type === 'AssignmentPattern'
      if (isDefaulted) this.#state(types, member, value['right'] as Node)
      this.#bind(value, { types: memberTypes, ...(!isDefaulted && { from: { types, member } }) }, scope)
    }
  }

  #fallback(node: Node, scope: Scope): void {
    const from = this.#known(node['left'] as Node, scope)?.from
    if (from) this.#state(from.types, from.member, node['right'] as Node)
  }

  /** `if (options.force)`: absent is false. `options.force !== false`: absent is true. */
  #tested(node: Node, scope: Scope): void {
    const state = (operand: unknown, value: boolean): void => {
      const from = isNode(operand) ? this.#known(operand, scope)?.from : undefined
      if (from && this.#member(from.types, from.member)?.isBoolean) this.#note(from.types, from.member, value)
    }
    if (node.type === 'IfStatement' || node.type === 'ConditionalExpression') state(node['test'], false)
    if (node.type === 'UnaryExpression' && node['operator'] === '!') state(node['argument'], false)
    if (node.type === 'LogicalExpression' && node['operator'] !== '??') state(node['left'], false)
    if (node.type !== 'BinaryExpression') return
    const right = isNode(node['right']) && node['right'].type === 'Literal' ? node['right']['value'] : undefined
    if (typeof right !== 'boolean') return
    if (node['operator'] === '===' || node['operator'] === '!==') state(node['left'], !right)
  }

  #known(node: Node, scope: Scope): Known | undefined {
    switch (node.type) {
      case 'Identifier':
        return scope.get(nameOf(node))
      case 'MemberExpression': {
        if (node['computed']) return undefined
        const object = node['object'] as Node
        const member = nameOf(node['property'])
        if (object.type === 'ThisExpression') return scope.get(`this.${member}`)
        const types = this.#known(object, scope)?.types ?? []
        return { types: this.#memberTypes(types, member), from: { types, member } }
      }
      case 'LogicalExpression': {
        const sides = [node['left'] as Node, node['right'] as Node].map((side) => this.#known(side, scope)?.types ?? [])
        return { types: sides.flat() }
      }
      case 'ObjectExpression': {
        const spread = nodesIn(node['properties']).filter(({ type }) => type === 'SpreadElement')
        return { types: spread.flatMap((one) => this.#known(one['argument'] as Node, scope)?.types ?? []) }
      }
      case 'ChainExpression':
      case 'TSNonNullExpression':
      case 'TSAsExpression':
        return this.#known(node['expression'] as Node, scope)
      default:
        return undefined
    }
  }

  #annotated(node: Node): readonly string[] {
    return typesIn(this.#file, annotationOf(node))
  }

  #memberTypes(types: readonly string[], member: string): readonly string[] {
    return this.#member(types, member)?.types ?? []
  }

  #member(types: readonly string[], member: string): Member | undefined {
    const owner = this.#owners(types, member)[0]
    return owner === undefined ? undefined : this.#declared.get(owner)?.members.get(member)
  }

  /** Which of these, or of those that they extend, declare the member. */
  #owners(types: readonly string[], member: string, seen = new Set<string>()): readonly string[] {
    return types.flatMap((type) => {
      if (seen.has(type)) return []
      seen.add(type)
      const one = this.#declared.get(type)
      if (one?.members.has(member)) return [type]
      return one ? this.#owners(one.parents, member, seen) : []
    })
  }

  #state(types: readonly string[], member: string, expression: Node): void {
    const value = this.#evaluate(expression)
    if (value !== undefined) this.#note(types, member, value)
  }

  #note(types: readonly string[], member: string, value: Value): void {
    for (const owner of this.#owners(types, member)) {
      const key = `${owner}.${member}`
      this.#stated.set(key, [...(this.#stated.get(key) ?? []), value])
    }
  }

  #evaluate(node: Node): Value | undefined {
    switch (node.type) {
      case 'Literal': {
        const { value } = node
        return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined
      }
      case 'Identifier': {
        const name = nameOf(node)
        const constant =
          this.#constants.get(`${this.#file.name}#${name}`) ??
          this.#constants.get(this.#file.imported.get(name) ?? name)
        return constant && this.#evaluate(constant)
      }
      case 'MemberExpression': {
        const object = this.#constants.get(this.#file.imported.get(nameOf(node['object'])) ?? nameOf(node['object']))
        const members = object?.type === 'ObjectExpression' ? nodesIn(object['properties']) : []
        const found = members.find((one) => nameOf(one['key']) === nameOf(node['property']))?.['value']
        return isNode(found) ? this.#evaluate(found) : undefined
      }
      case 'TSAsExpression':
        return this.#evaluate(node['expression'] as Node)
      case 'BinaryExpression': {
        const [left, right] = [this.#evaluate(node['left'] as Node), this.#evaluate(node['right'] as Node)]
        const operation = operations[node['operator'] as string]
        return operation && typeof left === 'number' && typeof right === 'number' ? operation(left, right) : undefined
      }
      default:
        return undefined
    }
  }
}

const operations: Readonly<Record<string, (left: number, right: number) => number>> = {
  '*': (left, right) => left * right,
  '**': (left, right) => left ** right,
  '+': (left, right) => left + right,
  '<<': (left, right) => left << right,
}

const opensScope = new Set([
  'ArrowFunctionExpression',
  'BlockStatement',
  'ClassBody',
  'FunctionDeclaration',
  'FunctionExpression',
])

/** Members whose comment states a literal default. */
function documentedIn(file: SourceFile, stated: ReadonlyMap<string, readonly Value[]>): readonly DocumentedDefault[] {
  const { name, text, program, comments } = file
  const found: DocumentedDefault[] = []
  for (const statement of nodesIn(program['body'])) {
    const { node } = withoutExport(statement)
    if (node.type !== 'TSInterfaceDeclaration') continue
    const owner = nameOf(node['id'])
    for (const member of membersOf(node)) {
      const comment = comments.findLast(
        ({ start, end }) => end <= member.start && start >= node.start && text.slice(end, member.start).trim() === '',
      )
      const documented = comment && literalIn(comment.value)
      if (documented === undefined) continue
      const line = text.slice(0, member.start).split('\n').length
      const key = nameOf(member['key'])
      found.push({
        where: `${name}:${line} ${owner}.${key}`,
        documented,
        stated: stated.get(`${idOf(file, owner)}.${key}`) ?? [],
      })
    }
  }
  return found
}

const units: Readonly<Record<string, number>> = {
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  days: 86_400_000,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  MB: 1e6,
}

/** `@default 64 MiB`, `@default "GET"`, `@default false: it is refused`; not `@default 2 for GET`. */
function literalIn(comment: string): Value | undefined {
  const [, text = ''] = /@default\s+([\s\S]*)$/.exec(comment) ?? []
  const [, quoted] = /^["'`]([^"'`]*)["'`]\s*(?:[.,:;]|$)/.exec(text) ?? []
  if (quoted !== undefined) return text.startsWith('`') ? undefined : quoted
  const [, flag] = /^(true|false)\s*(?:[.,:;]|$)/.exec(text) ?? []
  if (flag !== undefined) return flag === 'true'
  const [, digits, unit] = /^(-?[\d_]+(?:\.\d+)?)(?: ?([A-Za-z]+))?\s*(?:[.,:;](?!\d)|$)/.exec(text) ?? []
  if (digits === undefined || (unit !== undefined && !(unit in units))) return undefined
  return Number(digits.replaceAll('_', '')) * (unit === undefined ? 1 : units[unit]!)
}

function annotationOf(node: Node): Node | undefined {
  const annotation = node['typeAnnotation']
  if (!isNode(annotation)) return undefined
  return isNode(annotation['typeAnnotation']) ? annotation['typeAnnotation'] : undefined
}

function nameOf(node: unknown): string {
  if (!isNode(node)) return ''
  const name = node['name'] ?? node['value']
  return typeof name === 'string' ? name : ''
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Node>).type === 'string'
}

function nodesIn(value: unknown): readonly Node[] {
  return Array.isArray(value) ? value.filter((one) => isNode(one)) : []
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node).flatMap((value) => (isNode(value) ? [value] : nodesIn(value)))
}
