/**
 * What credentials need of the machine: environment, files, programs, an HTTP request. Code that reads a kubeconfig takes a
 * {@link Machine}, so that it is tested in memory; this file has the real one.
 */
import { isLoopback } from '../../kube/text/loopback.ts'
import { errorCode } from '../../system/error-code.ts'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'

export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>
  home(): string
  /** Whether standard input is a terminal, where a plugin can prompt. */
  interactive(): boolean
  /** A file as UTF-8. Rejects with the system's error and `code`: `ENOENT`, `EACCES`. */
  readFile(path: string): Promise<string>
  /** Runs a program to its end. Rejects if it cannot be started (with the system's `code`) or is aborted. */
  run(program: CredentialProgram): Promise<Finished>
  /** One request without redirects; through the environment's proxy, except to loopback. */
  request(request: WebRequest): Promise<WebAnswer>
}

export interface CredentialProgram {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Connects the terminal: standard input, and a copy of standard error. */
  readonly interactive: boolean
  /** Kills it. */
  readonly signal: AbortSignal
}

export interface Finished {
  /** `null` if a signal ended it. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface WebRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | undefined
  /** PEM; without one, the machine's trust store is used. */
  readonly ca?: string | undefined
  readonly signal: AbortSignal
}

export interface WebAnswer {
  readonly status: number
  readonly body: string
}

/** Limit of output and responses: credentials are small. */
const outputLimit = 1 << 20

export const systemMachine: Machine = {
  env: process.env,
  home: homedir,
  // By descriptor: accessing process.stdin would open it.
  interactive: () => process.getBuiltinModule('node:tty').isatty(0),
  readFile: (path) => readFile(path, 'utf8'),
  run: runProgram,
  request: sendRequest,
}

/** Why a file could not be read, as text. */
export function explainFileError(error: unknown): string {
  const code = errorCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'does not exist'
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read by this user'
  return code === 'EISDIR' ? 'is a directory' : `could not be read (${code ?? 'unknown error'})`
}

async function runProgram({ command, args, env, interactive, signal }: CredentialProgram): Promise<Finished> {
  const { spawn } = await import('node:child_process')
  signal.throwIfAborted()
  return await new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'pipe'] })
    const output = { stdout: '', stderr: '' }
    const stop = (): void => {
      child.kill('SIGKILL')
      // A grandchild may hold the pipes open.
      child.stdout?.destroy()
      child.stderr?.destroy()
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', stop, { once: true })
    const settled = (): void => signal.removeEventListener('abort', stop)

    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      if (output.stdout.length < outputLimit) output.stdout += chunk
    })
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      output.stderr = (output.stderr + chunk).slice(-outputLimit)
      if (interactive) process.stderr.write(chunk)
    })
    child.once('error', (error) => {
      settled()
      reject(error)
    })
    child.once('close', (exitCode) => {
      settled()
      resolve({ exitCode, ...output })
    })
  })
}

async function sendRequest({ method, url, headers, body, ca, signal }: WebRequest): Promise<WebAnswer> {
  const { Agent, request } = url.startsWith('https:') ? await import('node:https') : await import('node:http')
  const isLocal = isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ''))
  const agent = new Agent({
    ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
    ...(isLocal ? {} : { proxyEnv: process.env }),
  })
  try {
    return await new Promise((resolve, reject) => {
      const sent = request(url, { method, headers: { accept: 'application/json', ...headers }, agent, signal })
      sent.once('error', reject)
      sent.once('response', (response) => {
        let received = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          if (received.length < outputLimit) received += chunk
        })
        response.once('error', reject)
        response.once('end', () => resolve({ status: response.statusCode ?? 0, body: received }))
      })
      sent.end(body)
    })
  } finally {
    agent.destroy()
  }
}
