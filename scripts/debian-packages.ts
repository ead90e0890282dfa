/**
 * Programs from Debian's packages, for suites that need a real one: downloaded once and unpacked into a cache folder
 * outside the repository, not installed, so that they need no root and do not change the machine.
 */
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { cliErrors } from '../src/cli/errors.ts'
import { MusterError } from '../src/kube/muster-error.ts'
import { cacheFolder, type Environment, findProgram, refuseInTests, run, whileHolding } from './real-binaries.ts'

export interface Wanted<Program> {
  /** The name of the folder, also used in messages. */
  readonly name: string
  readonly packages: readonly string[]
  /** Checks that the unpacked program works. */
  readonly use: (folder: string) => Promise<Program>
}

export async function fromDebian<Program>(wanted: Wanted<Program>, env: Environment): Promise<Program> {
  const { name, use } = wanted
  const folder = join(cacheFolder(env), name)
  const unpacked = await use(folder).catch(() => undefined)
  if (unpacked !== undefined) return unpacked
  refuseInTests(name, env)
  await mkdir(cacheFolder(env), { recursive: true })
  await whileHolding(`${folder}.lock.db`, async () => {
    if ((await use(folder).catch(() => undefined)) !== undefined) return
    const workshop = `${folder}.${process.pid}`
    try {
      await download(workshop, wanted, env)
      await rm(folder, { recursive: true, force: true })
      await rename(workshop, folder)
    } finally {
      await rm(workshop, { recursive: true, force: true })
    }
  })
  return await use(folder)
}

/** For LD_LIBRARY_PATH. Some packages keep libraries in a folder of their own, and expect them at the installed path. */
export async function librariesIn(folder: string, env: Environment): Promise<string> {
  const found: string[] = []
  for (const parent of [join(folder, 'usr', 'lib'), join(folder, 'lib')]) {
    for (const name of await readdir(parent).catch(() => [])) {
      if (!name.includes('-linux-')) continue
      const common = join(parent, name)
      const entries = await readdir(common, { withFileTypes: true })
      const own = entries.filter((entry) => entry.isDirectory()).map((entry) => join(common, entry.name))
      found.push(common)
      for (const one of own) if ((await readdir(one)).some((file) => /\.so(?:\.|$)/.test(file))) found.push(one)
    }
  }
  return [...found, env['LD_LIBRARY_PATH'] ?? []].flat().join(':')
}

async function download(folder: string, { name, packages }: Wanted<unknown>, env: Environment): Promise<void> {
  if (!(await findProgram('apt-get', env)))
    throw new MusterError(
      cliErrors.BinaryMissing,
      `${name} is needed, and this machine has no apt-get to fetch it with. Put it on the path.`,
    )
  process.stderr.write(`fetching ${name} from Debian's packages; this happens once\n`)
  const archives = join(folder, 'archives')
  await mkdir(archives, { recursive: true })
  try {
    await fetchPackages(archives, packages, [], env)
  } catch {
    // The package lists of the machine may be missing or old; our own lists need no root.
    const lists = join(archives, 'lists')
    await mkdir(join(lists, 'partial'), { recursive: true })
    const own = ['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${join(archives, 'cache')}`]
    try {
      await run('apt-get', ['update', ...own, '-o', 'APT::Sandbox::User=root'], { env })
      await fetchPackages(archives, packages, own, env)
    } catch (error) {
      throw new MusterError(
        cliErrors.BinaryMissing,
        `${name} is needed, and Debian's packages could not be fetched: ${(error as Error).message} Install it, or put it on the path.`,
      )
    }
  }
  for (const file of await readdir(archives))
    if (file.endsWith('.deb')) await run('dpkg-deb', ['-x', join(archives, file), folder], { env })
  await rm(archives, { recursive: true, force: true })
}

/** The requested packages, and their dependencies that this machine does not have. */
async function fetchPackages(
  archives: string,
  packages: readonly string[],
  options: readonly string[],
  env: Environment,
): Promise<void> {
  const asking = ['install', '--print-uris', '--no-install-recommends', '-qq', '-y', ...options, ...packages]
  const shown = await run('apt-get', asking, { env })
  const missing = [...shown.matchAll(/^'[^']+' ([^_\s]+)_\S+\.deb /gm)].map(([, name = '']) => name)
  const names = new Set([...packages, ...missing])
  await run('apt-get', ['download', ...options, '-o', 'APT::Sandbox::User=root', ...names], { cwd: archives, env })
}
