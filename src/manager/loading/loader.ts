/**
 * Loads operators from their sections in the settings. An operator is built in, given on the command line, named by
 * `from` (a file or an npm package), or an external program. An operator that is to be isolated is never loaded in this
 * thread: its runner loads it in its guest, and reports what it declares.
 *
 * An error concerns one operator only: it names the path of the setting, and the other operators load.
 */
import path from 'node:path'
import type { Clock, Timer } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { Log } from '../logging/log-line.ts'
import type { Operator } from '../../operator/operator.ts'
import { limitsOf } from '../config/options-of.ts'
import type { OperatorSettings, ProgramSettings } from '../config/operator-settings.ts'
import { ownFiles, type OwnFilesOptions } from '../config/own-files.ts'
import { asSentence, guessAmong } from '../config/problem.ts'
import type { Declared } from '../config/schema.ts'
import type { Settings } from '../config/settings.ts'
import type { Runner } from '../isolation/runner.ts'
import type { ThreadWatch } from '../threads/thread-watch.ts'
import type { HostedOptions } from '../hosting/manager.ts'
import { fileOf, loadModule, operatorOfModule, unusable } from './module.ts'
import { resolvePackage } from './package.ts'
import { programFile } from './program-file.ts'

/**
 * How long a runner is kept that was opened to read an operator's declarations: longer than replicas take to divide the
 * work.
 */
const unfetchedMs = 30_000

/** An operator that is available without `from`. */
export interface GivenOperator {
  readonly name: string
  load(): Promise<Operator>
  /** `FILE#NAME` for a runner, if it may be isolated. */
  readonly module?: string
  /** Runs only if the settings have a section for it: an optional part of Muster. @default false */
  readonly isOptional?: boolean
}

export interface LoaderOptions {
  readonly given?: readonly GivenOperator[]
  /** Base of relative paths in `from`: the folder of the configuration file. @default the working directory */
  readonly folder?: string | undefined
  /** Files of the manager, besides those that settings name, that isolated operators must not read. */
  readonly own?: Omit<OwnFilesOptions, 'settings'>
  readonly clock?: Clock
  /** Receives output and failures of isolated operators. @default silent */
  readonly log?: Log
  /** Makes an operator of an external program: the contract's `programLoader`. @default programs are refused */
  readonly programs?: LoadProgram
  /** Notified of modules that are loaded in this thread, which may block it. @default not watched */
  readonly thread?: ThreadWatch | undefined
  /** Receives errors of `declared`, which omits the failed operators. */
  readonly onProblem?: (operator: string, problem: MusterError) => void
}

/** `folder` is the base of relative paths. */
export type LoadProgram = (
  name: string,
  section: OperatorSettings & { readonly program: ProgramSettings },
  folder: string,
) => Promise<LoadedOperator>

/** An operator, ready to be hosted. */
export interface LoadedOperator {
  readonly operator: Operator
  /** Where its reconciles run. @default in this thread */
  readonly run?: Runner['run']
  /** Hosts an operator that is not a set of controllers. @default `hostOperator` */
  readonly host?: HostedOptions['host']
  readonly close?: () => Promise<void>
}

export interface Loader {
  /** @throws ModuleUnusable and errors of the runner, naming the setting */
  load(name: string, section: OperatorSettings): Promise<LoadedOperator>
  /** The declarations of the enabled operators: for `openConfiguration`. Never fails. */
  declared(settings: Settings): Promise<readonly Declared[]>
  /** `FILE#NAME` of its code. Undefined: it is built in. */
  moduleOf(name: string, section: OperatorSettings): Promise<string | undefined>
  /** Closes runners that were opened for `declared` and never used. */
  close(): Promise<void>
}

/** How long loading a module may take. */
const timeoutMs = 10_000

export function createLoader(options: LoaderOptions = {}): Loader {
  const { given = [], folder = process.cwd(), clock = systemClock, onProblem } = options
  const known = new Map(given.map((one) => [one.name, one]))
  /** Operators in this thread, by module: each is loaded once. */
  const modules = new Map<string, Promise<Operator>>()
  const failed = new Set<string>()
  /** Modules that timed out and are still loading: they are not waited for again. */
  const late = new Set<string>()
  /** Runners that were opened for `declared`, by all of their options. */
  const waiting = new Map<string, { readonly runner: Runner; readonly timer: Timer }>()
  /** The latest declaration by operator name, and the key that it belongs to. */
  const described = new Map<string, { readonly key: string; readonly operator: Operator }>()
  /** The latest settings. */
  let settings: Settings | undefined
  /** The last reported problem of each operator, which is not repeated. */
  const reported = new Map<string, string>()

  const inTime = async <T>(loading: Promise<T>, what: string): Promise<T> => {
    const over = Promise.withResolvers<never>()
    const timer = clock.after(late.has(what) ? 0 : timeoutMs, () => {
      late.add(what)
      const waited = `after ${timeoutMs / 1000} s`
      over.reject(unusable(`${what} is not loaded ${waited}: something at its top level waits for what never comes.`))
    })
    try {
      return await Promise.race([loading, over.promise])
    } finally {
      timer.cancel()
    }
  }

  /** `FILE#NAME` with an absolute path. */
  const referenceOf = async (from: string): Promise<string> => {
    const place = fileOf(from)
    const file = /^\.{0,2}\//.test(place) ? path.resolve(folder, place) : await resolvePackage(place, folder)
    return file + from.slice(place.length)
  }

  const inline = async (reference: string): Promise<Operator> => {
    let module = modules.get(reference)
    if (!module) {
      // Node caches the failure of a module: after a fix, it must be loaded anew.
      module = loadModule(reference, { anew: failed.has(reference) }).then(operatorOfModule)
      modules.set(reference, module)
      module.then(
        () => late.delete(fileOf(reference)),
        () => {
          modules.delete(reference)
          failed.add(reference)
        },
      )
    }
    return await inTime(module, fileOf(reference))
  }

  const isolated = async (reference: string, section: OperatorSettings): Promise<Runner> => {
    const { isolation, budgets, outside, allowUnenforced } = section
    const { openRunner } = await import('../isolation/open-runner.ts')
    return await openRunner(isolation, {
      module: reference,
      secrets: await ownFiles({ ...options.own, settings }),
      limits: limitsOf(budgets),
      outside,
      allowUnenforced,
      clock,
      ...(options.log && { log: options.log }),
    })
  }

  const keyOf = (name: string, { isolation, budgets, outside, allowUnenforced, from }: OperatorSettings): string =>
    JSON.stringify([name, isolation, budgets, outside, allowUnenforced, from])

  const taken = (key: string): Runner | undefined => {
    const kept = waiting.get(key)
    waiting.delete(key)
    kept?.timer.cancel()
    return kept?.runner
  }

  /** Another replica may run the operator, or the settings may be rejected: an unused runner is closed soon. */
  const keep = (key: string, runner: Runner): void => {
    const timer = clock.after(unfetchedMs, () => {
      waiting.delete(key)
      runner.close().catch(() => undefined)
    })
    waiting.set(key, { runner, timer })
  }

  const open = async (name: string, section: OperatorSettings): Promise<LoadedOperator> => {
    const { from, isolation, program } = section
    if (program) {
      if (!options.programs) throw unusable('programs are not hosted here.')
      return await options.programs(name, { ...section, program }, folder)
    }
    const built = known.get(name)
    if (from === undefined && !built) {
      throw unusable(
        `${asSentence(`unknown operator${guessAmong(name, [...known.keys()])}`)} Set from to its file or package.`,
      )
    }
    const reference = from === undefined ? built!.module : await referenceOf(from)
    if (isolation === 'inline') {
      const marks = options.thread?.enter({ operator: name, controller: '-', key: 'its module' }, true)
      marks?.at('load')
      marks?.away()
      try {
        const operator = from === undefined ? await inTime(built!.load(), name) : await inline(reference!)
        return { operator }
      } finally {
        marks?.leave()
      }
    }
    if (reference === undefined) throw unusable(`it is built in, and runs at the level inline only, not ${isolation}.`)
    const key = keyOf(name, section)
    const runner = taken(key) ?? (await isolated(reference, section))
    return { operator: runner.operator, run: runner.run, close: () => runner.close() }
  }

  const load = async (name: string, section: OperatorSettings): Promise<LoadedOperator> => {
    const setting = `operators.${name}${section.program ? '.program' : section.from === undefined ? '' : '.from'}`
    try {
      const loaded = await open(name, section)
      const { name: own } = loaded.operator
      if (own === name) return loaded
      await loaded.close?.()
      throw unusable(`the operator there is called "${own}", and so must its section be.`)
    } catch (error) {
      throw placed(setting, error)
    }
  }

  const look = async (name: string, section: OperatorSettings): Promise<Declared> => {
    if (section.program) {
      // A program declares no settings; but a missing file is reported.
      await programFile(section.program.command, folder).catch((error: unknown) => {
        throw placed(`operators.${name}.program.command`, error)
      })
      return { name, config: undefined }
    }
    const key = keyOf(name, section)
    const seen = described.get(name)
    if (seen?.key === key) return seen.operator
    const { operator, run, close } = await load(name, section)
    if (run && close) {
      described.set(name, { key, operator })
      keep(key, { level: section.isolation, operator, run, close })
    }
    return operator
  }

  const attempt = async (name: string, looking: Promise<Declared>): Promise<readonly Declared[]> => {
    try {
      const operator = await looking
      reported.delete(name)
      return [operator]
    } catch (error) {
      const problem = isMusterError(error) ? error : placed(`operators.${name}`, error)
      if (reported.get(name) !== problem.message) onProblem?.(name, problem)
      reported.set(name, problem.message)
      return []
    }
  }

  return {
    load,
    async declared(seen) {
      settings = seen
      const sections = new Map(Object.entries(seen.operators))
      const unsaid = given.filter(({ name, isOptional }) => isOptional !== true && !sections.has(name))
      const wanted = [...sections].filter(([, { enabled }]) => enabled)
      const found = await Promise.all([
        ...unsaid.map((one) => attempt(one.name, inTime(one.load(), one.name))),
        ...wanted.map(([name, section]) => attempt(name, look(name, section))),
      ])
      return found.flat()
    },
    moduleOf: async (name, { from }) => (from === undefined ? known.get(name)?.module : await referenceOf(from)),
    async close() {
      await Promise.all([...waiting.keys()].map(async (key) => await taken(key)?.close()))
    },
  }
}

/** The error, prefixed with the setting. */
function placed(setting: string, error: unknown): MusterError {
  if (isMusterError(error)) return new MusterError(error, `${setting}: ${error.message}`, { cause: error })
  return unusable(`${setting}: ${error instanceof Error ? error.message : String(error)}`, error)
}
