/** Making folders. */
import { existsSync, mkdirSync } from 'node:fs'
import path from 'node:path'

/**
 * With all above it. One at a time: Node's own way tries for ever where none can be made, as below `/proc`.
 * @throws the error of the system
 */
export function makeFolder(place: string, mode = 0o777): void {
  if (existsSync(place)) return
  makeFolder(path.dirname(place), mode)
  mkdirSync(place, { mode })
}
