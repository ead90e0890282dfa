/** An embedded API server with simulated workloads, as a separate process on loopback. */
import { spawn } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cliErrors } from '../src/cli/errors.ts'
import { MusterError } from '../src/kube/muster-error.ts'

export interface TestedServer {
  readonly kubeconfig: string
  stop(): void
}

const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))

export async function startServer(folder: string): Promise<TestedServer> {
  const kubeconfig = join(folder, 'kubeconfig')
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const args = ['--max-semi-space-size=4', main, 'apiserver', '--simulate', '--kubeconfig-out', kubeconfig]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  const take = (text: string): void => {
    output = (output + text).slice(-10_000)
    if (output.includes('API server ready on')) resolve()
  }
  child.stdout.setEncoding('utf8').on('data', take)
  child.stderr.setEncoding('utf8').on('data', take)
  child.on('error', reject)
  child.on('exit', () =>
    reject(new MusterError(cliErrors.BinaryMissing, `the embedded API server ended: ${output.trim()}`)),
  )
  await promise
  return { kubeconfig, stop: () => void child.kill('SIGKILL') }
}
