/**
 * The configuration of a sidecar: listen address, tokens, probes, state rules, actions.
 *
 * The file is YAML or JSON (README.md has an example). It is validated completely before anything starts, and an error
 * names the place: `actions.backup.timeout`.
 */
import path from 'node:path'
import { durationToMs, parseDuration } from '../kube/units/duration.ts'
import { sidecarErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { isJsonArray } from '../kube/json-member.ts'
import { isJsonObject, type Json } from '../kube/json.ts'
import type { ActionSpec, EnvironmentSpec } from './action.ts'
import type { ProbeSpec } from './probe.ts'
import type { StateRule } from './state.ts'

export interface SidecarListenAddress {
  readonly host: string
  /** 0 for a free port. */
  readonly port: number
}

export interface SidecarConfig {
  /** @default 127.0.0.1:8787 */
  readonly listen: SidecarListenAddress
  readonly tokenFile: string
  /** The folder of the action records. It must outlive the process, and belong to this sidecar alone. */
  readonly stateDirectory: string
  /** @default 2s */
  readonly intervalMs: number
  readonly probes: ReadonlyMap<string, ProbeSpec>
  /** The first rule that matches is the state. */
  readonly states: readonly StateRule[]
  readonly actions: ReadonlyMap<string, ActionSpec>
  /** Actions at once. @default 1 */
  readonly concurrency: number
  /** The number of ended actions to keep. @default 100 */
  readonly remember: number
  /** When asked to stop: `wait` for running actions, or `leave` them. @default wait */
  readonly onStop: 'wait' | 'leave'
}

/** Flags and environment variables; they override the file. */
export interface ConfigOverrides {
  readonly listen?: string | undefined
  readonly tokenFile?: string | undefined
  readonly stateDirectory?: string | undefined
}

/**
 * Reads the file, if given, and applies the overrides. Paths in the file are relative to it.
 * @throws SidecarConfigInvalid
 */
export async function loadConfig(file: string | undefined, overrides: ConfigOverrides = {}): Promise<SidecarConfig> {
  const folder = file === undefined ? process.cwd() : path.dirname(path.resolve(file))
  return readConfig(file === undefined ? {} : await readDocument(file), folder, overrides)
}

async function readDocument(file: string): Promise<Json> {
  const { readFile } = await import('node:fs/promises')
  const content = await readFile(file, 'utf8').catch((error: unknown) => {
    throw invalid(file, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`)
  })
  if (!file.endsWith('.json')) {
    const { readYaml } = await import('../kube/yaml/yaml.ts')
    return readYaml(content, { source: file, strict: true })
  }
  try {
    return JSON.parse(content) as Json
  } catch {
    // The parser's message quotes the text, which may hold secrets.
    throw invalid(file, 'is not valid JSON')
  }
}

export function readConfig(value: Json, folder: string, overrides: ConfigOverrides = {}): SidecarConfig {
  const config = members(value, 'the configuration', topLevel)
  const resolve = (file: string): string => path.resolve(folder, file)
  const pathAt = (name: 'tokenFile' | 'stateDirectory'): string => {
    const override = overrides[name]
    if (override !== undefined) return path.resolve(override)
    return resolve(text(config.get(name), name))
  }
  const probes = named(config.get('probes'), 'probes', (probe, place) => readProbe(probe, place, resolve))
  const actions = named(config.get('actions'), 'actions', (action, place) => readAction(action, place, resolve))
  const states = items(config.get('states'), 'states', readRule)
  if (probes.size === 0)
    throw invalid('probes', 'must name at least one: without it nothing is known of the application')
  states.forEach(({ probe, action }, index) => {
    if (probe !== undefined && !probes.has(probe)) throw invalid(`states[${index}].probe`, `"${probe}" is no probe`)
    if (action !== undefined && !actions.has(action))
      throw invalid(`states[${index}].action`, `"${action}" is no action`)
  })
  return {
    listen: readListen(overrides.listen ?? text(config.get('listen') ?? '127.0.0.1:8787', 'listen')),
    tokenFile: pathAt('tokenFile'),
    stateDirectory: pathAt('stateDirectory'),
    intervalMs: duration(config.get('interval') ?? '2s', 'interval'),
    probes,
    states,
    actions,
    concurrency: count(config.get('concurrency') ?? 1, 'concurrency'),
    remember: count(config.get('remember') ?? 100, 'remember'),
    onStop: oneOf(config.get('onStop') ?? 'wait', 'onStop', ['wait', 'leave']),
  }
}

const topLevel = [
  'listen',
  'tokenFile',
  'stateDirectory',
  'interval',
  'probes',
  'states',
  'actions',
  'concurrency',
  'remember',
  'onStop',
] as const

type Resolve = (file: string) => string

const probeKinds = ['http', 'file', 'command', 'tcp'] as const

const probeMembers = {
  http: ['status', 'path'],
  file: [],
  command: ['answers', 'directory', 'environment'],
  tcp: [],
} as const

function readProbe(value: Json, place: string, resolve: Resolve): ProbeSpec {
  const kinds = isJsonObject(value) ? probeKinds.filter((kind) => Object.hasOwn(value, kind)) : []
  const [kind] = kinds
  if (kind === undefined || kinds.length > 1) throw invalid(place, `must have one of ${probeKinds.join(', ')}`)
  const probe = members(value, place, [kind, 'timeout', ...probeMembers[kind]])
  const at = (name: string): string => `${place}.${name}`
  const timeoutMs = duration(probe.get('timeout') ?? '1s', at('timeout'))
  switch (kind) {
    case 'http': {
      const steps = probe.get('path')
      return {
        kind,
        timeoutMs,
        url: httpUrl(text(probe.get('http'), at('http')), at('http')),
        status: count(probe.get('status') ?? 200, at('status')),
        ...(steps === undefined ? {} : { path: text(steps, at('path')).replace(/^\./, '').split('.') }),
      }
    }
    case 'file':
      return { kind, timeoutMs, file: resolve(text(probe.get('file'), at('file'))) }
    case 'command': {
      const directory = probe.get('directory')
      return {
        kind,
        timeoutMs,
        command: readCommand(probe.get('command'), at('command')),
        answers: items(probe.get('answers') ?? [0], at('answers'), exitCode),
        ...(directory === undefined ? {} : { directory: resolve(text(directory, at('directory'))) }),
        environment: readEnvironment(probe.get('environment'), at('environment')),
      }
    }
    default:
      return { kind, timeoutMs, ...readAddress(text(probe.get('tcp'), at('tcp')), at('tcp')) }
  }
}

function readAction(value: Json, place: string, resolve: Resolve): ActionSpec {
  const action = members(value, place, ['command', 'timeout', 'grace', 'directory', 'environment'])
  const directory = action.get('directory')
  return {
    command: readCommand(action.get('command'), `${place}.command`),
    timeoutMs: duration(action.get('timeout') ?? '10m', `${place}.timeout`),
    graceMs: duration(action.get('grace') ?? '10s', `${place}.grace`),
    ...(directory === undefined ? {} : { directory: resolve(text(directory, `${place}.directory`)) }),
    environment: readEnvironment(action.get('environment'), `${place}.environment`),
  }
}

function readEnvironment(value: Json | undefined, place: string): EnvironmentSpec {
  const environment = members(value ?? {}, place, ['pass', 'set', 'fromInput'])
  const texts = (name: 'set' | 'fromInput'): Readonly<Record<string, string>> =>
    Object.fromEntries(named(environment.get(name), `${place}.${name}`, text))
  return {
    pass: items(environment.get('pass') ?? [], `${place}.pass`, text),
    set: texts('set'),
    fromInput: texts('fromInput'),
  }
}

function readRule(value: Json, place: string): StateRule {
  const rule = members(value, place, ['state', 'probe', 'ok', 'word', 'code', 'action'])
  const [probe, ok, word, code, action] = ['probe', 'ok', 'word', 'code', 'action'].map((name) => rule.get(name))
  if (probe === undefined && (ok ?? word ?? code) !== undefined)
    throw invalid(place, 'has conditions, but names no probe')
  if (ok !== undefined && typeof ok !== 'boolean') throw invalid(`${place}.ok`, 'must be true or false')
  return {
    state: text(rule.get('state'), `${place}.state`),
    ...(probe === undefined ? {} : { probe: text(probe, `${place}.probe`) }),
    ...(ok === undefined ? {} : { ok }),
    ...(word === undefined ? {} : { word: items(listed(word), `${place}.word`, text) }),
    ...(code === undefined ? {} : { code: items(listed(code), `${place}.code`, exitCode) }),
    ...(action === undefined ? {} : { action: text(action, `${place}.action`) }),
  }
}

function listed(value: Json): Json {
  return isJsonArray(value) ? value : [value]
}

function readCommand(value: Json | undefined, place: string): readonly string[] {
  if (typeof value === 'string') throw invalid(place, 'must be a list of program and arguments: no shell reads it')
  const command = items(value, place, text)
  if (command.length === 0) throw invalid(place, 'must name a program')
  return command
}

/** `127.0.0.1:8787`, `[::1]:8787`, and `:8787` for every address. */
export function readListen(value: string): SidecarListenAddress {
  return readAddress(value.startsWith(':') ? `0.0.0.0${value}` : value, 'listen')
}

function readAddress(value: string, place: string): SidecarListenAddress {
  const [, ipv6, name, digits] = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(value) ?? []
  const host = ipv6 ?? name
  if (host === undefined || Number(digits) > 65_535) throw invalid(place, 'must be HOST:PORT')
  return { host, port: Number(digits) }
}

function httpUrl(value: string, place: string): string {
  const isHttp = URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol)
  if (!isHttp) throw invalid(place, 'must be an http:// or https:// address')
  return value
}

function members(
  value: Json | undefined,
  place: string,
  known: readonly string[],
): ReadonlyMap<string, Json | undefined> {
  if (!isJsonObject(value)) throw invalid(place, 'must be a mapping')
  const stranger = Object.keys(value).find((name) => !known.includes(name))
  if (stranger !== undefined) throw invalid(place, `has no "${stranger}"; it may have: ${known.join(', ')}`)
  return new Map(Object.entries(value))
}

function named<T>(
  value: Json | undefined,
  place: string,
  read: (value: Json, place: string) => T,
): ReadonlyMap<string, T> {
  if (value === undefined) return new Map()
  if (!isJsonObject(value)) throw invalid(place, 'must be a mapping')
  return new Map(Object.entries(value).map(([name, item]) => [name, read(item ?? null, `${place}.${name}`)]))
}

function items<T>(value: Json | undefined, place: string, read: (value: Json, place: string) => T): readonly T[] {
  if (!isJsonArray(value)) throw invalid(place, value === undefined ? 'is missing' : 'must be a list')
  return value.map((item, index) => read(item, `${place}[${index}]`))
}

function text(value: Json | undefined, place: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw invalid(place, value === undefined ? 'is missing' : 'must be a text')
}

function count(value: Json, place: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) return value
  throw invalid(place, 'must be a whole number from 1 on')
}

function exitCode(value: Json, place: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw invalid(place, 'must be a whole number')
}

function duration(value: Json, place: string): number {
  const words = text(value, place)
  let ms = 0
  try {
    ms = durationToMs(parseDuration(words))
  } catch {
    throw invalid(place, `"${words}" is no duration, such as 90s or 1h30m`)
  }
  if (ms < 1) throw invalid(place, 'must be longer than nothing')
  return ms
}

function oneOf<const T extends string>(value: Json, place: string, choices: readonly T[]): T {
  const choice = choices.find((candidate) => candidate === value)
  if (choice === undefined) throw invalid(place, `must be one of ${choices.join(', ')}`)
  return choice
}

function invalid(place: string, problem: string): MusterError {
  return new MusterError(sidecarErrors.SidecarConfigInvalid, `${place} ${problem}.`)
}
