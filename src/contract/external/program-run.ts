/**
 * One run of a program: started in its sandbox on a directory of inputs, ended on time-out; its output is read as
 * untrusted.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../clock/clock.ts'
import { formatTime } from '../../kube/units/duration.ts'
import { contractErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { cutText, type Hide } from '../../kube/text/hidden-text.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { defaultOutputLimits, type ReadOutput, readOutput } from '../directory/output-reader.ts'
import { scalarText } from '../text/scalar-text.ts'
import { type EgressRefusal, openEgressProxy } from './egress-proxy.ts'
import { ranOutOfMemory } from './out-of-memory.ts'
import {
  defaultProgramLimits,
  type Ended,
  type Network,
  programSandboxProblem,
  type ExternalProgram,
  type ProgramLimits,
  runProgram,
} from './program.ts'

/** A program and its permissions. */
export interface HostedProgram {
  readonly program: ExternalProgram
  readonly limits?: Partial<ProgramLimits>
  /** Whether it may run with network access where that cannot be cut off. @default false: it is refused */
  readonly allowNetwork?: boolean
  /** Why the network cannot be cut off on this machine; undefined: it can. @default tested once per process */
  readonly canary?: () => Promise<string | undefined>
  /** It runs live: with a kubeconfig to the user-workload cluster, and egress to the listed targets only. */
  readonly live?: { readonly allow: readonly string[] }
  /** Which of its controllers run. @default all */
  readonly controllers?: readonly string[]
  /** Names of all operators, which no program may use as a field manager. @default none */
  readonly others?: () => Iterable<string>
  /** Runs it after this time even without a change: for what depends on time alone. @default 600_000 */
  readonly resyncMs?: number
}

interface Around {
  readonly name: string
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Its sandbox. @throws NetworkNotCut where there is none, and the configuration does not allow to run without */
export async function sandboxModeOf(
  { canary, allowNetwork = false }: HostedProgram,
  { name, clock }: Pick<Around, 'name' | 'clock'>,
): Promise<'cut' | 'open'> {
  const problem = await (canary ?? (() => programSandboxProblem(clock)))()
  if (problem === undefined) return 'cut'
  if (allowNetwork) return 'open'
  // Log lines are limited.
  const cure =
    'With allowUnenforced: true it would be run all the same, with the network and the files of this machine.'
  throw new MusterError(contractErrors.NetworkNotCut, `${name}: ${problem}. ${cure}`)
}

/** The program's `input-resources` or `output-resources`. @throws ExternalFailed, and the errors of `read` */
export async function askProgram<T>(
  command: string,
  hosted: HostedProgram,
  around: Around,
  read: (value: Json, source: string) => T,
): Promise<T> {
  const network = await sandboxModeOf(hosted, around)
  const { code, stdout, stderr, problem } = await runProgram({ ...hosted, ...around, network }, [command])
  const source = `${around.name} ${command}`
  if (code !== 0 || problem !== undefined) throw failed(source, hosted, { code, problem, stderr })
  return read(readYaml(stdout, { source }), source)
}

interface RunOnceOptions extends Around {
  /** The input directory. */
  readonly input: string
  /** A scratch folder; its content is discarded. */
  readonly folder: string
  readonly now: number
  /** For a live run. */
  readonly kubeconfig?: (() => Promise<string>) | undefined
  readonly onRefused: (refusal: EgressRefusal) => void
  /** Redacts values of Secrets among its inputs. Its output is redacted before it is truncated. */
  readonly hide: Hide
}

/** @throws ExternalFailed, OutputRefused, NetworkNotCut */
export async function runOnce(hosted: HostedProgram, options: RunOnceOptions): Promise<ReadOutput> {
  const output = mkdtempSync(path.join(options.folder, 'output-'))
  try {
    const { code, stderr, problem } = await start(hosted, options, output)
    // Killed, or ended without results: its output is incomplete.
    if (problem !== undefined || (code !== 0 && code !== 1)) {
      throw failed(options.name, hosted, { code, problem, stderr }, options.hide)
    }
    const read = readOutput(output, defaultOutputLimits, options.hide)
    if (!read.results) throw failed(options.name, hosted, { code, problem: 'it left no results', stderr }, options.hide)
    return read
  } finally {
    discard(output)
  }
}

/** Removes the folder, whatever a program has left in it. */
export function discard(folder: string): void {
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    remove()
  } catch {
    try {
      // Folders without permissions for their owner.
      unlock(folder)
      remove()
    } catch {
      // A folder that cannot be removed must not block further runs.
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
  const sandboxMode = await sandboxModeOf(hosted, options)
  if (!live) return await runProgram({ ...running, network: sandboxMode }, ['apply-configuration', ...words, ...chosen])
  if (!kubeconfig)
    throw new MusterError(contractErrors.ExternalFailed, `${name} runs live, and there is no cluster for it.`)
  const text = await kubeconfig()
  const file = path.join(folder, 'user-workload.kubeconfig')
  writeFileSync(file, text, { mode: 0o600 })
  const socket = path.join(folder, 'egress.sock')
  rmSync(socket, { force: true })
  const allow = [...live.allow, ...serversIn(text)]
  // Without a sandbox the proxy is not enforced, but programs that honour HTTP_PROXY are still limited and recorded.
  const proxy = await openEgressProxy(sandboxMode === 'open' ? undefined : socket, { operator: name, allow, onRefused })
  const network: Network = sandboxMode === 'open' ? { proxy: proxy.url } : { egress: socket }
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
  { code, problem, stderr }: Pick<Ended, 'code' | 'problem' | 'stderr'>,
  hide: Hide = (text) => text,
): MusterError {
  const { memoryMb } = { ...defaultProgramLimits, ...limits }
  const short = `it ran out of memory, and may have ${memoryMb} MiB for each process (program.memory): `
  const how = problem ?? `exit code ${code}`
  const isShort = ranOutOfMemory(`${problem}\n${stderr}`)
  return new MusterError(
    contractErrors.ExternalFailed,
    `${what}: ${isShort ? short : ''}${how}${lastLine(stderr, hide)}.`,
  )
}

/** Redacted before splitting: a value may have several lines. */
function lastLine(text: string, hide: Hide): string {
  const line = hide(text.trimEnd()).split('\n').at(-1) ?? ''
  return line === '' ? '' : ` (${cutText(line, longestLine)})`
}

const longestLine = 300
