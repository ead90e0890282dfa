/** Which changes of files are a reason to run tests again. */
import path from 'node:path'

/** What a round writes itself is none, nor what tools keep for themselves. */
export function isWatched(place: string, written: readonly string[]): boolean {
  const isOurs = written.some((each) => isWithin(place, path.resolve(each)))
  return !isOurs && !place.split(path.sep).some((part) => foreign.has(part))
}

const foreign: ReadonlySet<string> = new Set(['node_modules', '.git', 'dist'])

function isWithin(place: string, folder: string): boolean {
  return place === folder || place.startsWith(folder + path.sep)
}
