/** One sidecar per state directory: two would manage the same actions. */
import { errorCode } from '../system/error-code.ts'
import { makeFolder } from '../system/folder.ts'
import { lockFolder } from '../system/folder-lock.ts'
import { sidecarErrors } from './errors.ts'
import { isMusterError, MusterError } from '../kube/muster-error.ts'

/**
 * Locks the directory until the returned function is called or the process ends.
 * @throws SidecarStateUnusable
 */
export function lockState(directory: string): () => void {
  try {
    makeFolder(directory, 0o700)
    const lock = lockFolder(directory)
    if (!('holder' in lock)) return () => lock.release()
    throw new MusterError(sidecarErrors.SidecarStateUnusable, `${directory} is used by ${lock.holder}.`)
  } catch (error) {
    if (isMusterError(error, sidecarErrors.SidecarStateUnusable)) throw error
    const why = error instanceof MusterError ? error.message : (errorCode(error) ?? 'unknown error')
    throw new MusterError(sidecarErrors.SidecarStateUnusable, `${directory} cannot be written to (${why}).`)
  }
}
