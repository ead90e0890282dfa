/**
 * The configuration in force. It follows its source: what is in order is taken over, what is not is named and changes
 * nothing, and when it is mended it is taken over then.
 *
 * At the start there is no last good one. What a person has just written (a file, the environment, flags) is an error then.
 * A ConfigMap is not: the manager comes up and can be asked what is wrong, on the defaults, but **paused**: under settings
 * that nobody chose nothing is written. Where there is no ConfigMap, defaults are what was chosen, and all runs.
 */
import { isMusterError, MusterError } from '../../kube/errors.ts'
import { type SettingChange, changesBetween } from './changes.ts'
import { type Configuration, readConfiguration } from './configuration.ts'
import { defaultText } from './default-text.ts'
import type { Layer } from './layer.ts'
import { environmentLayer, flagLayer } from './override.ts'
import type { Declared } from './schema.ts'
import type { Settings } from './settings.ts'
import type { ConfigurationSource } from './source.ts'

export interface OpenConfigurationOptions {
  /** @default none: defaults, environment and flags */
  readonly source?: ConfigurationSource | undefined
  /** `MUSTER__path__to__setting`. @default empty */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined
  /** `path=value`, each. @default none */
  readonly flags?: readonly string[] | undefined
  /** Layers over all others: flags of an operator that is alone. @default none */
  readonly over?: readonly Layer[] | undefined
  /**
   * Whose sections are known: some operators, or those that the settings name once they are loaded. The settings are in
   * order by then but for what operators declare.
   */
  readonly operators?: readonly Declared[] | ((settings: Settings) => Promise<readonly Declared[]>) | undefined
  /** There is a new one, and what is different. It is in force when this is called. */
  readonly onChange?: ((configuration: Configuration, changes: readonly SettingChange[]) => void) | undefined
  /** What keeps the source from being followed; what was in force stays in force. */
  readonly onProblem?: ((problem: MusterError) => void) | undefined
}

export interface OpenConfiguration {
  /** The one in force. */
  readonly current: Configuration
  /** What is wrong with what the source says now; undefined: nothing. */
  readonly problem: MusterError | undefined
  /** Nothing has been in order yet: these are the defaults, paused. Settings that need a restart are still free. */
  readonly isFallback: boolean
  /** Resolves when what was noticed so far is in force, or refused. */
  settled(): Promise<void>
  close(): Promise<void>
}

/** @throws InvalidConfiguration for a file, an environment or flags that are not in order */
export async function openConfiguration(options: OpenConfigurationOptions = {}): Promise<OpenConfiguration> {
  const { source, onChange = () => undefined, onProblem = () => undefined } = options
  let problem: MusterError | undefined
  let isFallback = false
  let isClosed = false
  let isCreated = false
  /** The text that was looked at last: the same is not looked at again. */
  let looked: { readonly text: string | undefined } | undefined

  const tell = (error: unknown, isLasting = true): void => {
    const found = named(error)
    if (isLasting) {
      if (problem?.message === found.message) return
      problem = found
    }
    onProblem(found)
  }

  const named = (error: unknown): MusterError => {
    const message = error instanceof Error ? error.message : String(error)
    const name = isMusterError(error) ? error.name : 'InvalidConfiguration'
    if (isFallback)
      return new MusterError(name, `Defaults are in force, and nothing runs: ${message}`, { cause: error })
    return isMusterError(error) ? error : new MusterError(name, message, { cause: error })
  }

  const evaluate = async (text: string | undefined): Promise<Configuration> => {
    const said = source && text !== undefined ? [await textLayer(source.name, text)] : []
    return (await composeConfiguration(said, options)).configuration
  }

  /** What the source says; made first where there is nothing. */
  const obtain = async (): Promise<string | undefined> => {
    if (!source) return undefined
    const text = await source.read()
    if (text !== undefined || isCreated || !source.create) return text
    isCreated = true
    try {
      const { operators } = await composeConfiguration([], options)
      return await source.create(defaultText(operators))
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error)
      const message = `${source.name} is not there and cannot be created, so that defaults are in force: ${cause}`
      tell(new MusterError('InvalidConfiguration', message), false)
      return undefined
    }
  }

  const first = async (): Promise<Configuration> => {
    // Whatever the source says, these must be in order: they are how its manager was started.
    const { configuration: bare } = await composeConfiguration([], options)
    if (!source) return bare
    try {
      const text = await obtain()
      looked = { text }
      if (text === undefined && !source.create) throw missing(source.name)
      return text === undefined ? bare : await evaluate(text)
    } catch (error) {
      if (!source.isRemote) throw error
      isFallback = true
      tell(error)
      const settings: Settings = { ...bare.settings, paused: true }
      const sources = new Map(bare.sources).set('paused', `${source.name} is not in order`)
      return { settings, sources }
    }
  }

  let current = await first()

  const follow = async (): Promise<void> => {
    let changes: readonly SettingChange[] = []
    try {
      const text = isFallback ? await obtain() : await source!.read()
      if (looked && looked.text === text && !isFallback) return
      looked = { text }
      const next = await take(text)
      if (isClosed) return
      changes = changesBetween(current, next)
      current = next
      problem = undefined
      isFallback = false
    } catch (error) {
      if (!isClosed) tell(error)
    }
    if (changes.length > 0) onChange(current, changes)
  }

  /** Nothing at all is what a file looks like that somebody is about to write. */
  const take = async (text: string | undefined): Promise<Configuration> => {
    if (text === undefined && !isFallback) throw missing(source!.name)
    if (text !== undefined && text.trim() === '') {
      throw new MusterError('InvalidConfiguration', `${source!.name} is empty; for the defaults, write {}.`)
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
      // One at a time, and one more for all that comes meanwhile.
      if (isWaiting || isClosed) return
      isWaiting = true
      following = afterwards(following)
    },
    (error) => tell(error, false),
  )

  return {
    get current() {
      return current
    },
    get problem() {
      return problem
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
  return new MusterError('InvalidConfiguration', `${name} is not there.`)
}

/** @throws InvalidYaml, naming the line */
export async function textLayer(source: string, text: string): Promise<Layer> {
  const { readYaml } = await import('../../kube/yaml.ts')
  return { source, text, value: readYaml(text, { source, strict: true }) }
}

export type Composition = Pick<OpenConfigurationOptions, 'environment' | 'flags' | 'over' | 'operators'>

/**
 * A configuration of what a source says and what stands over it. It is read twice: the first time it says which operators
 * there are, and they say how their part is to be read.
 * @throws InvalidConfiguration
 */
export async function composeConfiguration(
  below: readonly Layer[],
  composition: Composition,
): Promise<{ readonly configuration: Configuration; readonly operators: readonly Declared[] }> {
  const { environment = {}, flags = [], over = [], operators: known = [] } = composition
  const read = (operators: readonly Declared[]): Configuration =>
    readConfiguration(
      [...below, environmentLayer(environment, operators), flagLayer(flags, operators), ...over],
      operators,
    )
  const operators = typeof known === 'function' ? await known(read([]).settings) : known
  return { configuration: read(operators), operators }
}
