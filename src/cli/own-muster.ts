/**
 * The muster that an operator was written with. A command may come from another copy of the package than the one that the
 * operator's project has installed, and two copies do not recognise each other's errors: so the operator runs on its own.
 */
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as cache from '../cache/index.ts'
import type * as client from '../client/index.ts'
import type * as contract from '../contract/index.ts'
import { type ErrorName, errorTable, MusterError } from '../kube/errors.ts'
import type * as manager from '../manager/index.ts'

export interface OwnMuster {
  readonly connect: typeof client.connect
  readonly createSharedCache: typeof cache.createSharedCache
  readonly hostOperator: typeof manager.hostOperator
  readonly createWebhookHost: typeof manager.createWebhookHost
  readonly startWebhooks: typeof manager.startWebhooks
  readonly foresee: typeof manager.foresee
  /** All of it, for who hosts many. */
  readonly manager: typeof manager
  /** When a program is to be hosted, and not before: few have one. */
  readonly contract: () => Promise<typeof contract>
}

/** `file` is the module of the operator. */
export async function loadOwnMuster(file: string): Promise<OwnMuster> {
  const { resolve } = createRequire(path.resolve(file))
  const places = ['muster/client', 'muster/cache', 'muster/manager'].map((name) => {
    try {
      return resolve(name)
    } catch {
      return undefined
    }
  })
  const [clientAt, cacheAt, managerAt] = places
  if (clientAt === undefined || cacheAt === undefined || managerAt === undefined) return await ours()
  const load = async (place: string): Promise<unknown> => await import(pathToFileURL(place).href)
  const { connect } = (await load(clientAt)) as typeof client
  const { createSharedCache } = (await load(cacheAt)) as typeof cache
  const all = (await load(managerAt)) as typeof manager
  const { hostOperator, createWebhookHost, startWebhooks, foresee } = all
  const programs = async (): Promise<typeof contract> => (await load(resolve('muster/contract'))) as typeof contract
  const hosting = { hostOperator, createWebhookHost, startWebhooks, foresee, manager: all, contract: programs }
  return { connect, createSharedCache, ...hosting }
}

/** For a file that imports its muster by a path. */
async function ours(): Promise<OwnMuster> {
  const { connect } = await import('../client/connect.ts')
  const { createSharedCache } = await import('../cache/shared-cache.ts')
  const all = await import('../manager/index.ts')
  const { hostOperator, createWebhookHost, startWebhooks, foresee } = all
  const programs = (): Promise<typeof contract> => import('../contract/index.ts')
  const hosting = { hostOperator, createWebhookHost, startWebhooks, foresee, manager: all, contract: programs }
  return { connect, createSharedCache, ...hosting }
}

/** An error of the operator's copy as one of ours, so that it is told with its code and its cure. */
export function translated(error: unknown): unknown {
  if (error instanceof MusterError || !(error instanceof Error)) return error
  const isKnown = Object.hasOwn(errorTable, error.name) && 'code' in error
  return isKnown ? new MusterError(error.name as ErrorName, error.message, { cause: error }) : error
}
