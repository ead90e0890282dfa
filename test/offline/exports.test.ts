import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseSync } from 'rolldown/utils'
import { describe, expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '../..')
/** Generated, one module a group and version, as Kubernetes has them: `v1` and `v1beta1` share their names. */
const generated = /^src\/kube\/types\//
const declaration =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type|enum) ([\w$]+)/gm

/** What a file exports by its own declarations. A value and a type of one name are one export. */
function exportsOf(file: string): ReadonlySet<string> {
  // Code that the command line writes for authors stands in template literals.
  const text = readFileSync(path.join(root, file), 'utf8').replaceAll(/`[^`]*`/g, '``')
  return new Set([...text.matchAll(declaration)].map(([, name]) => name!))
}

/** A file without its comments: a name in a comment is no use. */
function codeOf(file: string): string {
  const text = readFileSync(path.join(root, file), 'utf8')
  let [code, from] = ['', 0]
  for (const { start, end } of parseSync(file, text).comments) {
    code += `${text.slice(from, start)} `
    from = end
  }
  return code + text.slice(from)
}

/** Source files without the public surface, tests, and operators that misbehave for tests. */
function sources(): readonly string[] {
  return globSync('src/**/*.ts', {
    cwd: root,
    exclude: ['src/**/*.test.ts', 'src/**/index.ts', 'src/**/misbehaving-guest/*'],
  })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => !generated.test(file))
}

describe('an exported name', () => {
  it('is exported by one file', () => {
    const owners = new Map<string, string[]>()
    for (const file of sources()) {
      for (const name of exportsOf(file)) owners.set(name, [...(owners.get(name) ?? []), file])
    }
    expect(owners.size).toBeGreaterThan(3000)
    expect([...owners].filter(([, all]) => all.length > 1)).toEqual([])
  })

  it('is used by another file', () => {
    const places = '{src,test,bench,scripts,examples,web}/**/*.{ts,mjs,cjs}'
    const users = new Map<string, Set<string>>()
    for (const file of globSync(places, { cwd: root, exclude: ['**/node_modules/**'] })) {
      const words = codeOf(file).match(/[A-Za-z_$][\w$]*/g) ?? []
      for (const word of words) users.set(word, (users.get(word) ?? new Set()).add(file))
    }
    const unused = sources().flatMap((file) =>
      [...exportsOf(file)].filter((name) => [...users.get(name)!].every((user) => user === file)),
    )
    expect(unused).toEqual([])
  })
})

describe('an entry point of the package', () => {
  it('has a type test', () => {
    const { name, exports } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      readonly name: string
      readonly exports: Readonly<Record<string, unknown>>
    }
    const tests = globSync('test/types/*.ts', { cwd: root }).map((file) => readFileSync(path.join(root, file), 'utf8'))
    const imported = (entry: string): boolean => {
      const module = path.posix.join(name, entry).replace('*', '')
      const isOpen = entry.endsWith('*')
      return tests.some((text) => text.includes(isOpen ? `from '${module}` : `from '${module}'`))
    }
    const entries = Object.keys(exports).filter((entry) => entry !== './package.json')
    expect(entries.filter((entry) => !imported(entry))).toEqual([])
  })
})

describe('the published package', () => {
  it('has no declarations of files that only tests use', () => {
    const { exclude } = JSON.parse(readFileSync(path.join(root, 'tsconfig.build.json'), 'utf8')) as {
      readonly exclude: readonly string[]
    }
    const excluded = (file: string): boolean => exclude.some((pattern) => path.matchesGlob(file, `${pattern}{,/**}`))
    const shipped = globSync('src/**/*.ts', { cwd: root })
      .map((file) => file.split(path.sep).join('/'))
      .filter((file) => !excluded(file) && !generated.test(file))
    // Imports, files that are started as threads and processes, entry points of the package and of the build.
    const users = [...shipped, 'scripts/build.ts', 'package.json']
    const named = new Set(
      users.flatMap((file) =>
        [...readFileSync(path.join(root, file), 'utf8').matchAll(/[\w-]+(?=\.ts'|\.ts"|\.\$\{|')/g)].map(
          ([name]) => name,
        ),
      ),
    )
    expect(shipped.filter((file) => !named.has(path.basename(file, '.ts')))).toEqual([])
  })
})
