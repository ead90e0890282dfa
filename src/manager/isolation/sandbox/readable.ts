/**
 * The files that an isolated operator may read: its own folder, and the packages of it and of the kit. Nothing else, and
 * it cannot write.
 *
 * These folders may contain files of the manager, such as `.muster/kubeconfig` in a project with an operator at its
 * top. Node's permission model has no exceptions, so a folder with such a file is allowed entry by entry.
 */
import { existsSync, readdirSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const isSource = import.meta.url.endsWith('.ts')
/** `src` in a checkout, `dist` in an installed package. */
const kit = fileURLToPath(new URL('../../..', import.meta.url))

/** The entry point of a guest. */
export const guestFile: string = fileURLToPath(
  new URL(`../guest/guest-main.${isSource ? 'ts' : 'js'}`, import.meta.url),
)

/**
 * Real paths, none inside another; without `secrets`, wherever they are. Files that are created later in a folder with
 * secrets are not included.
 */
export function readablePaths(file: string, secrets: readonly string[]): readonly string[] {
  const module = realpathSync(file)
  const folder = path.dirname(module)
  const wanted = [kit, folder, ...packagesOf(kit), ...packagesOf(folder)]
  // An operator inside of a secret folder could not be loaded: it can read its own folder only.
  const hidden = secrets.flatMap(spellings).filter((secret) => !isIn(module, secret))
  return outermost(wanted.map((each) => realpathSync(each))).flatMap((each) => without(each, hidden))
}

/** The given path and its real path: a link to it would be followed. */
function spellings(place: string): readonly string[] {
  try {
    return [place, realpathSync(place)]
  } catch {
    // It may be created later: its folder may be a link already.
    const folder = path.dirname(place)
    return folder === place ? [place] : spellings(folder).map((each) => path.join(each, path.basename(place)))
  }
}

function isIn(place: string, folder: string): boolean {
  return place === folder || place.startsWith(path.join(folder, path.sep))
}

/** The path itself, or, if it contains secrets, its other entries. */
function without(place: string, hidden: readonly string[]): readonly string[] {
  if (hidden.some((secret) => isIn(place, secret))) return []
  const inside = hidden.filter((secret) => isIn(secret, place))
  if (inside.length === 0) return [place]
  // A star at the end of a name would allow every name with that prefix.
  const entries = readdirSync(place, { withFileTypes: true }).filter(({ name }) => !name.includes('*'))
  return entries.flatMap((entry) => {
    const each = path.join(place, entry.name)
    if (entry.isSymbolicLink()) return leadsTo(each, hidden) ? [] : [each]
    return without(each, inside)
  })
}

/** Whether it is a link to a secret, or to a folder that contains one. */
function leadsTo(link: string, hidden: readonly string[]): boolean {
  try {
    const to = realpathSync(link)
    return hidden.some((secret) => isIn(to, secret) || isIn(secret, to))
  } catch {
    return false
  }
}

/** Without paths that are inside of another one. */
export function outermost(paths: readonly string[]): readonly string[] {
  const all = [...new Set(paths)].toSorted()
  return all.filter((each) => !all.some((other) => other !== each && each.startsWith(path.join(other, path.sep))))
}

/**
 * The files and folders that Node reads to find a package from there: each `package.json` and `node_modules` on the way
 * up.
 */
export function packagesOf(from: string): readonly string[] {
  const found: string[] = []
  for (let at = from; ; at = path.dirname(at)) {
    found.push(...[path.join(at, 'package.json'), path.join(at, 'node_modules')].filter((each) => existsSync(each)))
    if (path.dirname(at) === at) return found
  }
}

/** Node's command-line flags: the same for a worker and a process. */
export function permissionFlags(readable: readonly string[]): readonly string[] {
  return [
    '--permission',
    ...readable.map((each) => `--allow-fs-read=${each}`),
    // SQLite opens files without asking the permission model.
    ...(process.allowedNodeEnvironmentFlags.has('--experimental-sqlite') ? ['--no-experimental-sqlite'] : []),
    ...(isSource ? ['--conditions=muster-source'] : []),
  ]
}
