/** A new operator project as `muster init` makes it, in a folder of its own, installed without a registry. */
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

/** An empty folder, until the test ends. */
export async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'muster-project-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The command line, as `bin/muster` starts it. */
export function muster(folder: string, ...words: readonly string[]): Promise<Ended> {
  return node(folder, path.join(root, 'src', 'cli', 'main.ts'), ...words)
}

/** What `npm install` does, from what the checkout has. */
export async function install(project: string): Promise<void> {
  const modules = path.join(project, 'node_modules')
  await mkdir(path.join(modules, '@types'), { recursive: true })
  await mkdir(path.join(modules, '@muster-dev'), { recursive: true })
  await symlink(root, path.join(modules, '@muster-dev', 'muster'))
  await symlink(path.join(root, 'node_modules', '@types', 'node'), path.join(modules, '@types', 'node'))
}

/** What `npm test` does in a project: types first, then the tests. */
export async function check(project: string): Promise<Ended> {
  const types = await run(project, path.join(root, 'node_modules', '.bin', 'tsc'))
  return types.code === 0 ? await muster(project, 'node', '--test') : types
}

function node(folder: string, ...words: readonly string[]): Promise<Ended> {
  return run(folder, process.execPath, '--conditions=muster-source', ...words)
}

function run(folder: string, program: string, ...words: readonly string[]): Promise<Ended> {
  // Tests of a project that run within tests would else report to the wrong one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return new Promise((resolve) => {
    execFile(program, words, { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr })
    })
  })
}
