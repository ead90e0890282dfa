/** One sidecar a state directory: two would both answer for the same actions. */
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { makeFolder } from '../client/folder.ts'
import { MusterError } from '../kube/errors.ts'
import { claimDurably, readObject } from './durable-file.ts'
import { isAlive, ownIdentity, readIdentity } from './process-identity.ts'

/**
 * Makes the directory this process's own, until the returned function is called. What a killed process left is taken over.
 * @throws SidecarStateUnusable
 */
export async function lockState(directory: string): Promise<() => Promise<void>> {
  const file = path.join(directory, 'lock.json')
  try {
    makeFolder(directory, 0o700)
    for (let tries = 1; !(await claimDurably(file, JSON.stringify(await ownIdentity()))); tries++) {
      const holder = readIdentity(await readObject(file))
      if (tries === 3 || (holder && (await isAlive(holder))))
        throw new MusterError('SidecarStateUnusable', `${directory} is used by process ${holder?.pid ?? 'unknown'}.`)
      await rm(file, { force: true })
    }
  } catch (error) {
    if (error instanceof MusterError) throw error
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new MusterError('SidecarStateUnusable', `${directory} cannot be written to (${code}).`)
  }
  return async () => await rm(file, { force: true })
}
