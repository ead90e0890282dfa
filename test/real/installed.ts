/** The package as a user has it: packed, and installed in a folder without a checkout. Needs npm's registry. */
import { execFile } from 'node:child_process'
import { mkdir, readdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** Installs it below the folder; returns the path of the command. */
export async function installPackage(folder: string): Promise<string> {
  await run('npm', ['pack', '--pack-destination', folder, '--loglevel=error'], { cwd: root })
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? ''
  const tool = path.join(folder, 'tool')
  await mkdir(tool)
  const quietly = ['--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['install', ...quietly, '--prefix', '.', path.join(folder, tarball)], { cwd: tool })
  return path.join(tool, 'node_modules', '.bin', 'muster')
}
