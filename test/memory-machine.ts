/** A machine as data: its files, environment and programs are set by the test. */
import type { Finished, Machine, CredentialProgram, WebAnswer, WebRequest } from '../src/client/credentials/machine.ts'

export interface MemoryMachine extends Machine {
  /** By path. An `Error` is thrown by reading it. */
  readonly files: Map<string, string | Error>
  readonly env: Record<string, string | undefined>
  /** Its calls, in order. */
  readonly runs: CredentialProgram[]
  readonly requests: WebRequest[]
  readonly reads: string[]
}

export interface MemoryMachineOptions {
  readonly files?: Readonly<Record<string, string | Error>>
  readonly env?: Readonly<Record<string, string>>
  readonly interactive?: boolean
  readonly run?: (program: CredentialProgram) => Promise<Finished> | Finished
  readonly request?: (request: WebRequest) => Promise<WebAnswer> | WebAnswer
}

export function memoryMachine(options: MemoryMachineOptions = {}): MemoryMachine {
  const files = new Map(Object.entries(options.files ?? {}))
  const runs: CredentialProgram[] = []
  const requests: WebRequest[] = []
  const reads: string[] = []
  return {
    files,
    env: { ...options.env },
    runs,
    requests,
    reads,
    home: () => '/home/me',
    interactive: () => options.interactive ?? false,
    readFile(path) {
      reads.push(path)
      const content = files.get(path) ?? systemError('ENOENT')
      return typeof content === 'string' ? Promise.resolve(content) : Promise.reject(content)
    },
    async run(program) {
      runs.push(program)
      if (!options.run) throw systemError('ENOENT')
      return await options.run(program)
    },
    async request(request) {
      requests.push(request)
      if (!options.request) throw systemError('ECONNREFUSED')
      return await options.request(request)
    },
  }
}

/** An error as Node raises it for a failed system call. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: the system said no`), { code })
}
