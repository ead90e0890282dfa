import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it } from 'vitest'
import { emptyFolder } from '../../../test/project.ts'
import { virtualClock } from '../../clock/virtual-clock.ts'
import { defineController } from '../../operator/controller.ts'
import { defineConfig } from '../../operator/config.ts'
import { integer } from '../../operator/kind/field.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { readConfiguration } from '../config/configuration.ts'
import type { OperatorSettings } from '../config/operator-settings.ts'
import { openConfiguration } from '../config/open-configuration.ts'
import { flagLayer } from '../config/override.ts'
import type { Settings } from '../config/settings.ts'
import { createLoader, type GivenOperator, type LoaderOptions } from './loader.ts'

let folder = ''
beforeEach(async () => {
  folder = await emptyFolder()
})

/** A module that looks as if it were made with the kit. */
const source = (name: string): string => `{ name: '${name}', controllers: [], inputs: [], outputs: [], kinds: [] }`

async function file(name: string, text: string): Promise<void> {
  const place = path.join(folder, name)
  await mkdir(path.dirname(place), { recursive: true })
  await writeFile(place, text)
}

async function npm(name: string, manifest: object, files: Readonly<Record<string, string>>): Promise<void> {
  await file(
    `node_modules/${name}/package.json`,
    JSON.stringify({ name, version: '1.0.0', type: 'module', ...manifest }),
  )
  for (const [part, text] of Object.entries(files)) await file(`node_modules/${name}/${part}`, text)
}

const settingsOf = (...flags: readonly string[]): Settings => readConfiguration([flagLayer(flags)]).settings
const sectionOf = (name: string, ...flags: readonly string[]): OperatorSettings =>
  settingsOf(`operators.${name}.enabled=true`, ...flags.map((flag) => `operators.${name}.${flag}`)).operators[name]!

const own = defineOperator({
  name: 'own',
  controllers: [defineController({ for: ConfigMap })],
  config: defineConfig({ size: integer({ minimum: 1, default: 3 }) }),
})
const given = (operator: Operator, options: Partial<GivenOperator> = {}): GivenOperator => ({
  name: operator.name,
  load: () => Promise.resolve(operator),
  ...options,
})

const loaderIn = (options: LoaderOptions = {}): ReturnType<typeof createLoader> => createLoader({ folder, ...options })

describe('an operator', () => {
  it('that is built in needs no settings', async () => {
    const loader = loaderIn({ given: [given(own), given({ ...own, name: 'extra' }, { isOptional: true })] })
    expect((await loader.load('own', sectionOf('own'))).operator).toBe(own)
    // An optional operator runs only when the settings enable it.
    expect((await loader.declared(settingsOf())).map(({ name }) => name)).toEqual(['own'])
    const both = await loader.declared(settingsOf('operators.extra.enabled=true', 'operators.own.enabled=true'))
    expect(both.map(({ name }) => name)).toEqual(['extra', 'own'])
    expect(await loader.declared(settingsOf('operators.own.enabled=false'))).toEqual([])
  })

  it('is loaded from a file relative to the configuration', async () => {
    await file('ops/a.mjs', `export const operator = ${source('a')}; export const b = ${source('b')}`)
    const loader = loaderIn()
    expect((await loader.load('a', sectionOf('a', 'from=./ops/a.mjs'))).operator.name).toBe('a')
    expect((await loader.load('b', sectionOf('b', `from=${folder}/ops/a.mjs#b`))).operator.name).toBe('b')
  })

  it('is reloaded when its source changes', async () => {
    await file('one.mjs', `export const operator = { ...${source('a')}, version: 1 }`)
    await file('two.mjs', `export const operator = { ...${source('a')}, version: 2 }`)
    const loader = loaderIn()
    const versionFrom = async (from: string): Promise<unknown> =>
      ((await loader.load('a', sectionOf('a', `from=${from}`))).operator as unknown as { version: number }).version
    expect([await versionFrom('./one.mjs'), await versionFrom('./two.mjs')]).toEqual([1, 2])
  })

  it.each([
    ['main', 'plain', { main: './index.js' }, 'plain'],
    ['exports without conditions', 'open', { exports: './index.js' }, 'open'],
    ['exports with import only', '@acme/modern', { exports: { '.': { import: './index.js' } } }, '@acme/modern'],
    ['a sub-path', 'parts', { exports: { './ops': { node: { import: './index.js' } } } }, 'parts/ops'],
  ])('is loaded from an npm package by its %s', async (_, name, manifest, specifier) => {
    await npm(name, manifest, { 'index.js': `export const cached = ${source('cached')}` })
    const loaded = await loaderIn().load('cached', sectionOf('cached', `from=${specifier}#cached`))
    expect(loaded.operator.name).toBe('cached')
  })

  it('runs isolated where configured, and is not loaded here', async () => {
    const from = fileURLToPath(new URL('../isolation/misbehaving-guest/operator.ts', import.meta.url))
    const loader = loaderIn()
    const settings = settingsOf(`operators.misbehaving.from=${from}`, 'operators.misbehaving.isolation=worker')
    const [declared] = await loader.declared(settings)
    expect(declared?.name).toBe('misbehaving')
    const { operator, run, close } = await loader.load('misbehaving', settings.operators['misbehaving']!)
    // The very guest that was looked at.
    expect(operator).toBe(declared)
    expect(run).toBeDefined()
    await close?.()
    await loader.close()
  })

  it('releases a guest that was only started for its declaration', async () => {
    const from = fileURLToPath(new URL('../isolation/misbehaving-guest/operator.ts', import.meta.url))
    const clock = virtualClock()
    const loader = loaderIn({ clock })
    const settings = settingsOf(`operators.misbehaving.from=${from}`, 'operators.misbehaving.isolation=worker')
    const [declared] = await loader.declared(settings)
    await clock.advance(60_000)
    // What it declares is known all the same.
    expect(await loader.declared(settings)).toEqual([declared])
    const { operator, close } = await loader.load('misbehaving', settings.operators['misbehaving']!)
    expect(operator.name).toBe('misbehaving')
    expect(operator).not.toBe(declared)
    await close?.()
    await loader.close()
  })
})

describe('an operator that cannot be loaded', () => {
  const problemOf = async (...flags: readonly string[]): Promise<string> => {
    try {
      await loaderIn({ given: [given(own)] }).load('a', sectionOf('a', ...flags))
      return 'loaded'
    } catch (error) {
      return (error as Error).message.replaceAll(folder, '')
    }
  }

  it('is reported with its setting and the cure', async () => {
    await file('throws.mjs', `\nthrow new Error('no licence')`)
    await file('empty.mjs', 'export const number = 1')
    await file('other.mjs', `export const operator = ${source('other')}`)
    await file('ops.js', '')
    await npm('closed', { exports: { './ops': './index.js' } }, { 'index.js': '' })
    expect(await problemOf('from=./throws.mjs')).toContain(
      'operators.a.from: /throws.mjs cannot be loaded: Error: no licence',
    )
    expect(await problemOf('from=./empty.mjs')).toContain('operators.a.from: /empty.mjs exports no operator')
    expect(await problemOf('from=./emty.mjs')).toContain('there is no such file. Did you mean "/empty.mjs"?')
    expect(await problemOf('from=./other.mjs')).toContain('the operator there is called "other"')
    expect(await problemOf('from=@acme/missing/ops')).toContain('npm install @acme/missing')
    expect(await problemOf('from=ops.js')).toContain('For the file, write ./ops.js.')
    expect(await problemOf('from=closed')).toContain('The package closed has no "." to import')
    expect(await problemOf()).toContain('operators.a: unknown operator; there are own. Set from')
  })

  it('does not block the loader for ever', async () => {
    await file('hangs.mjs', `await new Promise(() => {}); export const operator = ${source('a')}`)
    const clock = virtualClock()
    const loader = loaderIn({ clock })
    const loading = loader.load('a', sectionOf('a', 'from=./hangs.mjs')).catch((error: Error) => error.message)
    let problem: string | undefined
    void loading.then((message) => (problem = message as string))
    await clock.until(() => problem !== undefined, 10_000)
    expect(problem).toMatch(/^operators\.a\.from: .*hangs\.mjs is not loaded after 10 s: something at its top level/)
    // Not a second time.
    const again = loader.load('a', sectionOf('a', 'from=./hangs.mjs')).catch((error: Error) => error.message)
    await clock.settle()
    await clock.advance(0)
    expect(await again).toBe(problem)
  })

  it('is retried when it was fixed', async () => {
    await file('a.mjs', `throw new Error('not yet')`)
    const loader = loaderIn()
    const section = sectionOf('a', 'from=./a.mjs')
    await expect(loader.load('a', section)).rejects.toThrow('not yet')
    await file('a.mjs', `export const operator = ${source('a')}`)
    expect((await loader.load('a', section)).operator.name).toBe('a')
  })

  it('does not affect the others, and is reported once', async () => {
    await file('good.mjs', `export const operator = ${source('good')}`)
    await file('bad.mjs', `throw new Error('no')`)
    const problems: string[] = []
    const loader = loaderIn({ given: [given(own)], onProblem: (name) => void problems.push(name) })
    const configuration = await openConfiguration({
      flags: ['operators.good.from=./good.mjs', 'operators.bad.from=./bad.mjs', 'operators.own.config.size=7'],
      operators: (settings) => loader.declared(settings),
    })
    expect(problems).toEqual(['bad'])
    expect(configuration.current.settings.operators['own']!.config).toEqual({ size: 7 })
    await configuration.close()
  })
})
