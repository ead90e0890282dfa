/**
 * Opens a runner at the level that a setting names. A level that cannot be enforced here is refused, with what is missing;
 * `allowUnenforced` is the only way around it, and is told of each time the operator is started.
 */
import { pathToFileURL } from 'node:url'
import type { Clock } from '../../clock/clock.ts'
import type { Log } from '../logging/log-line.ts'
import { runReconcile } from '../run/run-reconcile.ts'
import type { Limits } from './limits.ts'
import { operatorIn, parseModuleName } from './module-name.ts'
import type { IsolationLevel, Runner } from './runner.ts'

export interface RunnerOptions {
  /** `MODULE#export`; paths from the working directory. */
  readonly module: string
  readonly limits?: Partial<Limits>
  /** Folders and files that it may read beside its own and its packages. @default none */
  readonly readable?: readonly string[]
  /**
   * Files and folders that it must not read, beside `.muster` and credentials: `ownFiles`. It is refused when it can read one
   * of them nevertheless.
   * @default none
   */
  readonly secrets?: readonly string[]
  /** Origins (`https://app.example.com`) that it may call through `live.http`. @default none */
  readonly outside?: readonly string[]
  /** Where the tools of util-linux are, as a PATH: for the level `process`. @default the system's folders */
  readonly tools?: string
  /** Runs it even where its level cannot be enforced. @default false */
  readonly allowUnenforced?: boolean
  /** What became of it, warnings, and what it printed. @default silent */
  readonly log?: Log
  /** For watching it. @default the machine's */
  readonly clock?: Clock
}

/** @throws IsolationRefused, OperatorNotLoaded, OperatorCrashed, OperatorUnresponsive */
export async function openRunner(level: IsolationLevel, options: RunnerOptions): Promise<Runner> {
  if (level === 'inline') return await inlineRunner(options)
  // Loaded when it is needed: most managers need neither threads nor processes.
  const { processRunner, workerRunner } = await import('./confined-levels.ts')
  return await (level === 'worker' ? workerRunner(options) : processRunner(options))
}

/** In this thread. Nothing is enforced, and nothing is promised. */
async function inlineRunner({ module }: Pick<RunnerOptions, 'module'>): Promise<Runner> {
  const name = parseModuleName(module)
  const operator = operatorIn((await import(pathToFileURL(name.file).href)) as Readonly<Record<string, unknown>>, name)
  return { level: 'inline', operator, run: runReconcile, close: () => Promise.resolve() }
}
