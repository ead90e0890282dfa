/** sprig's functions for paths, with slashes. */
import { type FunctionTable, goFunction, type GoFunction } from '../template/function-type.ts'
import { trimEnd } from '../../kube/text/trim-end.ts'

function path(work: (path: string) => unknown): GoFunction {
  return goFunction('string', ([value]: [string]) => work(value))
}

export const pathFunctions: FunctionTable = new Map<string, GoFunction>(
  ['', 'os'].flatMap((system) => {
    const named = (name: string): string => (system === '' ? name : system + name[0]!.toUpperCase() + name.slice(1))
    return [
      [named('base'), path(base)],
      [named('dir'), path(dir)],
      [named('clean'), path(clean)],
      [named('ext'), path(extension)],
      [named('isAbs'), path((value) => value.startsWith('/'))],
    ] as const
  }),
)

export function base(value: string): string {
  if (value === '') return '.'
  const trimmed = trimEnd(value, '/')
  return trimmed === '' ? '/' : trimmed.slice(trimmed.lastIndexOf('/') + 1)
}

function dir(value: string): string {
  return clean(value.slice(0, value.lastIndexOf('/') + 1))
}

function extension(value: string): string {
  const name = value.slice(value.lastIndexOf('/') + 1)
  const dot = name.lastIndexOf('.')
  return dot < 0 ? '' : name.slice(dot)
}

/** The shortest path with the same meaning. */
function clean(value: string): string {
  if (value === '') return '.'
  const isRooted = value.startsWith('/')
  const kept: string[] = []
  for (const part of value.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') kept.push(part)
    else if (kept.length > 0 && kept.at(-1) !== '..') kept.pop()
    else if (!isRooted) kept.push('..')
  }
  const joined = kept.join('/')
  return isRooted ? `/${joined}` : joined === '' ? '.' : joined
}
