/**
 * Turns an operator into a program:
 *
 *     #!/usr/bin/env node
 *     import { operatorMain } from '@muster-dev/muster/contract'
 *     import { operator } from './operator.ts'
 *     await operatorMain(operator)
 *
 * It implements the commands of the contract: one run on a directory, callable from any language. With other arguments,
 * or none, it runs on its cluster, alone, until it is stopped.
 */
import type { Operator } from '../operator/operator.ts'
import { isContractCommand, runContractCommand } from './commands.ts'
import { cutOff } from './network-isolation.ts'

/** Resolves at the end; sets the exit code of the process. */
export async function operatorMain(operator: Operator, argv: readonly string[] = process.argv.slice(2)): Promise<void> {
  const out = (text: string): void => void process.stdout.write(`${text}\n`)
  const err = (text: string): void => void process.stderr.write(`${text}\n`)
  const [command] = argv
  if (command === undefined || !isContractCommand(command)) {
    // Loaded lazily: a single command does not need the manager.
    const { runAlone } = await import('../manager/alone/run-alone.ts')
    process.exitCode = await runAlone(operator, { argv, environment: process.env, signal: stopSignal(), out, err })
    return
  }
  if (command === 'apply-configuration') await cutOff(err)
  process.exitCode = await runContractCommand(operator, argv, { out, err })
}

function stopSignal(): AbortSignal {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
  return stop.signal
}
