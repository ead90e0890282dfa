/** A new operator project created by `muster init` in a temporary folder, installed without a registry. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** An empty folder, removed when the test ends. */
export async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-project-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The command line, as started by `bin/muster`. */
export function muster(folder: string, ...words: readonly string[]): Promise<Ended> {
  return node(folder, path.join(root, 'src', 'cli', 'main.ts'), ...words)
}

/** The effect of `npm install`, from the checkout's packages. */
export async function install(project: string): Promise<void> {
  const modules = path.join(project, 'node_modules')
  await mkdir(path.join(modules, '@types'), { recursive: true })
  await mkdir(path.join(modules, '@muster-dev'), { recursive: true })
  await symlink(root, path.join(modules, '@muster-dev', 'muster'))
  await symlink(path.join(root, 'node_modules', '@types', 'node'), path.join(modules, '@types', 'node'))
}

/** The effect of `npm test` in a project: types first, then the tests. */
export async function check(project: string): Promise<Ended> {
  const types = await run(project, path.join(root, 'node_modules', '.bin', 'tsc'))
  return types.code === 0 ? await muster(project, 'node', '--test') : types
}

function node(folder: string, ...words: readonly string[]): Promise<Ended> {
  return run(folder, process.execPath, '--conditions=muster-source', ...words)
}

function run(folder: string, program: string, ...words: readonly string[]): Promise<Ended> {
  // Nested test runs would otherwise report to the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return new Promise((resolve) => {
    execFile(program, words, { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr })
    })
  })
}
