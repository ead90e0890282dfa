/** Prometheus' own checker of rules and metrics: on the path, or from Debian's packages. */
import { join } from 'node:path'
import { fromDebian } from './debian-packages.ts'
import { type Environment, findProgram, run } from './real-binaries.ts'

/** The path of promtool. */
export async function realPromtool(env: Environment = process.env): Promise<string> {
  const own = await findProgram('promtool', env)
  if (own) return own
  return await fromDebian(
    {
      name: 'prometheus',
      packages: ['prometheus'],
      async use(folder) {
        const program = join(folder, 'usr', 'bin', 'promtool')
        await run(program, ['--version'])
        return program
      },
    },
    env,
  )
}
