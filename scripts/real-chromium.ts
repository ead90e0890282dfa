/** A real Chromium for the console's suite: on the path, or from Debian's packages. */
import { join } from 'node:path'
import { fromDebian, librariesIn } from './debian-packages.ts'
import { type Environment, findProgram, run } from './real-binaries.ts'

export interface RealChromium {
  readonly program: string
  /** Its environment variables. */
  readonly environment: Readonly<Record<string, string>>
}

export async function realChromium(env: Environment = process.env): Promise<RealChromium> {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    const program = await findProgram(name, env)
    if (program) return { program, environment: {} }
  }
  return await fromDebian({ name: 'chromium', packages: ['chromium', 'fonts-dejavu-core'], use: fromFolder }, env)

  async function fromFolder(folder: string): Promise<RealChromium> {
    // The program itself: `usr/bin` has a script that expects the installed path.
    const program = join(folder, 'usr', 'lib', 'chromium', 'chromium')
    const environment = {
      LD_LIBRARY_PATH: await librariesIn(folder, env),
      // The font path, too: a page needs fonts.
      XDG_DATA_HOME: join(folder, 'usr', 'share'),
    }
    await run(program, ['--version'], { env: { ...process.env, ...environment } })
    return { program, environment }
  }
}
