import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { errorsDoc, errorsDocUrl } from '../../scripts/generate-errors-doc.ts'
import type { ErrorTable } from '../kube/muster-error.ts'
import { errorTable } from './error-table.ts'

const root = path.resolve(import.meta.dirname, '../..')
const listed = (pattern: string): readonly string[] =>
  globSync(pattern, { cwd: root, exclude: ['**/*.test.ts'] }).map((file) => file.split(path.sep).join('/'))
const textOf = (file: string): string => readFileSync(path.join(root, file), 'utf8')

/** The files that define errors. */
const tableFiles = listed('src/**/*errors.ts').filter((file) => textOf(file).includes('= defineErrors('))

async function tableOf(file: string): Promise<ErrorTable> {
  const module = (await import(path.join(root, file))) as Readonly<Record<string, ErrorTable>>
  expect(Object.keys(module)).toHaveLength(1)
  return Object.values(module)[0]!
}

describe('the error table', () => {
  it('has one code and one name for each error', () => {
    for (const key of ['code', 'name'] as const) {
      expect(new Set(errorTable.map((error) => error[key])).size).toBe(errorTable.length)
    }
    for (const { code } of errorTable) expect(code).toMatch(/^MUS[12]\d{3}$/)
  })

  it('states in sentences what happened and what to do', () => {
    for (const { name, meaning, cure } of errorTable) {
      for (const sentence of [meaning, cure])
        expect([name, sentence]).toEqual([name, expect.stringMatching(/^[A-Z].*\.$/)])
    }
  })

  it('joins the tables of all layers', async () => {
    const defined = (await Promise.all(tableFiles.map(tableOf))).flatMap((table) => Object.values(table))
    expect(defined.toSorted((one, other) => one.code.localeCompare(other.code))).toEqual(errorTable)
  })

  it('equals docs/errors.md: the same codes, names, classes and cures (node scripts/generate-errors-doc.ts)', () => {
    const text = readFileSync(errorsDocUrl, 'utf8')
    const section = /^## (MUS\d+)\n\n\*\*(\w+)\*\* \((\w+)\)\. (.+)\n\nCure: (.+)$/gm
    const documented = [...text.matchAll(section)].map((match) => match.slice(1))
    expect(documented).toEqual(
      errorTable.map(({ code, name, retry, meaning, cure }) => [code, name, retry, meaning, cure]),
    )
    expect(text).toBe(errorsDoc())
  })
})

/** Raised outside the layer that defines it. */
const elsewhere: Readonly<Record<string, string>> = {
  // Both ends of a connection: neither the client nor the server imports the other.
  ConnectionLost: 'src/{apiserver,client}',
  // Programs that the suites of a checkout need.
  BinaryMissing: 'scripts',
}

describe('an error', () => {
  it('is raised by the layer that defines it', async () => {
    const words = new Map<string, ReadonlySet<string>>()
    const wordsOf = (place: string): ReadonlySet<string> => {
      const files = listed(`${place}/**/*.ts`).filter((file) => !tableFiles.includes(file))
      return new Set(files.flatMap((file) => textOf(file).match(/\b[A-Z]\w+/g) ?? []))
    }
    const unused: string[] = []
    for (const file of tableFiles) {
      const layer = file.split('/').slice(0, 2).join('/')
      for (const name of Object.keys(await tableOf(file))) {
        const place = elsewhere[name] ?? layer
        if (!words.has(place)) words.set(place, wordsOf(place))
        if (!words.get(place)!.has(name)) unused.push(`${file}: ${name}`)
      }
    }
    expect(unused).toEqual([])
  })
})
