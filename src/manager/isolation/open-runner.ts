/**
 * Opens a runner at an isolation level. A level that cannot be enforced on this machine is refused with the reason;
 * `allowUnenforced` is the only exception, and is logged at each start of the operator.
 */
import { pathToFileURL } from 'node:url'
import type { Clock } from '../../clock/clock.ts'
import type { Log } from '../logging/log-line.ts'
import { runReconcile } from '../run/run-reconcile.ts'
import type { Limits } from './launch/limits.ts'
import { operatorIn, parseModuleName } from './protocol/module-name.ts'
import type { IsolationLevel, Runner } from './runner.ts'

export interface RunnerOptions {
  /** `MODULE#export`; relative to the working directory. */
  readonly module: string
  readonly limits?: Partial<Limits>
  /**
   * Files and folders that it must not read, besides `.muster` and credentials: `ownFiles`. If it can read one of them,
   * the level is refused.
   * @default none
   */
  readonly secrets?: readonly string[]
  /** Origins (`https://app.example.com`) that it may call through `live.http`. @default none */
  readonly outside?: readonly string[]
  /** PATH of the util-linux tools: for the level `process`. @default the system's folders */
  readonly tools?: string
  /** Runs it even where its level cannot be enforced. @default false */
  readonly allowUnenforced?: boolean
  /** Receives its failures, warnings and output. @default silent */
  readonly log?: Log
  /** For watching it. @default the system clock */
  readonly clock?: Clock
}

/** @throws IsolationRefused, OperatorNotLoaded, OperatorCrashed, OperatorUnresponsive */
export async function openRunner(level: IsolationLevel, options: RunnerOptions): Promise<Runner> {
  if (level === 'inline') return await inlineRunner(options)
  // Loaded on demand: most managers need neither threads nor processes.
  const { processRunner, workerRunner } = await import('./confined-levels.ts')
  return await (level === 'worker' ? workerRunner(options) : processRunner(options))
}

/** In this thread, without any restriction. */
async function inlineRunner({ module }: Pick<RunnerOptions, 'module'>): Promise<Runner> {
  const name = parseModuleName(module)
  const operator = operatorIn((await import(pathToFileURL(name.file).href)) as Readonly<Record<string, unknown>>, name)
  return { level: 'inline', operator, run: runReconcile, close: () => Promise.resolve() }
}
