/**
 * A command of the contract for a program of the configuration, run with the same sandbox, limits and environment as under a
 * manager.
 */
import {
  chmodSync,
  constants,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../clock/system-clock.ts'
import { parseKubeconfig } from '../../client/credentials/kubeconfig.ts'
import { loadConnection } from '../../client/load-connection.ts'
import { contractCommands, isContractCommand } from '../../contract/commands.ts'
import { openEgressProxy } from '../../contract/external/egress-proxy.ts'
import { programOf } from '../../contract/external/load-program.ts'
import { sandboxModeOf } from '../../contract/external/program-run.ts'
import { type Network, runProgram } from '../../contract/external/program.ts'
import { openProgramFolder } from '../../contract/external/programs-folder.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { OperatorSettings, ProgramSettings } from '../../manager/config/operator-settings.ts'
import { ownFiles } from '../../manager/config/own-files.ts'
import type { Settings } from '../../manager/config/settings.ts'

interface ProgramCommand {
  readonly name: string
  readonly section: OperatorSettings & { readonly program: ProgramSettings }
  /** The configuration file: its paths are relative to its folder, and the program may not read it. */
  readonly file: string
  readonly settings: Settings
  readonly words: readonly string[]
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly signal: AbortSignal
}

/** Resolves to the exit code. @throws ModuleUnusable, NetworkNotCut; for a live run also errors of the kubeconfig */
export async function runProgramCommand(asked: ProgramCommand): Promise<number> {
  const { name, section, file, err, signal } = asked
  const [command, ...given] = asked.words
  if (!isContractCommand(command)) {
    err(`error: unknown command "${command ?? ''}" for "${name}": ${contractCommands.join(', ')}`)
    return 1
  }
  const hidden = await ownFiles({ file, settings: asked.settings })
  const hosted = await programOf(section, path.dirname(file), { hidden })
  const sandboxMode = await sandboxModeOf(hosted, { name, clock: systemClock })
  const words = [command, ...withAbsolutePaths(given)]
  const { controllers } = hosted
  const isRun = command.startsWith('apply-')
  if (isRun && controllers && !words.includes('--controllers')) words.push('--controllers', controllers.join(','))
  const input = valueOf('--input-dir', words)
  const output = valueOf('--output-dir', words)
  if (output !== undefined) mkdirSync(output, { recursive: true })
  const folder = openProgramFolder(name)
  const run = async (network: Network, copied: readonly string[] = []): Promise<number> => {
    const readOnly = input !== undefined && existsSync(input) ? shared(input, folder) : undefined
    const outputs = output === undefined ? {} : { output, collected: collecting(folder) }
    const places = { ...(readOnly !== undefined && { readOnly }), ...outputs, copied }
    const running = { ...hosted, ...places, network, clock: systemClock, signal }
    const seen = words.map((word, at) => (words[at - 1] === '--input-dir' ? (readOnly ?? word) : word))
    const { code, stdout, stderr, problem } = await runProgram(running, seen)
    if (output !== undefined) copyOutput(collecting(folder), output)
    if (stdout !== '') asked.out(stdout.trimEnd())
    if (stderr !== '') err(stderr.trimEnd())
    if (problem !== undefined) err(`error: ${name}: ${problem}`)
    return problem === undefined ? (code ?? 1) : 1
  }
  const runLive = async (): Promise<number> => {
    const kubeconfig = valueOf('--kubeconfig', words) ?? defaultKubeconfig()
    if (!words.includes(kubeconfig)) words.push('--kubeconfig', kubeconfig)
    const { server } = await loadConnection({ kubeconfig })
    const socket = path.join(folder, 'egress.sock')
    const proxy = await openEgressProxy(sandboxMode === 'open' ? undefined : socket, {
      operator: name,
      allow: [...(hosted.live?.allow ?? []), addressOf(server)],
      onRefused: ({ message }) => err(`warning: ${message}`),
    })
    try {
      const copied = [kubeconfig, ...(await filesOf(kubeconfig))]
      return await run(sandboxMode === 'open' ? { proxy: proxy.url } : { egress: socket }, copied)
    } finally {
      await proxy.close()
    }
  }
  try {
    return command === 'apply-configuration-live' ? await runLive() : await run(sandboxMode)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A copy that the program can read: started by root it has another uid, and inputs are readable by their owner only. */
function shared(input: string, folder: string): string {
  if (process.getuid?.() !== 0) return input
  const within = (place: string): readonly string[] => [
    place,
    ...readdirSync(place, { recursive: true, encoding: 'utf8' }).map((name) => path.join(place, name)),
  ]
  if (within(input).every((each) => (statSync(each).mode & 0o004) !== 0)) return input
  const copy = path.join(folder, 'input')
  cpSync(input, copy, { recursive: true, dereference: true })
  for (const each of within(copy)) chmodSync(each, statSync(each).isDirectory() ? 0o755 : 0o644)
  return copy
}

function collecting(folder: string): string {
  const place = path.join(folder, 'output')
  mkdirSync(place, { recursive: true })
  return place
}

/** Replaces a link that an earlier run left, instead of writing through it. */
function copyOutput(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)]
    const isFolder = lstatSync(target, { throwIfNoEntry: false })?.isDirectory() ?? false
    if (!isFolder || !entry.isDirectory()) rmSync(target, { recursive: true, force: true })
    if (entry.isFile()) copyFileSync(source, target, constants.COPYFILE_EXCL)
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    else if (entry.isDirectory()) {
      mkdirSync(target, { recursive: true })
      copyOutput(source, target)
    }
  }
}

/** The cluster and user of the current context. */
async function filesOf(kubeconfig: string): Promise<readonly string[]> {
  const parsed = await parseKubeconfig(readFileSync(kubeconfig, 'utf8'), kubeconfig, { file: true })
  const { contexts, clusters, users, currentContext = '' } = parsed
  const { cluster = '', user = '' } = contexts.get(currentContext)?.value ?? {}
  const { certificateAuthority } = clusters.get(cluster)?.value ?? {}
  const { clientCertificate, clientKey, tokenFile } = users.get(user)?.value ?? {}
  return [certificateAuthority, clientCertificate, clientKey, tokenFile]
    .filter((each) => each !== undefined)
    .map((each) => path.resolve(path.dirname(kubeconfig), each))
}

const paths: ReadonlySet<string> = new Set(['--input-dir', '--output-dir', '--kubeconfig'])

/** Absolute paths: the program may start in another folder. */
function withAbsolutePaths(words: readonly string[]): readonly string[] {
  const apart = words.flatMap((word) => {
    const [flag = '', ...value] = word.split('=')
    return paths.has(flag) && value.length > 0 ? [flag, value.join('=')] : [word]
  })
  return apart.map((word, at) => (paths.has(apart[at - 1] ?? '') ? path.resolve(word) : word))
}

function valueOf(flag: string, words: readonly string[]): string | undefined {
  const at = words.indexOf(flag)
  return at < 0 ? undefined : words[at + 1]
}

/** @throws InvalidFlag for several files: a program gets one */
function defaultKubeconfig(): string {
  const files = (process.env['KUBECONFIG'] ?? '').split(path.delimiter).filter((each) => each !== '')
  if (files.length > 1) {
    throw new MusterError(flagErrors.InvalidFlag, 'KUBECONFIG names several files: pass one with --kubeconfig.')
  }
  return path.resolve(files[0] ?? path.join(homedir(), '.kube', 'config'))
}

/** The form that a proxy request uses: `127.0.0.1:6443`. */
function addressOf(server: string): string {
  const { hostname, port, protocol } = new URL(server)
  return `${hostname}:${port || (protocol === 'http:' ? 80 : 443)}`
}
