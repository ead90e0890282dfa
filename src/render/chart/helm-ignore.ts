/** .helmignore: which files of a folder are not part of its chart. The first rule that decides counts. */
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import { parsePathPattern } from './path-pattern.ts'

/** Whether a file or folder is left out; its path is relative to the chart. */
export type IgnoreRule = (path: string, isFolder: boolean) => boolean

interface Rule {
  readonly isNegated: boolean
  readonly foldersOnly: boolean
  readonly matches: (path: string) => boolean
}

/** Files that begin with a dot are no templates. */
const builtIn = 'templates/.?*'

/** @throws InvalidChart */
export function readIgnoreFile(text: string): IgnoreRule {
  const lines = text.replace(/^\uFEFF/, '').split('\n')
  const rules = [...lines, builtIn].flatMap((line) => readRule(line.trim()))
  return (path, isFolder) => {
    for (const { isNegated, foldersOnly, matches } of rules) {
      // Odd, and relied on: a rule with "!" leaves out everything that it does not match.
      if (isNegated) {
        if ((foldersOnly && !isFolder) || !matches(path)) return true
      } else if ((!foldersOnly || isFolder) && matches(path)) return true
    }
    return false
  }
}

function readRule(line: string): readonly Rule[] {
  if (line === '' || line.startsWith('#')) return []
  if (line.includes('**')) throw invalid(line, 'double-star (**) syntax is not supported')
  const isNegated = line.startsWith('!')
  const named = isNegated ? line.slice(1) : line
  const foldersOnly = named.endsWith('/')
  const rule = foldersOnly ? named.slice(0, -1) : named
  const pattern = parsePathPattern(rule.startsWith('/') ? rule.slice(1) : rule)
  if (!pattern) throw invalid(line, 'the pattern is malformed')
  // Without a slash, a rule is about names and not about paths.
  const matches = rule.includes('/') ? pattern : (path: string) => pattern(path.slice(path.lastIndexOf('/') + 1))
  return [{ isNegated, foldersOnly, matches }]
}

function invalid(line: string, problem: string): MusterError {
  return new MusterError(renderErrors.InvalidChart, `.helmignore: "${line}": ${problem}.`)
}
