/** Every regular expression of the sources: literals, and places where others are created at run time. */
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'

export interface FoundExpression {
  /** `src/kube/meta/name.ts:15` */
  readonly place: string
  readonly file: string
  /** Undefined for `new RegExp(…)`. */
  readonly literal: RegExp | undefined
}

const root = fileURLToPath(new URL('../..', import.meta.url))

export function expressionsIn(folder: string): readonly FoundExpression[] {
  return globSync(`${folder}/**/*.ts`, { cwd: root })
    .filter((file) => !file.endsWith('.test.ts') && !file.endsWith('.d.ts'))
    .toSorted()
    .flatMap(expressionsOf)
}

function expressionsOf(file: string): readonly FoundExpression[] {
  const text = readFileSync(path.join(root, file), 'utf8')
  const found: FoundExpression[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    if (Array.isArray(node)) return node.forEach(visit)
    const { type, start, regex, callee } = node as Partial<{
      type: string
      start: number
      regex: { readonly pattern: string; readonly flags: string }
      callee: { readonly name?: string }
    }>
    const isMade = (type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp'
    if (regex || isMade) {
      const place = `${file}:${text.slice(0, start).split('\n').length}`
      found.push({ place, file, literal: regex && new RegExp(regex.pattern, regex.flags) })
    }
    Object.values(node).forEach(visit)
  }
  visit(parseAst(text, { lang: 'ts' }).body)
  return found
}
