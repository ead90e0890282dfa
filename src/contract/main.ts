/**
 * What makes a program of an operator:
 *
 *     #!/usr/bin/env node
 *     import { operatorMain } from 'muster/contract'
 *     import { operator } from './operator.ts'
 *     await operatorMain(operator)
 *
 * It answers the commands of the contract, for whoever wants to run it once, on a directory, from any language. With anything
 * else, or nothing, it runs for good, on its cluster, alone.
 */
import type { Operator } from '../operator/operator.ts'
import { isContractCommand, runContractCommand } from './commands.ts'
import { cutOff } from './cut-off.ts'

/** Resolves when it has ended; its exit code is that of the process. */
export async function operatorMain(operator: Operator, argv: readonly string[] = process.argv.slice(2)): Promise<void> {
  const out = (text: string): void => void process.stdout.write(`${text}\n`)
  const err = (text: string): void => void process.stderr.write(`${text}\n`)
  const [command] = argv
  if (command === undefined || !isContractCommand(command)) {
    // Who asks for one command waits for nothing that it does not need.
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
