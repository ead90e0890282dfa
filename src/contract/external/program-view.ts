/**
 * The files that a program sees beside the system folders: its own files and those that the configuration lists.
 *
 * Its own files are: its executable, files among its arguments, the interpreter in their first line, for Python, Ruby,
 * Perl and Java the installation around it, for Node scripts the packages. Not the folder around them: that may be a
 * project with a kubeconfig in it, or a home.
 */
import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { packagesOf } from '../../manager/isolation/sandbox/readable.ts'
import { programsFolder } from './programs-folder.ts'
import type { ExternalProgram } from './program.ts'

interface ProgramView {
  readonly readable: readonly string[]
  /** Hidden parts of readable folders. */
  readonly covered: readonly string[]
  /** Why the program cannot run. */
  readonly problem: string | undefined
}

/** `searched`: the PATH of the program. `home`: that of the manager. */
export function viewOf(program: ExternalProgram, searched: string, home: string = homedir()): ProgramView {
  const { command, args = [], folder = process.cwd(), readable = [] } = program
  const file = command.includes('/') ? path.resolve(folder, command) : foundIn(searched, command)
  if (file === undefined) return { readable: [], covered: [], problem: `there is no ${command} in PATH` }
  const scripts = args.map((word) => path.resolve(folder, word)).filter((each) => isFile(each))
  const parts = [file, ...scripts].flatMap((each) => [each].concat(interpretersOf(each, searched)))
  const shown = [...parts.flatMap((each) => partsOf(each, home)), ...readable.flatMap(linksTo)]
  const blocked = [file, ...scripts, ...readable].find((each) => !isForOthers(each))
  return {
    readable: shown,
    covered: coveredIn(
      shown.filter((each) => isFolder(each)),
      program.hidden ?? [],
    ),
    problem: blocked === undefined ? undefined : `${blocked} ${notForOthers}`,
  }
}

const notForOthers =
  'is readable for its owner alone, and the programs of a manager that is root run under another uid: chmod o+rX it'

/** A root manager runs the program with another uid, which loses the right to read private files. */
function isForOthers(place: string): boolean {
  if (process.getuid?.() !== 0) return true
  const found = statOf(place)
  if (!found) return true
  const wanted = found.isDirectory() ? 0o005 : 0o004
  return (found.mode & wanted) === wanted
}

/** Runtimes with an installation folder. */
const spreadOut = /^(?:python|pypy|ruby|perl|java)[\d.]*$/
const nodeScript = /\.[cm]?[jt]s$/

function partsOf(file: string, home: string): readonly string[] {
  const found = linksTo(file)
  const around = found.map((each) => installationOf(each, home)).filter((each) => each !== undefined)
  const scripts = found.filter((each) => nodeScript.test(each))
  return [...found, ...around, ...scripts.flatMap((each) => packagesOf(path.dirname(each)).flatMap(linksTo))]
}

/** `/opt/python` for `/opt/python/bin/python3`; never a home, or a folder that one is in. */
function installationOf(file: string, home: string): string | undefined {
  const folder = path.dirname(file)
  const around = path.dirname(folder)
  if (!spreadOut.test(path.basename(file)) || path.basename(folder) !== 'bin') return undefined
  const isMore = [home, process.cwd()].some((each) => each === around || isWithin(each, around))
  return isMore ? undefined : around
}

/** A path, its symbolic links step by step, and its real path. */
function linksTo(place: string): readonly string[] {
  const found: string[] = []
  for (let at = place; !found.includes(at) && existsSync(at); at = path.resolve(path.dirname(at), readlinkSync(at))) {
    found.push(at)
    if (!lstatSync(at).isSymbolicLink()) return [...new Set([...found, realpathSync(at)])]
  }
  return found
}

/** Of `#!/usr/bin/env -S node --flag`: env, and node as found in PATH. */
function interpretersOf(file: string, searched: string): readonly string[] {
  const [, interpreter, rest = ''] = /^#!\s*(\S+)[ \t]*([^\n]*)/.exec(beginningOf(file)) ?? []
  if (interpreter === undefined || !existsSync(interpreter)) return []
  if (path.basename(interpreter) !== 'env') return [interpreter]
  const name = rest.split(/\s+/).find((word) => word !== '' && !word.startsWith('-') && !word.includes('='))
  const found = name === undefined ? undefined : foundIn(searched, name)
  return found === undefined ? [interpreter] : [interpreter, found]
}

function beginningOf(file: string): string {
  try {
    const fd = openSync(file, 'r')
    try {
      const bytes = Buffer.alloc(256)
      return bytes.toString('latin1', 0, readSync(fd, bytes))
    } finally {
      closeSync(fd)
    }
  } catch {
    return ''
  }
}

function foundIn(searched: string, name: string): string | undefined {
  if (name.includes('/')) return existsSync(name) ? name : undefined
  return searched
    .split(path.delimiter)
    .filter((each) => path.isAbsolute(each))
    .map((each) => path.join(each, name))
    .find((each) => isFile(each))
}

/** The usual places of credentials and the given ones, as far as they are in these folders. */
function coveredIn(folders: readonly string[], hidden: readonly string[]): readonly string[] {
  const kubeconfigs = (process.env['KUBECONFIG'] ?? '').split(path.delimiter).filter((each) => each !== '')
  const places = [
    '/var/run/secrets',
    '/run/secrets',
    path.join(homedir(), '.kube'),
    programsFolder(),
    ...[...kubeconfigs, ...hidden].map((each) => path.resolve(each)),
    ...[process.cwd(), ...folders].map((each) => path.join(each, '.muster')),
  ]
  const within = places.flatMap(linksTo).filter((each) => folders.some((folder) => isWithin(each, folder)))
  return [...new Set(within)]
}

function isWithin(place: string, folder: string): boolean {
  const way = path.relative(folder, place)
  return way !== '' && way.split(path.sep)[0] !== '..'
}

function isFile(place: string): boolean {
  return statOf(place)?.isFile() ?? false
}

function isFolder(place: string): boolean {
  return statOf(place)?.isDirectory() ?? false
}

/** Undefined for anything but a path: an argument may be an inline script, longer than any name. */
export function statOf(place: string): Stats | undefined {
  try {
    return statSync(place, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
