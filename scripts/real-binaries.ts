/**
 * The real kube-apiserver and etcd of the suites of `npm run test:real`, and the stock kubectl.
 *
 * Found in KUBEBUILDER_ASSETS, the convention of the field, or built once from their Go modules into a cache folder
 * outside the repository. The small main packages under `test/real/servers` pin the versions.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, constants, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { lockFile } from '../src/system/folder-lock.ts'
import { cliErrors } from '../src/cli/errors.ts'
import { MusterError } from '../src/kube/muster-error.ts'

export interface RealBinaries {
  /** Path of kube-apiserver. */
  readonly apiserver: string
  /** Path of etcd. */
  readonly etcd: string
  /** The version that kube-apiserver reports: `v1.37.1`. */
  readonly version: string
}

export type Environment = Readonly<Record<string, string | undefined>>

const sources = fileURLToPath(new URL('../test/real/servers', import.meta.url))

export async function realBinaries(env: Environment = process.env): Promise<RealBinaries> {
  const assets = env['KUBEBUILDER_ASSETS']
  if (assets) return await fromAssets(assets)
  const go = await findProgram('go', env)
  if (go) return await fromSource(go, env)
  throw new MusterError(
    cliErrors.BinaryMissing,
    'kube-apiserver and etcd are needed. Either fetch them with setup-envtest and point at them: ' +
      'export KUBEBUILDER_ASSETS="$(go run sigs.k8s.io/controller-runtime/tools/setup-envtest@latest use -p path)"; ' +
      'or set KUBEBUILDER_ASSETS to any folder that holds both; ' +
      'or install Go (https://go.dev/dl), and they are built once by themselves.',
  )
}

async function fromAssets(folder: string): Promise<RealBinaries> {
  const [apiserver, etcd] = [join(folder, 'kube-apiserver'), join(folder, 'etcd')]
  for (const file of [apiserver, etcd])
    if (!(await isExecutable(file)))
      throw new MusterError(
        cliErrors.BinaryMissing,
        `KUBEBUILDER_ASSETS is set, but ${file} is not an executable file.`,
      )
  const words = (await run(apiserver, ['--version'])).trim().split(' ')
  const version = words.at(-1) ?? 'unknown'
  if (version.endsWith('+muster'))
    throw new MusterError(
      cliErrors.BinaryMissing,
      `KUBEBUILDER_ASSETS is ${folder}, the folder of muster envtest. These suites compare with the real server: unset the variable.`,
    )
  return { apiserver, etcd, version }
}

async function fromSource(go: string, env: Environment): Promise<RealBinaries> {
  const folder = await builtFrom(go, env, {
    'kube-apiserver': await pinnedVersion('kube-apiserver', 'k8s.io/kubernetes'),
    etcd: await pinnedVersion('etcd', 'go.etcd.io/etcd/server/v3'),
  })
  const version = await pinnedVersion('kube-apiserver', 'k8s.io/kubernetes')
  return { apiserver: join(folder, 'kube-apiserver'), etcd: join(folder, 'etcd'), version }
}

/** Path of the published kubectl. It is located separately from the servers: most suites need only those. */
export async function realKubectl(env: Environment = process.env): Promise<string> {
  const assets = env['KUBEBUILDER_ASSETS']
  if (assets) {
    const file = join(assets, 'kubectl')
    if (await isExecutable(file)) return file
    throw new MusterError(cliErrors.BinaryMissing, `KUBEBUILDER_ASSETS is set, but ${file} is not an executable file.`)
  }
  const go = await findProgram('go', env)
  if (!go)
    throw new MusterError(
      cliErrors.BinaryMissing,
      'kubectl is needed: set KUBEBUILDER_ASSETS to a folder that holds it, or install Go (https://go.dev/dl).',
    )
  // The staging modules use v0 where Kubernetes uses v1.
  const version = (await pinnedVersion('kubectl', 'k8s.io/kubectl')).replace(/^v0/, 'v1')
  return join(await builtFrom(go, env, { kubectl: version }, 'kubectl-'), 'kubectl')
}

/** Path of Helm, as it is published. Always built: it is in no folder of test binaries. */
export async function realHelm(env: Environment = process.env): Promise<string> {
  const go = await findProgram('go', env)
  if (!go) {
    throw new MusterError(cliErrors.BinaryMissing, 'Helm is built from its Go module: install Go (https://go.dev/dl).')
  }
  const version = await pinnedVersion('helm', 'helm.sh/helm/v4')
  return join(await builtFrom(go, env, { helm: version }, 'helm-'), 'helm')
}

/** Path of the OCI registry `distribution`. Always built: it is in no folder of test binaries. */
export async function realRegistry(env: Environment = process.env): Promise<string> {
  const go = await findProgram('go', env)
  if (!go) {
    throw new MusterError(
      cliErrors.BinaryMissing,
      'The registry is built from its Go module: install Go (https://go.dev/dl).',
    )
  }
  const version = await pinnedVersion('registry', 'github.com/distribution/distribution/v3')
  return join(await builtFrom(go, env, { registry: version }, 'registry-'), 'registry')
}

/** Path of a program that renders templates with Helm's own engine. Always built: it is not published. */
export async function realHelmEngine(env: Environment = process.env): Promise<string> {
  const go = await findProgram('go', env)
  if (!go) {
    throw new MusterError(
      cliErrors.BinaryMissing,
      "Helm's engine is built from its Go module: install Go (https://go.dev/dl).",
    )
  }
  const version = await pinnedVersion('helm-engine', 'helm.sh/helm/v4')
  return join(await builtFrom(go, env, { 'helm-engine': version }, 'helm-engine-'), 'helm-engine')
}

/** Path of a program around kustomize's library. Always built: it is not published. */
export async function realKustomize(env: Environment = process.env): Promise<string> {
  const go = await findProgram('go', env)
  if (!go) {
    throw new MusterError(
      cliErrors.BinaryMissing,
      'kustomize is built from its Go module: install Go (https://go.dev/dl).',
    )
  }
  const version = await pinnedVersion('kustomize', 'sigs.k8s.io/kustomize/api')
  return join(await builtFrom(go, env, { kustomize: version }, 'kustomize-'), 'kustomize')
}

/** Path of Kubernetes' own end-to-end suite, as a program. Always built: it is not published. */
export async function endToEndSuite(env: Environment = process.env): Promise<string> {
  const go = await findProgram('go', env)
  if (!go)
    throw new MusterError(
      cliErrors.BinaryMissing,
      'The end-to-end suite is built from its Go module: install Go (https://go.dev/dl).',
    )
  const version = await pinnedVersion('e2e', 'k8s.io/kubernetes')
  return join(await builtFrom(go, env, { e2e: version }, 'e2e-'), 'e2e')
}

/** The folder of built programs, outside the repository. */
export function cacheFolder(env: Environment): string {
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'muster', 'real')
}

/** Set when all programs of the chosen suites are available. */
export const readyVariable = 'MUSTER_REAL_READY'

/** A test has a time limit that is too short for a build. @throws BinaryMissing */
export function refuseInTests(what: string, env: Environment): void {
  if (!env[readyVariable]) return
  const why = `${what} is not there, and a test is no place to build or fetch it`
  throw new MusterError(
    cliErrors.BinaryMissing,
    `${why}: scripts/real-programs.ts says which suites need it before they begin.`,
  )
}

/** The folder with these programs, built if necessary. */
async function builtFrom(
  go: string,
  env: Environment,
  versions: Readonly<Record<string, string>>,
  prefix = '',
): Promise<string> {
  const programs = Object.keys(versions)
  const folder = join(cacheFolder(env), `${prefix}${Object.values(versions).join('-')}-${await sourceHash(programs)}`)
  const built = async (): Promise<boolean> =>
    (await Promise.all(programs.map((program) => isExecutable(join(folder, program))))).every(Boolean)
  if (await built()) return folder
  refuseInTests(programs.join(' and '), env)

  await mkdir(join(folder, '..'), { recursive: true })
  await whileHolding(`${folder}.lock.db`, async () => {
    if (await built()) return
    const workshop = `${folder}.${process.pid}`
    try {
      for (const [name, version] of Object.entries(versions)) await build(go, env, name, version, workshop)
      await rm(folder, { recursive: true, force: true })
      await rename(workshop, folder)
    } finally {
      await rm(workshop, { recursive: true, force: true })
    }
  })
  return folder
}

async function build(go: string, env: Environment, name: string, version: string, target: string): Promise<void> {
  const started = performance.now()
  say(`building ${name} ${version} from its Go module; this happens once and takes some minutes`)
  const [major, minor] = version.slice(1).split('.')
  // Without these a binary built from modules reports v0.0.0-master, and client and server compare versions.
  const stamp = 'k8s.io/component-base/version'
  const identity =
    name !== 'etcd'
      ? ` -X ${stamp}.gitVersion=${version} -X ${stamp}.gitMajor=${major} -X ${stamp}.gitMinor=${minor}`
      : ''
  await run(
    go,
    ['build', '-mod=readonly', '-trimpath', '-ldflags', `-s -w${identity}`, '-o', join(target, name), '.'],
    { cwd: join(sources, name), env: { ...env, CGO_ENABLED: '0', GOWORK: 'off' } },
  )
  say(`built ${name} ${version} in ${Math.round((performance.now() - started) / 1000)} s`)
}

async function pinnedVersion(program: string, module: string): Promise<string> {
  const text = await readFile(join(sources, program, 'go.mod'), 'utf8')
  const version = new RegExp(`^\\s*(?:require )?${RegExp.escape(module)} (v\\S+)`, 'm').exec(text)?.[1]
  if (!version) throw new MusterError(cliErrors.BinaryMissing, `go.mod of ${program} does not require ${module}.`)
  return version
}

async function sourceHash(programs: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const program of programs)
    for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(await readFile(join(sources, program, file)))
  return hash.digest('hex').slice(0, 12)
}

/** Concurrent test runs must not build twice: the second waits for the first, and takes over if the first died. */
export async function whileHolding(lock: string, work: () => Promise<void>): Promise<void> {
  let release = lockFile(lock)
  if (!release) say(`waiting for another process that builds the same (${lock})`)
  for (; !release; release = lockFile(lock)) await sleep(500)
  try {
    await work()
  } finally {
    release()
  }
}

export async function findProgram(name: string, env: Environment): Promise<string | undefined> {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    const file = join(folder, name)
    if (folder && (await isExecutable(file))) return file
  }
  return undefined
}

async function isExecutable(file: string): Promise<boolean> {
  return await access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
}

export function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: Environment } = {},
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let complaint = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text))
  child.on('error', reject)
  child.on('close', (code) => {
    if (code === 0) resolve(output)
    else
      reject(new MusterError(cliErrors.BinaryMissing, `${program} ${args[0]} ended with ${code}: ${complaint.trim()}`))
  })
  return promise
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
