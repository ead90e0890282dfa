/**
 * A run of a program in the form in which the manager drives runs, so that health, cost and tracing apply to it, too.
 * It has no CR and no steps; its work is `once`.
 */
import type { Clock } from '../../clock/clock.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { RunReconcile } from '../../manager/run/run-reconcile.ts'
import type { Execute } from '../../manager/run/executor.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { type LiveCommandOptions, type Live, offline } from '../../operator/live.ts'
import { noMemory, type Situation } from '../../operator/reconcile.ts'

export interface ProgramSituation extends Omit<Situation<KubeObject>, 'view'> {
  /** The objects in its directory. */
  readonly view: { readonly reads: readonly KubeObject[] }
  readonly isHeld: () => boolean
  readonly once: (situation: ProgramSituation, execute: Execute) => Promise<Ledger>
}

/** In place of `drive`. */
export const reconcileProgram: RunReconcile = async (situation, execute) => {
  const known = situation as unknown as ProgramSituation
  return { ledger: await known.once(known, execute), memory: noMemory }
}

interface ProgramRun extends Pick<ProgramSituation, 'operator' | 'isHeld' | 'once'> {
  readonly controller: string
  readonly key: string
  /** The objects in its directory. */
  readonly objects: readonly KubeObject[]
  readonly clock: Clock
}

export function situationOf({ controller, key, objects, ...run }: ProgramRun): Situation<KubeObject> {
  return {
    ...run,
    controller: { name: controller },
    cr: { apiVersion: '', kind: 'Program', metadata: { name: key } },
    view: { reads: objects },
    config: {},
    live: outside,
    memory: noMemory,
  } as unknown as Situation<KubeObject>
}

interface Command extends LiveCommandOptions {
  readonly run: () => Promise<void>
}

/** A program runs outside of this process, like a command in a container: its time is not counted as ours. */
const outside: Live = {
  ...offline,
  async exec(_, __, command) {
    await (command as Command).run()
    return { exitCode: 0, stdout: '', stderr: '' }
  },
}

/** Awaits work outside of this process. */
export async function aside<T>(live: Live, work: () => Promise<T>): Promise<T> {
  let result: T | undefined
  const command: Command = {
    run: async () => {
      result = await work()
    },
  }
  await live.exec({ name: 'program' }, [], command)
  return result!
}
