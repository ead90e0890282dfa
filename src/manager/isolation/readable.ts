/**
 * What an isolated operator may read of the file system: its own folder, the packages that it and the kit are made of, and
 * what it is explicitly given. Nothing else, and it may write nowhere.
 */
import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const isSource = import.meta.url.endsWith('.ts')
/** `src` in a checkout, `dist` in an installed package. */
const kit = fileURLToPath(new URL('../..', import.meta.url))

/** Where a guest begins. */
export const guestFile: string = fileURLToPath(new URL(`./guest-main.${isSource ? 'ts' : 'js'}`, import.meta.url))

/** Real paths, none inside another. */
export function readablePaths(file: string, more: readonly string[] = []): readonly string[] {
  const folder = path.dirname(realpathSync(file))
  const wanted = [kit, folder, ...more, ...packagesOf(kit), ...packagesOf(folder)]
  return outermost(wanted.map((each) => realpathSync(each)))
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
