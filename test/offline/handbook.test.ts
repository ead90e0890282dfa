/**
 * Runs docs/operators: every snippet is a file of its page's own folder. One compiler run checks all of them, one process runs
 * the tests among them, and the commands of the pages are run as they stand.
 */
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Ended, install, muster } from '../project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const pages = globSync('docs/operators/*.md', { cwd: root })
  .toSorted()
  .map((file) => pageOf(file, readFileSync(path.join(root, file), 'utf8')))

interface Page {
  readonly name: string
  readonly text: string
  readonly blocks: readonly Block[]
}

interface Block {
  readonly language: string
  /** The file that it is written to: `ts src/kind.ts`. */
  readonly file: string | undefined
  readonly body: string
}

function pageOf(file: string, text: string): Page {
  const blocks = [...text.matchAll(/^```(\w+)(?: (\S+))?\n([^]*?)^```$/gm)]
  return {
    name: path.basename(file, '.md'),
    text,
    blocks: blocks.map(([, language = '', name, body = '']) => ({ language, file: name, body })),
  }
}

/** Commands that need a cluster, a registry or another language. */
const elsewhere =
  /^(?:kubectl|export|npm|node|helm|cd|podman|npx muster (?:run|plan|explain|logs|top|retry|pause|resume)) /

const tsconfig = {
  extends: path.join(root, 'examples', 'tsconfig.json'),
  compilerOptions: { skipLibCheck: true, noEmit: true, allowJs: false },
  include: ['*/**/*.ts'],
  exclude: ['node_modules'],
}

/** Holds each page in a folder of its own. Snippets and commands do not change each other's files. */
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'muster-handbook-'))
  await install(folder)
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }))
  for (const { name, blocks } of pages) {
    for (const { file, body } of blocks) {
      if (file === undefined) continue
      await mkdir(path.dirname(path.join(folder, name, file)), { recursive: true })
      await writeFile(path.join(folder, name, file), body)
    }
  }
})

afterAll(() => rm(folder, { recursive: true, force: true }))

function run(program: string, ...words: readonly string[]): Promise<Ended> {
  // Nested test runs would otherwise report to the outer one.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  return new Promise((resolve) => {
    execFile(program, words, { cwd: folder, env, maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr })
    })
  })
}

describe('the handbook', () => {
  it.each(pages)('$name: every snippet is a whole file', ({ blocks }) => {
    expect(blocks.filter(({ language, file }) => language === 'ts' && file === undefined)).toEqual([])
  })

  it('compiles', { timeout: 120_000 }, async () => {
    const { stdout, code } = await run(path.join(root, 'node_modules', '.bin', 'tsc'))
    expect(stdout).toBe('')
    expect(code).toBe(0)
  })

  it('does what it says: the tests on its pages pass', { timeout: 120_000 }, async () => {
    const tests = globSync('*/**/*.test.ts', { cwd: folder })
    expect(tests.length).toBeGreaterThan(0)
    const flags = ['--conditions=muster-source', '--test', '--test-isolation=none', '--test-reporter=tap']
    const { stdout, stderr, code } = await run(process.execPath, ...flags, ...tests.toSorted())
    expect(code === 0 ? '' : failuresIn(stdout) + stderr).toBe('')
  })

  const commands = pages.flatMap(({ name, blocks }) =>
    blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ body }) => body.trim().split('\n'))
      .filter((line) => !elsewhere.test(line))
      .map((line) => ({ page: name, line })),
  )
  it.each(commands)('$page: $line', { timeout: 120_000 }, async ({ page, line }) => {
    const [program, ...words] = line.replace(/^npx /, '').split(' ')
    expect(program).toBe('muster')
    const { code, stdout, stderr } = await muster(path.join(folder, page), ...words)
    expect(code === 0 ? '' : stdout + stderr).toBe('')
  })
})

/** The lines of a TAP report that say what failed. */
function failuresIn(report: string): string {
  const lines = report.split('\n')
  return lines.filter((line, at) => isTelling(line) && !lines[at - 1]?.startsWith('ok')).join('\n')
}

function isTelling(line: string): boolean {
  return /^\s*(?:not ok|location:|error:|expected:|actual:|\s{4,}[-+|])/.test(line) || /\bat .*\.ts:\d+/.test(line)
}
