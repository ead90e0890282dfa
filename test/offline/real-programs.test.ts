/** Which programs are there before the first test of `npm run test:real`, and that no suite builds one itself. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readyVariable, realKubectl } from '../../scripts/real-binaries.ts'
import { containersUnusable, realContainers } from '../../scripts/real-containers.ts'
import { prepareRealPrograms, type RealProgram, realPrograms } from '../../scripts/real-programs.ts'
import { realRedis } from '../../scripts/real-redis.ts'
import { emptyFolder } from '../project.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Every file that a suite imports, itself included. */
function importedBy(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found
  found.add(file)
  const text = readFileSync(path.join(root, file), 'utf8')
  for (const [, from = ''] of text.matchAll(/(?:from|import\() ?'(\.[^']+\.ts)'/g)) {
    const next = path.join(path.dirname(file), from)
    // Some are written by a test.
    if (!next.startsWith('src') && existsSync(path.join(root, next))) importedBy(next, found)
  }
  return found
}

describe('the programs of real suites', () => {
  it('are declared for every suite that imports their sources', () => {
    const sources: Readonly<Record<string, string>> = {
      kubectl: 'realKubectl',
      helm: 'realHelm',
      kustomize: 'realKustomize',
      registry: 'realRegistry',
      'helm-engine': 'realHelmEngine',
      redis: 'realRedis',
      'the suites of controller-runtime': 'controllerRuntimeSuites',
      'projects in Python, Java and Rust': 'languageProjects',
      'buildah, runc and an image of Node': 'realContainers',
      promtool: 'realPromtool',
      chromium: 'realChromium',
    }
    expect(realPrograms.map(({ name }) => name)).toEqual(Object.keys(sources))
    const suites = globSync(
      ['test/real/**/*.test.ts', 'test/{conformance,manager}/**/*.test.ts', 'examples/**/*.test.ts'],
      {
        cwd: root,
      },
    )
    const imports = new Map(suites.map((suite) => [suite, importedBy(suite)]))
    for (const { name, suites: listed } of realPrograms) {
      const isUsed = (file: string): boolean =>
        !file.startsWith('scripts') && readFileSync(path.join(root, file), 'utf8').includes(`${sources[name]}(`)
      const using = suites.filter((suite) => [...imports.get(suite)!].some(isUsed))
      expect({ name, suites: using.toSorted() }).toEqual({ name, suites: listed })
    }
  })

  const provided: string[] = []
  const program = (name: string, provide: RealProgram['provide'] = async () => provided.push(name)): RealProgram => ({
    name,
    suites: [`test/real/${name}.test.ts`],
    provide,
  })
  const prepare = async (names: readonly string[], programs: readonly RealProgram[]): Promise<readonly string[]> => {
    provided.length = 0
    const lines: string[] = []
    const servers = async (): Promise<unknown> => provided.push('servers')
    await prepareRealPrograms(names, { env: {}, say: (line) => lines.push(line), servers, programs })
    return lines
  }

  it('are installed before the first test: all of them, or those of the chosen suites', async () => {
    const programs = [program('one'), program('two')]
    expect(await prepare([], programs)).toEqual(['kube-apiserver and etcd ready', 'one ready', 'two ready'])
    expect(provided).toEqual(['servers', 'one', 'two'])
    await prepare(['two'], programs)
    expect(provided).toEqual(['servers', 'two'])
  })

  it('that the machine cannot use skip their suites with a reason; root always has images', async () => {
    const one = { ...program('one'), unusable: () => 'it needs root' }
    expect(await prepare([], [one])).toEqual([
      'kube-apiserver and etcd ready',
      'one cannot be used here, so that test/real/one.test.ts is skipped: it needs root',
    ])
    expect(provided).toEqual(['servers'])
    expect(containersUnusable(0)).toBeUndefined()
    expect(containersUnusable(1000)).toContain('needs root')
    expect(realPrograms.filter(({ unusable }) => unusable).map(({ provide }) => provide)).toEqual([realContainers])
  })

  it('that are unavailable fail the suites that need them, by name', async () => {
    const broken = program('one', () => Promise.reject(new Error('no network')))
    const lines = await prepare([], [broken, program('two')])
    expect(lines[1]).toMatch(/^one cannot be had, so that test\/real\/one\.test\.ts will fail: .*no network/)
    expect(provided).toEqual(['servers', 'two'])
    await expect(prepareRealPrograms([], { env: {}, servers: broken.provide, say: () => undefined })).rejects.toThrow(
      'no network',
    )
  })

  it('are neither built nor fetched by a test', async () => {
    const HOME = await emptyFolder()
    const env = { ...process.env, HOME, XDG_CACHE_HOME: HOME, KUBEBUILDER_ASSETS: undefined, [readyVariable]: '1' }
    const missing = { name: 'BinaryMissing' }
    // Without Go there is nothing to build with, and that is what is said.
    await expect(realKubectl(env)).rejects.toMatchObject(missing)
    await expect(realRedis({ ...env, PATH: '/nowhere' })).rejects.toMatchObject({
      ...missing,
      message: expect.stringContaining('a test is no place to build or fetch it') as string,
    })
  })
})
