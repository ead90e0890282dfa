/** Finds the file of an external program. */
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import path from 'node:path'
import { unusable } from './module.ts'

/** An absolute path; a name in PATH stays as it is. @throws ModuleUnusable */
export async function programFile(command: string, folder: string): Promise<string> {
  if (!command.includes('/')) return command
  const file = path.resolve(folder, command)
  const found = await stat(file).catch(() => undefined)
  if (!found?.isFile()) throw unusable(`${file}: there is no such file.`)
  const mayRun = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
  if (!mayRun) throw unusable(`${file} may not be executed: chmod +x it.`)
  return file
}
