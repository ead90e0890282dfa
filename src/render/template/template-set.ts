/** Templates that can include each other: one for each file, and one for each definition. */
import { quoteGo } from '../../kube/go/go-text.ts'
import { GoError } from './go-error.ts'
import { isEmptyTree, type ListNode } from './nodes.ts'
import { parseTemplate, type ParsedTemplate } from './parser.ts'

/** A template that can be executed. */
export interface ParsedDefinition {
  readonly name: string
  /** The name of the file or text in which it is defined. */
  readonly parseName: string
  /** The whole text of that file: positions are counted in it. */
  readonly text: string
  readonly root: ListNode
}

export class TemplateSet {
  readonly #templates = new Map<string, ParsedDefinition>()
  readonly #parent: TemplateSet | undefined

  /** @param parent whose templates are visible too, unless redefined here */
  constructor(parent?: TemplateSet) {
    this.#parent = parent
  }

  get(name: string): ParsedDefinition | undefined {
    return this.#templates.get(name) ?? this.#parent?.get(name)
  }

  /**
   * Adds the template and its definitions. An empty definition does not replace another.
   * @throws GoError if it cannot be parsed
   */
  add(name: string, text: string, hasFunction: (name: string) => boolean): ParsedDefinition {
    const { root, definitions } = parsed(name, text, hasFunction)
    for (const [defined, list] of definitions) this.#install({ name: defined, parseName: name, text, root: list })
    const own: ParsedDefinition = { name, parseName: name, text, root }
    const other = definitions.get(name)
    if (other && !isEmptyTree(other) && !isEmptyTree(root)) {
      throw new GoError(
        `template: ${name}:${text.split('\n').length}: template: multiple definition of template ${quoteGo(name)}`,
      )
    }
    if (other && isEmptyTree(root)) return { ...own, root: other }
    this.#install(own)
    return own
  }

  #install(template: ParsedDefinition): void {
    if (isEmptyTree(template.root) && this.get(template.name)) return
    this.#templates.set(template.name, template)
  }
}

/** Characters of template text whose trees are kept. */
const mostCached = 16_000_000

/** Trees by text: they do not depend on the name. The oldest go first. */
const cache = new Map<string, ParsedTemplate>()
let cached = 0

function parsed(name: string, text: string, hasFunction: (name: string) => boolean): ParsedTemplate {
  const known = cache.get(text)
  if (known) return known
  const tree = parseTemplate(name, text, hasFunction)
  cache.set(text, tree)
  cached += text.length
  for (const oldest of cache.keys()) {
    if (cached <= mostCached) break
    cache.delete(oldest)
    cached -= oldest.length
  }
  return tree
}
