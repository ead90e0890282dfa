/** Creating folders. */
import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { errorCode } from './error-code.ts'

/**
 * Creates a folder and its parents. One at a time: Node's own way retries forever where no folder can be created, as below `/proc`.
 * @throws the system error
 */
export function makeFolder(place: string, mode = 0o777): void {
  folderMaker(mode)(place)
}

/** The same for many folders: created ones are remembered, and in a new folder nothing is looked up. */
export function folderMaker(mode = 0o777): (place: string) => void {
  /** Whether this process created it. */
  const known = new Map<string, boolean>()
  const isNew = (place: string): boolean => {
    const before = known.get(place)
    if (before !== undefined) return before
    const parent = path.dirname(place)
    // The root exists.
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
    // Another process created it first.
    if (errorCode(error) !== 'EEXIST') throw error
  }
}
