/**
 * Loads a TypeScript or JavaScript module that exports an operator: `FILE` if it exports one, `FILE#NAME` to choose.
 */
import { existsSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { managerErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { nearest } from '../../kube/text/nearest.ts'
import type { Operator } from '../../operator/operator.ts'

interface LoadedModule {
  /** As given. */
  readonly file: string
  /** The part after `#`. */
  readonly name: string | undefined
  readonly exported: Readonly<Record<string, unknown>>
}

/** `FILE` of `FILE#NAME`. */
export function fileOf(reference: string): string {
  const hash = reference.lastIndexOf('#')
  return hash < 0 ? reference : reference.slice(0, hash)
}

let loads = 0

/**
 * `anew`: loads the file again, without the state of the earlier load, as after a restart.
 * @throws ModuleUnusable
 */
export async function loadModule(
  reference: string,
  { anew = false }: { readonly anew?: boolean } = {},
): Promise<LoadedModule> {
  const given = fileOf(reference)
  const name = given === reference ? undefined : reference.slice(given.length + 1)
  const found = await stat(given).catch(() => undefined)
  if (!found) throw unusable(`${given}: there is no such file.${await didYouMean(given)}`)
  const file = found.isDirectory() ? await fileIn(given) : given
  const query = anew ? `?load=${++loads}` : ''
  try {
    const exported = (await import(pathToFileURL(path.resolve(file)).href + query)) as LoadedModule['exported']
    return { file, name, exported }
  } catch (error) {
    // Errors of definitions explain themselves.
    if (error instanceof MusterError) throw error
    throw unusable(`${file} cannot be loaded: ${explain(error)}`, error)
  }
}

/** @throws ModuleUnusable */
export function operatorOfModule({ file, name, exported }: LoadedModule): Operator {
  if (name !== undefined) {
    const value = namedExport(exported, name, file)
    if (isOperatorModule(value)) return value
    throw unusable(`${file} exports "${name}", but it is no operator.`)
  }
  const usual = [exported['operator'], exported['default']].find(isOperatorModule)
  if (usual) return usual
  const found = Object.entries(exported).filter((entry): entry is [string, Operator] => isOperatorModule(entry[1]))
  if (found.length === 1) return found[0]![1]
  if (found.length > 1) throw several(file, 'operators', found)
  throw unusable(`${file} exports no operator: make one with defineOperator and export it.`)
}

const usualNames = ['operator', 'src/operator', 'index', 'src/index']
const endings = ['.ts', '.mts', '.js', '.mjs']

/** The file of a folder with one operator, where `muster init` and most authors place it. */
async function fileIn(folder: string): Promise<string> {
  const candidates = usualNames.flatMap((name) => endings.map((ending) => path.join(folder, name + ending)))
  for (const file of candidates) {
    const isFile = await stat(file).then(
      (found) => found.isFile(),
      () => false,
    )
    if (isFile) return file
  }
  throw unusable(`${folder} is a folder without operator.ts, src/operator.ts or index.ts: name the operator's file.`)
}

async function didYouMean(file: string): Promise<string> {
  const others = await readdir(path.dirname(file)).catch(() => [])
  const near = nearest(path.basename(file), others)
  return near === undefined ? '' : ` Did you mean "${path.join(path.dirname(file), near)}"?`
}

/** The cause and, where known, the line. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return `it throws ${String(error)}.`
  const { code } = error as NodeJS.ErrnoException
  const [, missing] = /^Cannot find package '([^']+)'/.exec(error.message) ?? []
  if (missing !== undefined) return `it imports ${missing}, which is not installed: run npm install in its folder.`
  if (code === 'ERR_MODULE_NOT_FOUND') {
    const [, from, by] = /^Cannot find module '([^']+)'.* imported from (.+)/.exec(error.message) ?? []
    if (from !== undefined && by !== undefined)
      return `${shown(by)} imports ${shown(from)}, which does not exist.${endingHint(from)}`
  }
  // Node puts the position of a TypeScript error before the stack, as a path; that of others is in the stack, as a URL.
  const stack = error.stack ?? ''
  const [, place, line] = /^(.+):(\d+)\n/.exec(stack) ?? urlIn(stack) ?? []
  const where =
    place === undefined ? '' : ` (${shown(place.startsWith('file:') ? fileURLToPath(place) : place)}:${line})`
  return `${error.name}: ${error.message.split('\n')[0]}${where}.`
}

/** Node imports a file by its whole name: `./kind` is not `./kind.ts`. */
function endingHint(file: string): string {
  const ending = endings.find((each) => existsSync(file + each))
  if (ending !== undefined) return ` Write the ending: ${path.basename(file)}${ending}.`
  const typed = file.replace(/\.(m?)js$/, '.$1ts')
  return typed !== file && existsSync(typed) ? ` Import ${path.basename(typed)}: sources run as they are.` : ''
}

function urlIn(stack: string): readonly string[] | undefined {
  for (const word of stack.split(/[\s()]/)) {
    const found = /^(file:\/\/.+?):(\d+)/.exec(word)
    if (found) return found
  }
  return undefined
}

/** The path relative to the working directory. */
function shown(file: string): string {
  const relative = path.relative('', file)
  return relative.startsWith('..') ? file : relative
}

export function namedExport(exported: LoadedModule['exported'], name: string, file: string): unknown {
  if (Object.hasOwn(exported, name)) return exported[name]
  const near = nearest(name, Object.keys(exported))
  throw unusable(`${file} exports no "${name}".${near === undefined ? '' : ` Did you mean "${near}"?`}`)
}

export function several(file: string, what: string, found: readonly (readonly [string, unknown])[]): MusterError {
  const names = found.map(([name]) => name)
  return unusable(`${file} exports several ${what} (${names.join(', ')}): say which, as in ${file}#${names[0]}.`)
}

export function unusable(message: string, cause?: unknown): MusterError {
  return new MusterError(managerErrors.ModuleUnusable, message, { cause })
}

// By shape: the project may use another copy of Muster, so `instanceof` would fail.
export function isOperatorModule(value: unknown): value is Operator {
  return isObject(value) && ['controllers', 'inputs', 'outputs', 'kinds'].every((name) => Array.isArray(value[name]))
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
