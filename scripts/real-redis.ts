/** A real redis-server for the sidecar's suite: on the path, or from Debian's packages. */
import { join } from 'node:path'
import { fromDebian, librariesIn } from './debian-packages.ts'
import { type Environment, findProgram, run } from './real-binaries.ts'

export interface RealRedis {
  /** Path of redis-server. */
  readonly server: string
  /** Path of redis-cli. */
  readonly cli: string
  /** The environment variables of both. */
  readonly environment: Readonly<Record<string, string>>
  /** The version that the server reports: `7.0.15`. */
  readonly version: string
}

export async function realRedis(env: Environment = process.env): Promise<RealRedis> {
  const [server, cli] = [await findProgram('redis-server', env), await findProgram('redis-cli', env)]
  if (server && cli) return await described(server, cli, {})
  return await fromDebian(
    {
      name: 'redis',
      packages: ['redis-server', 'redis-tools'],
      async use(folder) {
        const bin = join(folder, 'usr', 'bin')
        const environment = { LD_LIBRARY_PATH: await librariesIn(folder, env) }
        return await described(join(bin, 'redis-server'), join(bin, 'redis-cli'), environment)
      },
    },
    env,
  )
}

async function described(server: string, cli: string, environment: RealRedis['environment']): Promise<RealRedis> {
  const shown = await run(server, ['--version'], { env: { ...process.env, ...environment } })
  await run(cli, ['--version'], { env: { ...process.env, ...environment } })
  return { server, cli, environment, version: /v=(\S+)/.exec(shown)?.[1] ?? 'unknown' }
}
