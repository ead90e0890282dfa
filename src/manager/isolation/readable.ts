/**
 * What an isolated operator may read of the file system: its own folder, the packages that it and the kit are made of, and
 * what it is explicitly given. Nothing else, and it may write nowhere.
 *
 * Files of the manager may lie in these folders: `.muster/kubeconfig` does, in a project whose operator is at its top. Node's
 * permission model allows and cannot except, so a folder that holds such a file is allowed entry by entry.
 */
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const isSource = import.meta.url.endsWith('.ts')
/** `src` in a checkout, `dist` in an installed package. */
const kit = fileURLToPath(new URL('../..', import.meta.url))

/** Where a guest begins. */
export const guestFile: string = fileURLToPath(new URL(`./guest-main.${isSource ? 'ts' : 'js'}`, import.meta.url))

export interface ReadableOptions {
  /** Beside its folder and its packages. @default none */
  readonly more?: readonly string[]
  /** Files and folders that it must not read, wherever they are. @default none */
  readonly secrets?: readonly string[]
}

/** Real paths, none inside another. What is made in a folder with secrets later on is not among them. */
export function readablePaths(file: string, { more = [], secrets = [] }: ReadableOptions = {}): readonly string[] {
  const module = realpathSync(file)
  const folder = path.dirname(module)
  const wanted = [kit, folder, ...more, ...packagesOf(kit), ...packagesOf(folder)]
  // An operator that lies in such a folder itself could not be loaded: there, only its own folder is left to it.
  const hidden = secrets.flatMap(spellings).filter((secret) => !isIn(module, secret))
  return outermost(wanted.map((each) => realpathSync(each))).flatMap((each) => without(each, hidden))
}

/** As it is named, and where it really is: a link would be followed, whatever it is called. */
function spellings(place: string): readonly string[] {
  try {
    return [place, realpathSync(place)]
  } catch {
    // It may be made later: its folder may be a link already.
    const folder = path.dirname(place)
    return folder === place ? [place] : spellings(folder).map((each) => path.join(each, path.basename(place)))
  }
}

function isIn(place: string, folder: string): boolean {
  return place === folder || place.startsWith(path.join(folder, path.sep))
}

/** The place, or, where secrets are in it, what else is. */
function without(place: string, hidden: readonly string[]): readonly string[] {
  if (hidden.some((secret) => isIn(place, secret))) return []
  const inside = hidden.filter((secret) => isIn(secret, place))
  if (inside.length === 0) return [place]
  // A star at the end of a name would allow every name that begins so.
  const entries = readdirSync(place, { withFileTypes: true }).filter(({ name }) => !name.includes('*'))
  return entries.flatMap((entry) => {
    const each = path.join(place, entry.name)
    if (entry.isSymbolicLink()) return leadsTo(each, hidden) ? [] : [each]
    return without(each, inside)
  })
}

/** Whether it is a link to a secret, or to a folder with one. */
function leadsTo(link: string, hidden: readonly string[]): boolean {
  try {
    const to = realpathSync(link)
    return hidden.some((secret) => isIn(to, secret) || isIn(secret, to))
  } catch {
    return false
  }
}

/** Those that are in none of the others. */
export function outermost(paths: readonly string[]): readonly string[] {
  const all = [...new Set(paths)].toSorted()
  return all.filter((each) => !all.some((other) => other !== each && each.startsWith(path.join(other, path.sep))))
}

/** What Node looks at to find a package from there: on the way up, each `package.json` and each `node_modules`. */
export function packagesOf(from: string): readonly string[] {
  const found: string[] = []
  for (let at = from; ; at = path.dirname(at)) {
    found.push(...[path.join(at, 'package.json'), path.join(at, 'node_modules')].filter((each) => existsSync(each)))
    if (path.dirname(at) === at) return found
  }
}

/** How Node is told: the same for a worker and a process. */
export function permissionFlags(readable: readonly string[]): readonly string[] {
  return [
    '--permission',
    ...readable.map((each) => `--allow-fs-read=${each}`),
    // SQLite opens files without asking the permission model.
    ...(process.allowedNodeEnvironmentFlags.has('--experimental-sqlite') ? ['--no-experimental-sqlite'] : []),
    ...(isSource ? ['--conditions=muster-source'] : []),
  ]
}
