/**
 * Turns a section of the configuration that names a program into an operator that the manager can host. The program is
 * not started here: the host asks for its declarations, and again when its file changes.
 */
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { ownFiles } from '../../manager/config/own-files.ts'
import { programLimitsOf } from '../../manager/config/options-of.ts'
import { durationMs } from '../../manager/config/setting-fields.ts'
import type { LoadProgram } from '../../manager/loading/loader.ts'
import { unusable } from '../../manager/loading/module.ts'
import { programFile } from '../../manager/loading/program-file.ts'
import type { Operator } from '../../operator/operator.ts'
import { hostProgram } from './program-host.ts'
import { type HostedProgram, sandboxModeOf } from './program-run.ts'

export interface ProgramLoaderOptions {
  readonly clock?: Clock
  /** Files of the manager that no program may read, beside credentials and `.muster`: `ownFiles`. */
  readonly hidden?: readonly string[]
  /** Names of all operators: no program may use another's as a field manager. @default none */
  readonly others?: () => Iterable<string>
  /** Why the network cannot be cut off on this machine; undefined: it can. @default tested once per process */
  readonly canary?: () => Promise<string | undefined>
}

/** The configured program. @throws ModuleUnusable */
export async function programOf(
  { program: settings, outside, allowUnenforced }: Parameters<LoadProgram>[1],
  folder: string,
  { hidden = [], others, canary }: Omit<ProgramLoaderOptions, 'clock'> = {},
): Promise<HostedProgram> {
  const { command, args, env, live, controllers, resync } = settings
  // The folder of the configuration may contain a whole project, so it is not readable.
  const shown = [...(settings.folder === '.' ? [] : [settings.folder]), ...settings.readable]
  const readable = shown.map((each) => path.resolve(folder, each))
  const absent = settings.readable.find((each) => !existsSync(path.resolve(folder, each)))
  if (absent !== undefined) throw unusable(`program.readable: there is no ${path.resolve(folder, absent)}.`)
  return {
    program: {
      command: await programFile(command, folder),
      args,
      env,
      folder: path.resolve(folder, settings.folder),
      readable,
      hidden: [...new Set([...(await ownFiles()), ...hidden, path.join(folder, '.muster')])],
    },
    limits: programLimitsOf(settings),
    allowNetwork: allowUnenforced,
    ...(canary && { canary }),
    ...(others && { others }),
    ...(live && { live: { allow: outside.map(addressOf) } }),
    ...(controllers && { controllers }),
    resyncMs: durationMs(resync),
  }
}

/** For `createLoader`. */
export function programLoader(options: ProgramLoaderOptions = {}): LoadProgram {
  const { clock = systemClock } = options
  return async (name, section, folder) => {
    const hosted = await programOf(section, folder, options)
    // Before the first run: a program without a sandbox is never started.
    await sandboxModeOf(hosted, { name, clock })
    return { operator: bare(name), host: (hosting) => hostProgram(hosted, hosting) }
  }
}

/** An operator with a name and no declarations. */
export function bare(name: string): Operator {
  return {
    name,
    controllers: [],
    coordinators: [],
    config: undefined,
    webhooks: [],
    conversions: [],
    inputs: [],
    outputs: [],
    declaredInputs: [],
    declaredOutputs: [],
    kinds: [],
  }
}

/** `https://api.example.com` as a proxy is asked for it: `api.example.com:443`. */
function addressOf(origin: string): string {
  const [, scheme, host, port] = /^(https?):\/\/(.+?)(?::(\d+))?$/.exec(origin) ?? []
  return `${host}:${port ?? (scheme === 'http' ? 80 : 443)}`
}
