/** An embedded cluster on loopback whose manager hosts the operator of Installations, and commands that run on it. */
import { expect, onTestFinished } from 'vitest'
import type { Client } from '../src/client/client.ts'
import { connect } from '../src/client/connect.ts'
import { seededRandom } from '../src/clock/random.ts'
import { systemClock } from '../src/clock/system-clock.ts'
import { type Command, type Flags, type FlagValues, parseArguments } from '../src/cli/command/command.ts'
import { installKinds } from '../src/cli/manager/install-kinds.ts'
import { startManagerService } from '../src/manager/runtime/manager-service.ts'
import { installationOperator } from '../src/platform/installation/operator.ts'
import { emptyFolder } from './project.ts'
import { servedCluster } from './served-cluster.ts'

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export interface PlatformCluster {
  readonly client: Client
  readonly kubeconfig: string
  /** An empty folder. */
  readonly folder: string
  readonly run: (command: Command, ...words: readonly string[]) => Promise<Ended>
}

/** It ends with the test. */
export async function platformCluster(): Promise<PlatformCluster> {
  const folder = await emptyFolder()
  const { kubeconfig } = await servedCluster(folder)
  const client = await connect({ kubeconfig })
  onTestFinished(() => client.close())
  const operator = installationOperator({ clock: systemClock, random: seededRandom(1) })
  const { signal } = new AbortController()
  await installKinds(client, operator, signal)
  const service = await startManagerService({
    environment: { MUSTER__health__port: '0', MUSTER__metrics__port: '0' },
    declared: () => Promise.resolve([operator]),
    load: () => Promise.resolve({ operator }),
    connect: async () => {
      const own = await connect({ kubeconfig })
      return { client: own, as: () => own }
    },
    reach: () => Promise.reject(new Error('there is no other')),
    identity: 'alone',
    log: () => undefined,
  })
  onTestFinished(() => service.stop())
  return {
    client,
    kubeconfig,
    folder,
    run: (command, ...words) =>
      runCommand(command, ...words, ...('kubeconfig' in command.flags ? ['--kubeconfig', kubeconfig] : [])),
  }
}

export async function runCommand(command: Command, ...words: readonly string[]): Promise<Ended> {
  const [out, err]: string[][] = [[], []]
  const { flags, positionals } = parseArguments(command.flags, words)
  const code = await command.run({
    flags: flags as FlagValues<Flags>,
    positionals,
    out: (line) => void out!.push(line),
    err: (line) => void err!.push(line),
    signal: new AbortController().signal,
  })
  expect(code).toBeTypeOf('number')
  return { code, out: out!.join('\n'), err: err!.join('\n') }
}
