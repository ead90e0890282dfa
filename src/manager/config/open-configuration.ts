/**
 * The configuration in force. It follows its source: a valid change is applied; an invalid one is reported and changes
 * nothing until it is fixed.
 *
 * At the start there is no earlier valid one. An invalid file, environment or flag is an error then. An invalid
 * ConfigMap is not: the manager starts with the defaults and reports the problem, but **paused**, so that nothing is
 * written under settings that the administrator did not choose. Without a ConfigMap, the defaults are the
 * administrator's choice, and everything runs.
 */
import { managerErrors } from '../errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import type { KubeObject } from '../../kube/object.ts'
import { type SettingChange, changesBetween } from './changes.ts'
import { type Configuration, readConfiguration } from './configuration.ts'
import { defaultText } from './default-text.ts'
import type { Layer } from './layer.ts'
import { environmentLayer, flagLayer } from './override.ts'
import { pauseOperators } from './paused-operators.ts'
import type { Declared } from './schema.ts'
import type { Settings } from './settings.ts'
import type { ConfigurationSource } from './source.ts'

export interface OpenConfigurationOptions {
  /** @default none: defaults, environment and flags */
  readonly source?: ConfigurationSource | undefined
  /** Layers below the source: the defaults of a Pod. @default none */
  readonly defaults?: readonly Layer[] | undefined
  /** `MUSTER__path__to__setting`. @default empty */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
  /** Each is `path=value`. @default none */
  readonly flags?: readonly string[] | undefined
  /** Layers above all others: flags of a single operator. @default none */
  readonly over?: readonly Layer[] | undefined
  /**
   * The operators whose sections are known; or a function that loads those in the settings, which are valid by then
   * except for the sections' `config`.
   */
  readonly operators?: readonly Declared[] | ((settings: Settings) => Promise<readonly Declared[]>) | undefined
  /** A new configuration is in force, with these changes. */
  readonly onChange?: ((configuration: Configuration, changes: readonly SettingChange[]) => void) | undefined
  /** A problem of the source; the configuration in force stays. `isRejected`: its content is invalid. */
  readonly onProblem?: ((problem: MusterError, isRejected: boolean) => void) | undefined
  /** The source is valid again, and in force: after a rejection that `onProblem` reported. */
  readonly onMended?: (() => void) | undefined
}

export interface OpenConfiguration {
  /** The configuration in force. */
  readonly current: Configuration
  /** The source: `muster.yaml`, `ConfigMap muster/config`; undefined: defaults, environment and flags alone. */
  readonly source: string | undefined
  /** The ConfigMap, if the source is one that exists: Events about the configuration belong to it. */
  object(): KubeObject | undefined
  /** The problem of the source's current content; undefined: none. */
  readonly problem: MusterError | undefined
  /** Settings that were changed since the start and take effect with a restart. */
  readonly pendingRestart: readonly string[]
  /** There was no valid content yet: these are the defaults, paused. Settings that need a restart may still change. */
  readonly isFallback: boolean
  /** Resolves when all noticed changes are in force or rejected. */
  settled(): Promise<void>
  close(): Promise<void>
}

/** @throws InvalidConfiguration for an invalid file, environment or flag */
export async function openConfiguration(options: OpenConfigurationOptions = {}): Promise<OpenConfiguration> {
  const { source, onChange = () => undefined, onProblem = () => undefined, onMended = () => undefined } = options
  let problem: MusterError | undefined
  let isFallback = false
  let isClosed = false
  let isCreated = false
  /** The last content that was read: the same is not processed again. */
  let looked: { readonly text: string | undefined; readonly paused: string } | undefined
  const pausedNow = (): string => (source?.pausedOperators?.() ?? []).join()

  const report = (error: unknown, isLasting = true): void => {
    const found = named(error)
    if (isLasting) {
      if (problem?.message === found.message) return
      problem = found
    }
    onProblem(found, isLasting)
  }

  const named = (error: unknown): MusterError => {
    const message = error instanceof Error ? error.message : String(error)
    const definition = isMusterError(error) ? error : managerErrors.InvalidConfiguration
    if (isFallback)
      return new MusterError(definition, `Defaults are in force, and nothing runs: ${message}`, { cause: error })
    return isMusterError(error) ? error : new MusterError(definition, message, { cause: error })
  }

  const evaluate = async (text: string | undefined): Promise<Configuration> => {
    const said = source && text !== undefined ? [source.layer?.(text) ?? (await textLayer(source.name, text))] : []
    const { configuration } = await composeConfiguration(said, options)
    return pauseOperators(configuration, source?.pausedOperators?.() ?? [], source?.name ?? '')
  }

  /** The content of the source, created if there is none. */
  const obtain = async (): Promise<string | undefined> => {
    if (!source) return undefined
    const text = await source.read()
    if (text !== undefined || isCreated || !source.create) return text
    isCreated = true
    try {
      const { operators } = await composeConfiguration([], options)
      return await source.create(defaultText(operators, options.defaults))
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error)
      const message = `${source.name} is not there and cannot be created, so that defaults are in force: ${cause}`
      report(new MusterError(managerErrors.InvalidConfiguration, message), false)
      return undefined
    }
  }

  const first = async (): Promise<Configuration> => {
    // Environment and flags must be valid whatever the source contains: the process was started with them.
    const { configuration: bare } = await composeConfiguration([], options)
    if (!source) return bare
    try {
      const text = await obtain()
      looked = { text, paused: pausedNow() }
      if (text === undefined && !source.create) throw missing(source.name)
      return text === undefined ? bare : await evaluate(text)
    } catch (error) {
      if (!source.isRemote) throw error
      isFallback = true
      report(error)
      const settings: Settings = { ...bare.settings, paused: true }
      const sources = new Map(bare.sources).set('paused', `${source.name} is invalid`)
      return { settings, sources }
    }
  }

  let current = await first()
  /** What the process was started with. */
  const initial = current

  const follow = async (): Promise<void> => {
    let changes: readonly SettingChange[] = []
    const rejected = problem
    try {
      const text = isFallback ? await obtain() : await source!.read()
      // A problem may have been one of reading: then the same content is valid again.
      const paused = pausedNow()
      if (looked && looked.text === text && looked.paused === paused && !isFallback && !problem) return
      looked = { text, paused }
      const next = await take(text)
      if (isClosed) return
      changes = changesBetween(current, next)
      current = next
      problem = undefined
      isFallback = false
    } catch (error) {
      if (!isClosed) report(error)
    }
    if (rejected && !problem && !isClosed) onMended()
    if (changes.length > 0) onChange(current, changes)
  }

  /** An empty file may be one that is about to be written. */
  const take = async (text: string | undefined): Promise<Configuration> => {
    if (text === undefined && !isFallback) throw missing(source!.name)
    if (text !== undefined && text.trim() === '') {
      throw new MusterError(managerErrors.InvalidConfiguration, `${source!.name} is empty; for the defaults, write {}.`)
    }
    return await evaluate(text)
  }

  let following: Promise<void> = Promise.resolve()
  let isWaiting = false
  const afterwards = async (before: Promise<void>): Promise<void> => {
    await before
    isWaiting = false
    await follow()
  }
  const stop = source?.watch(
    () => {
      // One at a time, and one more for all changes meanwhile.
      if (isWaiting || isClosed) return
      isWaiting = true
      following = afterwards(following)
    },
    (error) => report(error, false),
  )

  return {
    get current() {
      return current
    },
    source: source?.name,
    object: () => source?.object?.(),
    get problem() {
      return problem
    },
    get pendingRestart() {
      return changesBetween(initial, current).flatMap(({ path, effect }) =>
        effect === 'restart' ? [path.join('.')] : [],
      )
    },
    get isFallback() {
      return isFallback
    },
    async settled() {
      for (let seen: unknown; seen !== following;) {
        seen = following
        await following
      }
    },
    async close() {
      isClosed = true
      stop?.()
      await following
    },
  }
}

function missing(name: string): MusterError {
  return new MusterError(managerErrors.InvalidConfiguration, `${name} is not there.`)
}

/** @throws InvalidYaml, naming the line */
export async function textLayer(source: string, text: string): Promise<Layer> {
  const { readYaml } = await import('../../kube/yaml/yaml.ts')
  return { source, text, value: readYaml(text, { source, strict: true }) }
}

type Composition = Pick<OpenConfigurationOptions, 'defaults' | 'environment' | 'flags' | 'over' | 'operators'>

/**
 * The configuration from a source and the layers above it. It is read twice: the first time for the operators in it,
 * which then declare how their `config` is read.
 * @throws InvalidConfiguration
 */
export async function composeConfiguration(
  below: readonly Layer[],
  composition: Composition,
): Promise<{ readonly configuration: Configuration; readonly operators: readonly Declared[] }> {
  const { defaults = [], environment = {}, flags = [], over = [], operators: known = [] } = composition
  const read = (operators: readonly Declared[]): Configuration =>
    readConfiguration(
      [...defaults, ...below, environmentLayer(environment, operators), flagLayer(flags, operators), ...over],
      operators,
    )
  const operators = typeof known === 'function' ? await known(read([]).settings) : known
  return { configuration: read(operators), operators }
}
