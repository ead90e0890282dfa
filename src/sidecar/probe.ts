/**
 * A probe of the application with a time-out. Four kinds: an HTTP request, a file that the application writes, a
 * command, a TCP connection.
 *
 * An answer contains the `word`, but no other text that was read, no address and no argument: those may hold passwords.
 */
import { execFile } from 'node:child_process'
import { open } from 'node:fs/promises'
import type { Clock } from '../clock/clock.ts'
import { isJsonArray, ownMember } from '../kube/json-member.ts'
import { isJsonObject, type Json, parseJson } from '../kube/json.ts'
import type { EnvironmentSpec } from './action.ts'
import { environmentFor, type Variables } from './environment.ts'

export interface HttpProbe {
  readonly kind: 'http'
  readonly url: string
  /** The expected HTTP status. */
  readonly status: number
  /** The path in a JSON body to the word. Without it, there is no word. */
  readonly path?: readonly string[] | undefined
}

export interface FileProbe {
  readonly kind: 'file'
  /** Its trimmed content is the word. */
  readonly file: string
}

export interface CommandProbe {
  readonly kind: 'command'
  /** Its trimmed stdout is the word. */
  readonly command: readonly string[]
  /** Exit codes that count as an answer. @default [0] */
  readonly answers: readonly number[]
  readonly directory?: string | undefined
  readonly environment: EnvironmentSpec
}

export interface TcpProbe {
  readonly kind: 'tcp'
  readonly host: string
  readonly port: number
}

export type ProbeSpec = (HttpProbe | FileProbe | CommandProbe | TcpProbe) & { readonly timeoutMs: number }

export interface ProbeAnswer {
  /** The application answered at all. */
  readonly reached: boolean
  /** The expected answer: the HTTP status, exit code 0. */
  readonly ok: boolean
  readonly word?: string | undefined
  /** HTTP status or exit code. */
  readonly code?: number | undefined
  /** The problem. */
  readonly message?: string | undefined
}

interface ProbeContext {
  readonly clock: Clock
  readonly environment: Variables
  readonly signal: AbortSignal
}

/** The length limit of a word. */
const longestWord = 200

const mostBytes = 65_536

/** Always resolves, within the time-out. */
export async function probe(spec: ProbeSpec, context: ProbeContext): Promise<ProbeAnswer> {
  const { clock, signal } = context
  const timeUp = new AbortController()
  const timer = clock.after(spec.timeoutMs, () => timeUp.abort())
  const either = AbortSignal.any([timeUp.signal, signal])
  const late = Promise.withResolvers<ProbeAnswer>()
  either.addEventListener('abort', () => late.resolve(unreached(`no answer within ${spec.timeoutMs} ms`)), {
    once: true,
  })
  try {
    return await Promise.race([ask(spec, context, either), late.promise])
  } catch (error) {
    return unreached((error as NodeJS.ErrnoException).code ?? 'no answer')
  } finally {
    timer.cancel()
    // Aborts what is still running.
    timeUp.abort()
  }
}

function ask(spec: ProbeSpec, { environment }: ProbeContext, signal: AbortSignal): Promise<ProbeAnswer> {
  switch (spec.kind) {
    case 'http':
      return askHttp(spec, signal)
    case 'file':
      return askFile(spec)
    case 'command':
      return askCommand(spec, environment, signal)
    default:
      return askTcp(spec, signal)
  }
}

function unreached(message: string): ProbeAnswer {
  return { reached: false, ok: false, message }
}

async function askHttp({ url, status, path }: HttpProbe, signal: AbortSignal): Promise<ProbeAnswer> {
  const { request } = url.startsWith('https:') ? await import('node:https') : await import('node:http')
  const { promise, resolve, reject } = Promise.withResolvers<ProbeAnswer>()
  const asked = request(url, { signal, agent: false, headers: { accept: 'application/json' } }, (response) => {
    const chunks: Buffer[] = []
    let size = 0
    const answer = (): void => {
      const code = response.statusCode ?? 0
      const ok = code === status
      const word = path && wordAt(Buffer.concat(chunks).toString(), path)
      const message = ok ? (path && word === undefined ? 'the body has no such member' : undefined) : `status ${code}`
      resolve({ reached: true, ok, code, word, message })
    }
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= mostBytes) chunks.push(chunk)
      else response.destroy()
    })
    response.once('close', answer).once('error', () => undefined)
  })
  asked.once('error', reject).end()
  return await promise
}

function wordAt(text: string, path: readonly string[]): string | undefined {
  let value: Json | undefined
  try {
    value = parseJson(text)
  } catch {
    return undefined
  }
  for (const name of path) {
    if (isJsonArray(value)) value = value[Number(name)]
    else value = isJsonObject(value) ? ownMember(value, name) : undefined
  }
  return value === undefined || value === null || typeof value === 'object' ? undefined : wordOf(String(value))
}

async function askFile({ file }: FileProbe): Promise<ProbeAnswer> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4096), 0, 4096, 0)
    return { reached: true, ok: true, word: wordOf(buffer.toString('utf8', 0, bytesRead)) }
  } finally {
    await handle.close()
  }
}

async function askCommand(spec: CommandProbe, own: Variables, signal: AbortSignal): Promise<ProbeAnswer> {
  const { promise, resolve } = Promise.withResolvers<ProbeAnswer>()
  const [program = '', ...args] = spec.command
  const options = {
    env: environmentFor(spec.environment, own),
    signal,
    killSignal: 'SIGKILL',
    maxBuffer: mostBytes,
    ...(spec.directory ? { cwd: spec.directory } : {}),
  } as const
  const child = execFile(program, args, options, (error, stdout) => {
    const word = wordOf(stdout)
    if (!error) return resolve({ reached: spec.answers.includes(0), ok: true, code: 0, word })
    const { code } = error
    if (typeof code !== 'number')
      return resolve(unreached(code ?? (error.signal ? `ended by ${error.signal}` : 'failed')))
    resolve({ reached: spec.answers.includes(code), ok: false, code, word, message: `exit code ${code}` })
  })
  child.stdin?.on('error', () => undefined).end()
  return await promise
}

async function askTcp({ host, port }: TcpProbe, signal: AbortSignal): Promise<ProbeAnswer> {
  const { connect } = await import('node:net')
  const { promise, resolve, reject } = Promise.withResolvers<ProbeAnswer>()
  const socket = connect({ host, port, signal })
  socket.once('connect', () => resolve({ reached: true, ok: true })).once('error', reject)
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}

function wordOf(text: string): string {
  return text.trim().slice(0, longestWord)
}
