/**
 * `muster envtest` as its users have it: the installed package, whose folder of executables the suites of controller-runtime take
 * for kube-apiserver and etcd; and the projects of docs/envtest.md in other languages, where the machine has the tools for them.
 */
import { execFile, spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { controllerRuntimeSuites, type GoSuite } from '../../scripts/real-controller-runtime.ts'
import { realBinaries, realKubectl } from '../../scripts/real-binaries.ts'
import { languageProjects, type LanguageProjects } from '../../scripts/real-languages.ts'
import { apiServerFlags } from '../../src/cli/envtest/apiserver-flags.ts'
import { etcdFlags } from '../../src/cli/envtest/etcd-flags.ts'
import type { ProgramFlags } from '../../src/cli/envtest/program-flags.ts'
import { installPackage } from './installed.ts'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0
/** The system user `nobody` when the test runs as root, else the user of the test. */
const user = isRoot ? { uid: 65_534, gid: 65_534 } : {}

let folder: string
let muster: string
let assets: string
let suites: readonly GoSuite[]
let projects: LanguageProjects

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'muster-envtest-'))
  await chmod(folder, 0o755)
  muster = await installPackage(folder)
  // What is installed is only read from here on.
  await run('chmod', ['-R', 'a-w,a+rX', path.join(folder, 'tool')])
  assets = (await run(muster, ['envtest', '--dir', path.join(folder, 'bin')])).stdout.trim()
  suites = await controllerRuntimeSuites()
  projects = await languageProjects()
}, 300_000)

afterAll(async () => {
  await run('chmod', ['-R', 'u+w', folder])
  await rm(folder, { recursive: true, force: true })
})

interface Outcome {
  readonly code: number | null
  readonly output: string
  readonly seconds: number
}

async function runSuite({ program, words, folder: cwd }: GoSuite, home: string): Promise<Outcome> {
  const { KUBECONFIG: _cluster, ...env } = process.env
  const started = performance.now()
  const args = ['--test.timeout=280s', '--ginkgo.no-color', ...words]
  const child = spawn(
    program,
    args.filter((word) => !isOfGinkgo(word) || cwd.includes('/pkg/')),
    {
      cwd,
      env: { ...env, HOME: home, XDG_CACHE_HOME: home, KUBEBUILDER_ASSETS: assets },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  let output = ''
  const take = (text: string): void => void (output = (output + text).slice(-200_000))
  child.stdout.setEncoding('utf8').on('data', take)
  child.stderr.setEncoding('utf8').on('data', take)
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.on('error', reject)
  child.on('close', resolve)
  return { code: await promise, output, seconds: (performance.now() - started) / 1000 }
}

const isOfGinkgo = (word: string): boolean => word.startsWith('--ginkgo')

/** The part of the output that says what went wrong. */
function failuresIn(output: string): string {
  const at = output.search(/^(?:• \[FAILED\]|Summarizing|--- FAIL|panic:)/m)
  return output.slice(at < 0 ? -3000 : at).slice(0, 6000)
}

describe('the suites of controller-runtime', () => {
  it('all pass, a few at a time', { timeout: 900_000 }, async () => {
    const failures = new Map<GoSuite, string>()
    let specs = 0
    const runOne = async (suite: GoSuite): Promise<void> => {
      const { code, output, seconds } = await runSuite(suite, folder)
      const [, ran = '0'] = /^Ran (\d+) of \d+ Specs/m.exec(output) ?? []
      specs += Number(ran)
      console.log(`${suite.name}: ${code === 0 ? 'passed' : 'FAILED'}, ${ran} specs, ${Math.round(seconds)} s`)
      if (code === 0) failures.delete(suite)
      else failures.set(suite, failuresIn(output))
    }
    const waiting = [...suites]
    const work = async (): Promise<void> => {
      for (let suite = waiting.shift(); suite; suite = waiting.shift()) await runOne(suite)
    }
    // They mostly wait: for what must not happen, and for leases to run out.
    await Promise.all([work(), work(), work()])
    // Their specs allow a second of real time for what follows from a write: beside two others on a busy machine that may be too
    // short. A suite that failed has to pass on its own.
    const again = [...failures.keys()]
    expect(again.length).toBeLessThan(4)
    for (const suite of again) await runOne(suite)
    expect(Object.fromEntries([...failures].map(([{ name }, output]) => [name, output]))).toEqual({})
    // That nothing failed is no success if nothing ran.
    expect(specs).toBeGreaterThan(1000)
  })
})

describe('muster envtest of the installed package', () => {
  it('serves a user who may write nowhere but among the temporary files', async () => {
    const place = path.join(folder, 'temporary')
    await run('mkdir', ['-m', '1777', place])
    const env = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', TMPDIR: place }
    const made = await run(muster, ['envtest'], { env, ...user, cwd: '/' })
    const found = made.stdout.trim()
    expect(found.startsWith(place)).toBe(true)
    const version = await run(path.join(found, 'kube-apiserver'), ['--version'], { env, ...user, cwd: '/' })
    expect(version.stdout).toMatch(/^Kubernetes v1\./)
  })

  it('is found by npx', async () => {
    const { stdout } = await run('npx', ['--no-install', 'muster', 'envtest'], { cwd: path.join(folder, 'tool') })
    expect((await run(path.join(stdout.trim(), 'etcd'), ['--version'])).stdout).toContain('etcd Version')
  })
})

describe('a project in', () => {
  const runProject = async (language: keyof LanguageProjects, extra: NodeJS.ProcessEnv = {}): Promise<string> => {
    const { command, folder: cwd, environment } = projects[language]!
    const [program, ...words] = command
    const { KUBECONFIG: _cluster, ...env } = process.env
    const tools = path.join(folder, 'path')
    await mkdir(tools, { recursive: true })
    for (const [name, target] of [
      ['muster', muster],
      ['kubectl', await realKubectl()],
    ] as const)
      await symlink(target, path.join(tools, name)).catch(() => undefined)
    const PATH = `${tools}${path.delimiter}${env['PATH'] ?? ''}`
    return (await run(program, words, { cwd, env: { ...env, ...environment, ...extra, PATH } })).stdout
  }

  it('Python, with the official client', async ({ skip }) => {
    skip(!projects.python, 'python3 is not on the PATH')
    expect(await runProject('python')).toContain('1 passed')
  })

  it('Java, with kube-api-test', { timeout: 120_000 }, async ({ skip }) => {
    skip(!projects.java, 'mvn or javac is not on the PATH')
    const place = path.join(folder, 'kube-api-test')
    const platform = `${process.platform}-${process.arch === 'arm64' ? 'arm64' : 'amd64'}`
    await run(muster, ['envtest', '--dir', path.join(place, 'k8s', `1.37.1-${platform}`)])
    // Maven says nothing about a success.
    expect(await runProject('java', { KUBE_API_TEST_DIR: place })).not.toContain('ERROR')
  })

  it('Rust, with kube', async ({ skip }) => {
    skip(!projects.rust, 'cargo is not on the PATH')
    expect(await runProject('rust')).toContain('1 passed')
  })
})

describe('the flags of the originals', () => {
  const namesOf = ({ understood, ignored, ignoredSwitches }: ProgramFlags): ReadonlySet<string> =>
    new Set([...Object.keys(understood), ...ignored, ...ignoredSwitches, 'help'])
  const helpOf = async (program: string): Promise<readonly string[]> => {
    const { stdout, stderr } = await run(program, ['--help'])
    return [...`${stdout}${stderr}`.matchAll(/^\s+(?:-\w, )?--([a-z\d-]+)/gm)].map(([, name]) => name!)
  }

  it('are all known: those of kube-apiserver, and those of etcd', async () => {
    const { apiserver, etcd } = await realBinaries()
    for (const [program, flags] of [
      [apiserver, apiServerFlags],
      [etcd, etcdFlags],
    ] as const) {
      const known = namesOf(flags)
      const names = await helpOf(program)
      expect(names.length).toBeGreaterThan(50)
      expect(names.filter((name) => !known.has(name))).toEqual([])
    }
  })
})
