/** Making folders, whoever asks for them. */
import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { errorCode } from './error-code.ts'

/**
 * With all above it. One at a time: Node's own way tries for ever where none can be made, as below `/proc`.
 * @throws the error of the system
 */
export function makeFolder(place: string, mode = 0o777): void {
  folderMaker(mode)(place)
}

/** The same for many: what has been made is known, and in a folder that is new nothing is looked for. */
export function folderMaker(mode = 0o777): (place: string) => void {
  /** Whether we made it. */
  const known = new Map<string, boolean>()
  const isNew = (place: string): boolean => {
    const before = known.get(place)
    if (before !== undefined) return before
    const parent = path.dirname(place)
    // The end of all folders is there.
    const isThere = parent === place || (!known.get(parent) && existsSync(place))
    if (!isThere) {
      isNew(parent)
      makeOne(place, mode)
    }
    known.set(place, !isThere)
    return !isThere
  }
  return (place) => void isNew(place)
}

function makeOne(place: string, mode: number): void {
  try {
    mkdirSync(place, { mode })
  } catch (error) {
    // Somebody was faster.
    if (errorCode(error) !== 'EEXIST') throw error
  }
}
