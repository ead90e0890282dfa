/** A whole sidecar: observer, actions and server, made from one configuration. */
import path from 'node:path'
import type { Clock } from '../clock/clock.ts'
import { openActions } from './actions.ts'
import type { SidecarConfig } from './config.ts'
import type { Variables } from './environment.ts'
import { startObserver } from './observer.ts'
import { type ServerLimits, startServer } from './server.ts'
import { lockState } from './state-lock.ts'
import { tokenCheck } from './token.ts'

export interface SidecarOptions {
  readonly clock: Clock
  readonly config: SidecarConfig
  /** The environment that actions may inherit variables from. @default none */
  readonly environment?: Variables | undefined
  /** @default no log */
  readonly log?: ((line: string) => void) | undefined
  readonly limits?: Partial<ServerLimits> | undefined
}

export interface Sidecar {
  /** `http://127.0.0.1:8787` */
  readonly url: string
  /** Rejects new actions; resolves when the running ones have ended, or at once if the configuration says `leave`. */
  stop(): Promise<void>
}

/** @throws SidecarConfigInvalid, SidecarStateUnusable */
export async function startSidecar({
  clock,
  config,
  environment = {},
  log = () => undefined,
  limits,
}: SidecarOptions): Promise<Sidecar> {
  const token = tokenCheck(config.tokenFile)
  // Reports an unusable token file at start-up.
  await token.authenticate(undefined)
  const unlock = lockState(config.stateDirectory)
  try {
    const actions = await openActions({
      clock,
      folder: path.join(config.stateDirectory, 'actions'),
      specs: config.actions,
      concurrency: config.concurrency,
      remember: config.remember,
      environment,
      log,
    })
    const observer = startObserver({
      clock,
      probes: config.probes,
      rules: config.states,
      intervalMs: config.intervalMs,
      environment,
      running: () => actions.running(),
    })
    const close = (): void => {
      actions.close()
      observer.close()
    }
    const running = new Set(actions.list().flatMap(({ key, state }) => (state === 'running' ? key : [])))
    actions.onChange(({ key, state }) => {
      if (state !== 'running' && running.delete(key)) observer.poke('ended')
      else if (state === 'running' && !running.has(key)) {
        running.add(key)
        observer.poke('began')
      }
    })
    observer.onChange(({ state, reachable }) => log(`state ${state}${reachable ? '' : ' (not reachable)'}`))
    try {
      const server = await startServer({ clock, listen: config.listen, token, observer, actions, log, limits })
      let stopping: Promise<void> | undefined
      const stop = async (): Promise<void> => {
        actions.drain()
        if (config.onStop === 'wait') await actions.idle()
        close()
        await server.close()
        unlock()
      }
      return { url: server.url, stop: () => (stopping ??= stop()) }
    } catch (error) {
      close()
      throw error
    }
  } catch (error) {
    unlock()
    throw error
  }
}
