/**
 * The test suites of controller-runtime that start a control plane, as programs: `test/real/envtest.test.ts` runs them on
 * `muster envtest`. The source comes from the Go module proxy, in the version that `test/real/envtest/go/go.mod` pins.
 */
import { createHash } from 'node:crypto'
import { access, chmod, cp, glob, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cliErrors } from '../src/cli/errors.ts'
import { MusterError } from '../src/kube/muster-error.ts'
import { cacheFolder, type Environment, findProgram, refuseInTests, run, whileHolding } from './real-binaries.ts'

export interface GoSuite {
  /** The package: `pkg/client/apiutil`. */
  readonly name: string
  /** The program that holds its tests. */
  readonly program: string
  /** Where it runs: the package's folder, which has its test data. */
  readonly folder: string
  /** Further words for the program. */
  readonly words: readonly string[]
}

const moduleName = 'sigs.k8s.io/controller-runtime'
const pins = fileURLToPath(new URL('../test/real/envtest/go', import.meta.url))

/** The test that docs/envtest.md shows. */
const documented = 'docs/envtest.md'

/**
 * All packages whose tests start kube-apiserver, the slowest first. Tests of other packages start none, and so would pass with any
 * control plane.
 */
const packages: readonly { readonly name: string; readonly words?: readonly string[] }[] = [
  // One of its tests cancels a request and needs the server to be slower than that: a fast one loses the race now and then.
  { name: 'pkg/cache', words: ['--ginkgo.flake-attempts=4'] },
  { name: 'pkg/manager' },
  { name: 'pkg/internal/controller' },
  { name: 'pkg/envtest' },
  { name: 'pkg/internal/testing/controlplane' },
  { name: 'pkg/client' },
  { name: 'pkg/webhook' },
  { name: 'pkg/controller' },
  { name: 'pkg/controller/controllerutil' },
  { name: 'pkg/builder' },
  { name: 'pkg/manager/internal/integration' },
  // The other half of these tests downloads the servers of Kubernetes 1.28 itself, to have none with aggregated discovery.
  { name: 'pkg/client/apiutil', words: ['-test.skip=/aggregatedDiscovery=false'] },
  { name: 'pkg/internal/recorder' },
  { name: 'pkg/source' },
  { name: 'pkg/metrics/filters' },
  { name: 'pkg/reconcile' },
  { name: 'pkg/cluster' },
  { name: 'pkg/handler' },
]

export async function controllerRuntimeSuites(env: Environment = process.env): Promise<readonly GoSuite[]> {
  const go = await findProgram('go', env)
  if (!go)
    throw new MusterError(
      cliErrors.BinaryMissing,
      'The suites of controller-runtime are built from their Go module: install Go (https://go.dev/dl).',
    )
  const version = await pinnedVersion()
  const hash = createHash('sha256').update(JSON.stringify(packages.map(({ name }) => name)))
  for (const file of ['go.mod', 'go.sum', 'controlplane_test.go']) hash.update(await readFile(join(pins, file)))
  const folder = join(cacheFolder(env), `controller-runtime-${version}-${hash.digest('hex').slice(0, 12)}`)
  const programOf = (name: string): string => join(folder, 'bin', `${name.replaceAll('/', '-')}.test`)
  const suites: readonly GoSuite[] = [
    ...packages.map(({ name, words = [] }) => ({
      name,
      words,
      program: programOf(name),
      folder: join(folder, 'source', name),
    })),
    { name: documented, words: [], program: programOf(documented), folder: pins },
  ]
  const isBuilt = async (): Promise<boolean> =>
    await access(join(folder, 'complete')).then(
      () => true,
      () => false,
    )
  if (await isBuilt()) return suites
  refuseInTests('controller-runtime', env)
  await mkdir(join(folder, '..'), { recursive: true })
  await whileHolding(`${folder}.lock.db`, async () => {
    if (!(await isBuilt())) await build(go, env, version, folder, suites)
  })
  return suites
}

async function build(
  go: string,
  env: Environment,
  version: string,
  folder: string,
  suites: readonly GoSuite[],
): Promise<void> {
  const settings = { ...env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-mod=readonly' }
  // In the folder with go.sum, which says what the source must be.
  const found = await run(go, ['mod', 'download', '-json', moduleName], { cwd: pins, env: settings })
  const { Dir: source } = JSON.parse(found) as { readonly Dir: string }
  await rm(folder, { recursive: true, force: true })
  const draft = `${folder}.${process.pid}`
  try {
    await cp(source, join(draft, 'source'), { recursive: true })
    // The module cache is read-only, and a module does not say which of its files can be run.
    for await (const file of glob('**', { cwd: join(draft, 'source'), withFileTypes: true })) {
      const isProgram = file.isDirectory() || file.name.endsWith('.sh')
      await chmod(join(file.parentPath, file.name), isProgram ? 0o755 : 0o644)
    }
    for (const [index, { name, program }] of suites.entries()) {
      const started = performance.now()
      const target = join(draft, 'bin', basename(program))
      const [cwd, place] = name === documented ? [pins, '.'] : [join(draft, 'source'), `./${name}`]
      await run(go, ['test', '-c', '-trimpath', '-ldflags=-s -w', '-o', target, place], { cwd, env: settings })
      const seconds = Math.round((performance.now() - started) / 1000)
      process.stderr.write(
        `built ${name} of controller-runtime ${version}, ${index + 1}/${suites.length}, in ${seconds} s\n`,
      )
    }
    await writeFile(join(draft, 'complete'), '')
    await rename(draft, folder)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function pinnedVersion(): Promise<string> {
  const text = await readFile(join(pins, 'go.mod'), 'utf8')
  const version = new RegExp(`^\\s*(?:require )?${RegExp.escape(moduleName)} (v\\S+)`, 'm').exec(text)?.[1]
  if (!version)
    throw new MusterError(cliErrors.BinaryMissing, `test/real/envtest/go/go.mod does not require ${moduleName}.`)
  return version
}
