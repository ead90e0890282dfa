import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '../..')
const read = (name: string): string => readFileSync(path.join(root, name), 'utf8')

/** Of a project that `muster init` makes. */
const ofProjects = new Set(['src/operator.ts'])

/** Paths from the root of the repository, in prose, tables and diagrams alike, and relative links. */
function pathsIn(document: string): readonly string[] {
  const text = read(document)
  const named = text.matchAll(/(?<![\w./-])(?:src|test|docs|scripts|examples|bench|web|bin|runtime)\/[\w./-]*\w\/?/g)
  const linked = text.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)
  const folder = path.posix.dirname(document)
  return [...[...named].map(([name]) => name), ...[...linked].map(([, to]) => path.posix.join(folder, to!))].filter(
    (name) => !ofProjects.has(name),
  )
}

describe.each(['README.md', 'CONTRIBUTING.md', 'docs/architecture.md', 'docs/glossary.md'])('%s', (document) => {
  it('names only files and folders that exist', () => {
    const paths = pathsIn(document)
    expect(paths.length).toBeGreaterThan(10)
    expect(paths.filter((name) => !existsSync(path.join(root, name)))).toEqual([])
  })
})

describe.each(['docs/architecture.md', 'docs/glossary.md'])('%s', (document) => {
  it('names every source file by its path', () => {
    const bare = read(document).matchAll(/(?<![\w./*-])[\w-]+\.ts\b/g)
    expect([...bare].map(([name]) => name)).toEqual([])
  })
})

describe('the diagram of the layers', () => {
  const rule = read('scripts/check-layers.ts')
  const [, diagram = ''] = /^## Layers\n.*?```text\n(.*?)```/ms.exec(read('docs/architecture.md')) ?? []
  const namesIn = (list: string): readonly string[] => [...list.matchAll(/'([\w-]+)'/g)].map(([, name]) => name!)

  it('lists the layers of the import rule, the highest first', () => {
    const [, list = ''] = /const layers: Layers = \[(.*?)\]/s.exec(rule) ?? []
    const drawn = [...diagram.matchAll(/^src\/([\w-]+)/gm)].map(([, name]) => name)
    expect(drawn).toEqual(namesIn(list).toReversed())
  })

  it('lists the sub-packages of the import rule, the lowest first', () => {
    const [, block = ''] = /const subPackages[^=]*= \{(.*?)\n\}/s.exec(rule) ?? []
    const ruled = [...block.matchAll(/^ {2}(\w+): \[(.*?)\]/gms)].map(([, name, list]) => [name, namesIn(list!)])
    const drawn = [...diagram.matchAll(/^src\/(\w+)[^\n]*\n((?: {20}[^\n]*\n)+)/gm)].map(([, name, list]) => [
      name,
      list!.split(/[\s·]+/).filter(Boolean),
    ])
    expect(ruled.length).toBeGreaterThan(0)
    expect(Object.fromEntries(drawn)).toEqual(Object.fromEntries(ruled))
  })
})

describe('the path of an event', () => {
  it('has no cast by way of unknown: objects and JSON are converted in src/kube/json-object.ts', () => {
    const folders = '{client,cache,operator/{view,reconcile,dependent},manager/{inputs,run,schedule,gates}}'
    const files = globSync(`src/${folders}/**/*.ts`, { cwd: root, exclude: ['**/*.test.ts'] })
    expect(files.length).toBeGreaterThan(100)
    expect(files.filter((file) => /as unknown as/.test(read(file)))).toEqual([])
  })
})

/** The files that are loaded with a module: itself, its imports and theirs, without those that `import()` loads later. */
function loadedWith(file: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(file)) return loaded
  loaded.add(file)
  const imports = read(file).matchAll(/^(?:import|export|\}) (?!type\b)[^'\n]*?'(\.{1,2}\/[^']+)'/gm)
  for (const [, target] of imports) loadedWith(path.posix.join(path.posix.dirname(file), target!), loaded)
  return loaded
}

describe.each(['kube', 'client', 'cache', 'sidecar', 'operator', 'manager'])('the entry point %s', (name) => {
  it('does not load the embedded API server', () => {
    const loaded = [...loadedWith(`src/${name}/index.ts`)]
    expect(loaded.length).toBeGreaterThan(10)
    expect(loaded.filter((file) => file.startsWith('src/apiserver/'))).toEqual([])
  })
})
