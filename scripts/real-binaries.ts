/**
 * The real kube-apiserver and etcd, which the suites of `npm run test:real` run against, and the stock kubectl.
 *
 * Found in KUBEBUILDER_ASSETS, the convention of the field, or built once from their Go modules into a cache folder
 * outside the repository. The tiny main packages under `test/real/servers` pin what is built.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, constants, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { lockFile } from '../src/system/folder-lock.ts'
import { MusterError } from '../src/kube/errors.ts'

export interface RealBinaries {
  /** Path of kube-apiserver. */
  readonly apiserver: string
  /** Path of etcd. */
  readonly etcd: string
  /** What kube-apiserver says it is: `v1.37.1`. */
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
    'BinaryMissing',
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
      throw new MusterError('BinaryMissing', `KUBEBUILDER_ASSETS is set, but ${file} is not an executable file.`)
  const words = (await run(apiserver, ['--version'])).trim().split(' ')
  return { apiserver, etcd, version: words.at(-1) ?? 'unknown' }
}

async function fromSource(go: string, env: Environment): Promise<RealBinaries> {
  const folder = await builtFrom(go, env, {
    'kube-apiserver': await pinnedVersion('kube-apiserver', 'k8s.io/kubernetes'),
    etcd: await pinnedVersion('etcd', 'go.etcd.io/etcd/server/v3'),
  })
  const version = await pinnedVersion('kube-apiserver', 'k8s.io/kubernetes')
  return { apiserver: join(folder, 'kube-apiserver'), etcd: join(folder, 'etcd'), version }
}

/** Path of kubectl, as it is published. It is looked for apart from the servers: most suites need those alone. */
export async function realKubectl(env: Environment = process.env): Promise<string> {
  const assets = env['KUBEBUILDER_ASSETS']
  if (assets) {
    const file = join(assets, 'kubectl')
    if (await isExecutable(file)) return file
    throw new MusterError('BinaryMissing', `KUBEBUILDER_ASSETS is set, but ${file} is not an executable file.`)
  }
  const go = await findProgram('go', env)
  if (!go)
    throw new MusterError(
      'BinaryMissing',
      'kubectl is needed: set KUBEBUILDER_ASSETS to a folder that holds it, or install Go (https://go.dev/dl).',
    )
  // The staging modules count from v0 where Kubernetes counts from v1.
  const version = (await pinnedVersion('kubectl', 'k8s.io/kubectl')).replace(/^v0/, 'v1')
  return join(await builtFrom(go, env, { kubectl: version }, 'kubectl-'), 'kubectl')
}

/** Path of Kubernetes' own end-to-end suite, as a program. Always built: no published folder holds it. */
export async function endToEndSuite(env: Environment = process.env): Promise<string> {
  const go = await findProgram('go', env)
  if (!go)
    throw new MusterError(
      'BinaryMissing',
      'The end-to-end suite is built from its Go module: install Go (https://go.dev/dl).',
    )
  const version = await pinnedVersion('e2e', 'k8s.io/kubernetes')
  return join(await builtFrom(go, env, { e2e: version }, 'e2e-'), 'e2e')
}

/** Where programs are kept between runs, outside the repository. */
export function cacheFolder(env: Environment): string {
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'muster', 'real')
}

/** Set when every program that the chosen suites need is there. */
export const readyVariable = 'MUSTER_REAL_READY'

/** A test has a time limit that no build keeps to. @throws BinaryMissing */
export function refuseInTests(what: string, env: Environment): void {
  if (!env[readyVariable]) return
  const why = `${what} is not there, and a test is no place to build or fetch it`
  throw new MusterError(
    'BinaryMissing',
    `${why}: scripts/real-programs.ts says which suites need it before they begin.`,
  )
}

/** The folder that holds these programs, built if they are not there yet. */
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
  // Without these a binary built from modules calls itself v0.0.0-master, and each side reads the other's version.
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
  if (!version) throw new MusterError('BinaryMissing', `go.mod of ${program} does not require ${module}.`)
  return version
}

async function sourceHash(programs: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const program of programs)
    for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(await readFile(join(sources, program, file)))
  return hash.digest('hex').slice(0, 12)
}

/** Two test runs at once must not build twice: the second waits for the first, and takes over if the first died. */
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
    else reject(new MusterError('BinaryMissing', `${program} ${args[0]} ended with ${code}: ${complaint.trim()}`))
  })
  return promise
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
