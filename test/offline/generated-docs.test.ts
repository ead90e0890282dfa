/** Pages that derive from the code are current: `npm run generate` writes them. Links of all pages lead somewhere. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { apiDoc, apiDocUrl } from '../../scripts/generate-api-doc.ts'
import { cliDoc, cliDocUrl } from '../../scripts/generate-cli-doc.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The formatter aligns tables. */
const words = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{3,}/g, '---')

describe('generated pages', () => {
  it('docs/cli.md has every command and flag (node scripts/generate-cli-doc.ts)', { timeout: 60_000 }, async () => {
    expect(words(readFileSync(cliDocUrl, 'utf8'))).toBe(words(await cliDoc()))
  })

  it('docs/api.md has every export of the package (node scripts/generate-api-doc.ts)', () => {
    // Not as a diff of thousands of lines.
    expect(readFileSync(apiDocUrl, 'utf8') === apiDoc()).toBe(true)
  })

  it('docs/api.md has a declaration for each name that an entry exports', () => {
    const text = readFileSync(apiDocUrl, 'utf8')
    for (const name of ['defineKind', 'openTestEnvironment', 'Client', 'SharedCache', 'operatorMain', 'Deployment']) {
      expect(text).toMatch(new RegExp(`^#### ${name}$|\`${name}\``, 'm'))
    }
  })
})

describe('npm run generate', () => {
  /** They read more than the repository: a running server, or sources of Go. */
  const fromElsewhere = ['generate-columns.ts', 'generate-go-structs.ts', 'generate-openapi.ts']

  it('runs every generator of the repository, and formats what they have written', () => {
    const text = readFileSync(path.join(root, 'scripts/generate.ts'), 'utf8')
    const [, listed = ''] = /const scripts = \[([^\]]*)\]/.exec(text) ?? []
    const run = [...listed.matchAll(/'([\w.-]+)'/g)].map(([, script = '']) => script)
    const generators = globSync('generate-*.ts', { cwd: path.join(root, 'scripts') })
    expect([...fromElsewhere, ...run].toSorted()).toEqual([...generators, 'format.ts'].toSorted())
    expect(run.at(-1)).toBe('format.ts')
  })
})

describe('links', () => {
  const pages = globSync(['docs/*.md', 'docs/operators/*.md', 'README.md'], { cwd: root })
  const readme = readFileSync(path.join(root, 'docs/README.md'), 'utf8')
  const handbook = readFileSync(path.join(root, 'docs/operators/README.md'), 'utf8')

  it.each(pages)('%s: what it links to exists', (page) => {
    const text = readFileSync(path.join(root, page), 'utf8').replaceAll(/^```[^]*?^```$/gm, '')
    const targets = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target)
    const missing = targets.filter(
      (target) => !/^\w+:/.test(target) && !existsSync(path.join(root, path.dirname(page), target)),
    )
    expect(missing).toEqual([])
  })

  it('docs/README.md lists every page, and the handbook each of its own', () => {
    const own = globSync('*.md', { cwd: path.join(root, 'docs') }).filter((name) => name !== 'README.md')
    expect(own.filter((name) => !readme.includes(`(${name})`))).toEqual([])
    const tasks = globSync('*.md', { cwd: path.join(root, 'docs/operators') }).filter((name) => name !== 'README.md')
    expect(tasks.filter((name) => !handbook.includes(`(${name})`))).toEqual([])
  })

  it.each(globSync('docs/operators/*.md', { cwd: root }))('%s: every test that it names exists', (page) => {
    const text = readFileSync(path.join(root, page), 'utf8')
    const named = [...text.matchAll(/`((?:src|test|examples)\/[\w./-]+)`/g)].map(([, file = '']) => file)
    expect(named.filter((file) => !existsSync(path.join(root, file)))).toEqual([])
  })
})
