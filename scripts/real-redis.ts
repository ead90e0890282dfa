/**
 * A real redis-server, which the sidecar's suite puts through its life.
 *
 * Found on the path, or taken once from Debian's packages into a cache folder outside the repository: downloaded and
 * unpacked, not installed, so that neither root nor a changed machine is needed.
 */
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { MusterError } from '../src/kube/errors.ts'
import { cacheFolder, type Environment, findProgram, run, whileHolding } from './real-binaries.ts'

export interface RealRedis {
  /** Path of redis-server. */
  readonly server: string
  /** Path of redis-cli. */
  readonly cli: string
  /** What both need in their environment. */
  readonly environment: Readonly<Record<string, string>>
  /** What the server says it is: `7.0.15`. */
  readonly version: string
}

export async function realRedis(env: Environment = process.env): Promise<RealRedis> {
  const [server, cli] = [await findProgram('redis-server', env), await findProgram('redis-cli', env)]
  if (server && cli) return await described(server, cli, {})
  const folder = join(cacheFolder(env), 'redis')
  const unpacked = await fromFolder(folder, env).catch(() => undefined)
  if (unpacked) return unpacked
  await mkdir(cacheFolder(env), { recursive: true })
  await whileHolding(`${folder}.lock`, async () => {
    if (await fromFolder(folder, env).catch(() => undefined)) return
    const workshop = `${folder}.${process.pid}`
    try {
      await download(workshop, env)
      await rm(folder, { recursive: true, force: true })
      await rename(workshop, folder)
    } finally {
      await rm(workshop, { recursive: true, force: true })
    }
  })
  return await fromFolder(folder, env)
}

async function fromFolder(folder: string, env: Environment): Promise<RealRedis> {
  const libraries: string[] = []
  for (const parent of [join(folder, 'usr', 'lib'), join(folder, 'lib')])
    for (const name of await readdir(parent).catch(() => []))
      if (name.includes('-linux-')) libraries.push(join(parent, name))
  const bin = join(folder, 'usr', 'bin')
  return await described(join(bin, 'redis-server'), join(bin, 'redis-cli'), {
    LD_LIBRARY_PATH: [...libraries, env['LD_LIBRARY_PATH'] ?? []].flat().join(':'),
  })
}

async function described(server: string, cli: string, environment: RealRedis['environment']): Promise<RealRedis> {
  const shown = await run(server, ['--version'], { env: { ...process.env, ...environment } })
  await run(cli, ['--version'], { env: { ...process.env, ...environment } })
  return { server, cli, environment, version: /v=(\S+)/.exec(shown)?.[1] ?? 'unknown' }
}

/** What every Debian has, and what must be the machine's own. */
const present = new Set(['libc6', 'libgcc-s1', 'libstdc++6', 'libcrypt1'])

async function download(folder: string, env: Environment): Promise<void> {
  const apt = await findProgram('apt-get', env)
  if (!apt)
    throw new MusterError(
      'BinaryMissing',
      'redis-server and redis-cli are needed, and this machine has no apt-get to fetch them with. Put both on the path.',
    )
  const archives = join(folder, 'archives')
  await mkdir(archives, { recursive: true })
  try {
    await fetchPackages(archives, [], env)
  } catch {
    // The machine's own lists are missing or old; ours need no root.
    const lists = join(archives, 'lists')
    await mkdir(join(lists, 'partial'), { recursive: true })
    const own = ['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${join(archives, 'cache')}`]
    try {
      await run('apt-get', ['update', ...own, '-o', 'APT::Sandbox::User=root'], { env })
      await fetchPackages(archives, own, env)
    } catch (error) {
      throw new MusterError(
        'BinaryMissing',
        `redis-server and redis-cli are needed, and Debian's packages could not be fetched: ${(error as Error).message}`,
      )
    }
  }
  for (const name of await readdir(archives))
    if (name.endsWith('.deb')) await run('dpkg-deb', ['-x', join(archives, name), folder], { env })
  await rm(archives, { recursive: true, force: true })
}

async function fetchPackages(archives: string, options: readonly string[], env: Environment): Promise<void> {
  const wanted = ['redis-server', 'redis-tools']
  const shown = await run('apt-cache', ['depends', '--important', ...options, ...wanted], { env })
  const libraries = [...shown.matchAll(/Depends: (lib[^\s<]+)/g)].flatMap(([, name = '']) =>
    present.has(name) ? [] : name,
  )
  const names = [...wanted, ...new Set(libraries)]
  await run('apt-get', ['download', ...options, '-o', 'APT::Sandbox::User=root', ...names], { cwd: archives, env })
}
