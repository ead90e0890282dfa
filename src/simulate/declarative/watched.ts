/** Which file changes rerun the tests. */
import path from 'node:path'

/** Files that the tests write, and tools' own files, do not count. */
export function isWatched(place: string, written: readonly string[]): boolean {
  const isOurs = written.some((each) => isWithin(place, path.resolve(each)))
  return !isOurs && !place.split(path.sep).some((part) => foreign.has(part))
}

const foreign: ReadonlySet<string> = new Set(['node_modules', '.git', 'dist'])

function isWithin(place: string, folder: string): boolean {
  return place === folder || place.startsWith(folder + path.sep)
}
