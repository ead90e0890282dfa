/**
 * One run of a program: started behind its walls on a directory of inputs, ended when it takes too long, and what it left
 * read as that of a stranger.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../clock/clock.ts'
import { formatTime } from '../../kube/duration.ts'
import { MusterError } from '../../kube/errors.ts'
import { cutText, type Hide } from '../../kube/hidden-text.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { readYaml } from '../../kube/yaml.ts'
import { defaultOutputLimits, type ReadOutput, readOutput } from '../output-reader.ts'
import { scalarText } from '../scalar-text.ts'
import { type EgressRefusal, openEgressProxy } from './egress-proxy.ts'
import { ranOutOfMemory } from './out-of-memory.ts'
import {
  defaultProgramLimits,
  type Ended,
  type Network,
  networkTrouble,
  type ExternalProgram,
  type ProgramLimits,
  runProgram,
} from './program.ts'

/** A program, and what it may. */
export interface HostedProgram {
  readonly program: ExternalProgram
  readonly limits?: Partial<ProgramLimits>
  /** It may have the machine's network, where that cannot be cut off. @default false: it is refused then */
  readonly allowNetwork?: boolean
  /** What keeps the network from being cut off here; undefined: nothing. @default it is tried, once a process */
  readonly canary?: () => Promise<string | undefined>
  /** It runs live: with a kubeconfig to the user-workload cluster, and a way out to nothing but what is listed. */
  readonly live?: { readonly allow: readonly string[] }
  /** Which of its controllers run. @default all */
  readonly controllers?: readonly string[]
  /** Names of operators, under which nobody else may write. @default none */
  readonly others?: () => Iterable<string>
  /** Runs it after this time even if nothing changed: for what depends on time alone. @default 600_000 */
  readonly resyncMs?: number
}

export interface Around {
  readonly name: string
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** What its walls are made of. @throws NetworkNotCut where there are none, and nobody said that it may do without */
export async function wallsOf(
  { canary, allowNetwork = false }: HostedProgram,
  { name, clock }: Pick<Around, 'name' | 'clock'>,
): Promise<'cut' | 'open'> {
  const trouble = await (canary ?? (() => networkTrouble(clock)))()
  if (trouble === undefined) return 'cut'
  if (allowNetwork) return 'open'
  // In a log there is no more than this.
  const cure =
    'With allowUnenforced: true it would be run all the same, with the network and the files of this machine.'
  throw new MusterError('NetworkNotCut', `${name}: ${trouble}. ${cure}`)
}

/** What it answers to `input-resources` or `output-resources`. @throws ExternalFailed, and what `read` does */
export async function askProgram<T>(
  command: string,
  hosted: HostedProgram,
  around: Around,
  read: (value: Json, source: string) => T,
): Promise<T> {
  const network = await wallsOf(hosted, around)
  const { code, stdout, stderr, trouble } = await runProgram({ ...hosted, ...around, network }, [command])
  const source = `${around.name} ${command}`
  if (code !== 0 || trouble !== undefined) throw failed(source, hosted, { code, trouble, stderr })
  return read(readYaml(stdout, { source }), source)
}

export interface RunOnceOptions extends Around {
  /** Its inputs. */
  readonly input: string
  /** A folder for what it needs beside; what this leaves there is of no use to anybody. */
  readonly folder: string
  readonly now: number
  /** For one that runs live. */
  readonly kubeconfig?: (() => Promise<string>) | undefined
  readonly onRefused: (refusal: EgressRefusal) => void
  /** Masks what Secrets among its inputs hold. What it printed and wrote is masked before it is cut. */
  readonly hide: Hide
}

/** @throws ExternalFailed, OutputRefused, NetworkNotCut */
export async function runOnce(hosted: HostedProgram, options: RunOnceOptions): Promise<ReadOutput> {
  const output = mkdtempSync(path.join(options.folder, 'output-'))
  try {
    const { code, stderr, trouble } = await start(hosted, options, output)
    // Killed, or ended before it said what became of its controllers: what lies there is half of something.
    if (trouble !== undefined || (code !== 0 && code !== 1)) {
      throw failed(options.name, hosted, { code, trouble, stderr }, options.hide)
    }
    const read = readOutput(output, defaultOutputLimits, options.hide)
    if (!read.results) throw failed(options.name, hosted, { code, trouble: 'it left no results', stderr }, options.hide)
    return read
  } finally {
    discard(output)
  }
}

/** Whatever a program has made of it. */
export function discard(folder: string): void {
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    remove()
  } catch {
    try {
      // Folders that not even their owner may look into.
      unlock(folder)
      remove()
    } catch {
      // What cannot be removed is left to whoever cleans the machine: it must not keep anybody from running.
    }
  }
}

function unlock(folder: string): void {
  chmodSync(folder, 0o700)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) unlock(path.join(folder, entry.name))
  }
}

async function start(hosted: HostedProgram, options: RunOnceOptions, output: string): ReturnType<typeof runProgram> {
  const { name, clock, signal, input, folder, now, kubeconfig, onRefused } = options
  const { program, limits, live, controllers } = hosted
  const words = ['--input-dir', input, '--output-dir', output, '--now', formatTime(now)]
  const chosen = controllers ? ['--controllers', controllers.join(',')] : []
  const running = { program, ...(limits && { limits }), clock, signal, readOnly: input, output }
  const walls = await wallsOf(hosted, options)
  if (!live) return await runProgram({ ...running, network: walls }, ['apply-configuration', ...words, ...chosen])
  if (!kubeconfig) throw new MusterError('ExternalFailed', `${name} runs live, and there is no cluster for it.`)
  const text = await kubeconfig()
  const file = path.join(folder, 'user-workload.kubeconfig')
  writeFileSync(file, text, { mode: 0o600 })
  const socket = path.join(folder, 'egress.sock')
  rmSync(socket, { force: true })
  const allow = [...live.allow, ...serversIn(text)]
  // Where nothing can be enforced, whoever goes by its environment is still kept to the list, and the rest of that is recorded.
  const proxy = await openEgressProxy(walls === 'open' ? undefined : socket, { operator: name, allow, onRefused })
  const network: Network = walls === 'open' ? { proxy: proxy.url } : { egress: socket }
  try {
    const asked = ['apply-configuration-live', ...words, ...chosen, '--kubeconfig', file]
    return await runProgram({ ...running, network, copied: [file] }, asked)
  } finally {
    await proxy.close()
    rmSync(file, { force: true })
  }
}

/** `host:port` of each server that a kubeconfig names. */
function serversIn(kubeconfig: string): readonly string[] {
  const { clusters = [] } = readYaml(kubeconfig) as { readonly clusters?: readonly { readonly cluster?: JsonObject }[] }
  return clusters.flatMap(({ cluster }) => {
    const server = scalarText(cluster?.['server'])
    if (!URL.canParse(server)) return []
    const { hostname, port, protocol } = new URL(server)
    return [`${hostname}:${port || (protocol === 'http:' ? 80 : 443)}`]
  })
}

function failed(
  what: string,
  { limits }: HostedProgram,
  { code, trouble, stderr }: Pick<Ended, 'code' | 'trouble' | 'stderr'>,
  hide: Hide = (text) => text,
): MusterError {
  const { memoryMb } = { ...defaultProgramLimits, ...limits }
  const short = `it ran out of memory, and may have ${memoryMb} MiB for each process (program.memory): `
  const how = trouble ?? `exit code ${code}`
  const isShort = ranOutOfMemory(`${trouble}\n${stderr}`)
  return new MusterError('ExternalFailed', `${what}: ${isShort ? short : ''}${how}${lastLine(stderr, hide)}.`)
}

/** Masked as a whole: a value may have several lines. */
function lastLine(text: string, hide: Hide): string {
  const line = hide(text.trimEnd()).split('\n').at(-1) ?? ''
  return line === '' ? '' : ` (${cutText(line, longestLine)})`
}

const longestLine = 300
