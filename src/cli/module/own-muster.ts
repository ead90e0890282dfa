/**
 * The copy of muster that an operator imports. The command may come from another copy of the package, and two copies do not
 * recognise each other's error classes: so the operator runs on its own copy.
 */
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as cache from '../../cache/index.ts'
import type * as client from '../../client/index.ts'
import type * as contract from '../../contract/index.ts'
import { errorTable } from '../error-table.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type * as manager from '../../manager/index.ts'

export interface OwnMuster {
  readonly connect: typeof client.connect
  readonly createSharedCache: typeof cache.createSharedCache
  readonly hostOperator: typeof manager.hostOperator
  readonly createWebhookHost: typeof manager.createWebhookHost
  readonly startWebhooks: typeof manager.startWebhooks
  readonly dryRun: typeof manager.dryRun
  /** The whole module, to host many operators. */
  readonly manager: typeof manager
  /** Loaded only to host a program. */
  readonly contract: () => Promise<typeof contract>
}

/** `file` is the module of the operator. */
export async function loadOwnMuster(file: string): Promise<OwnMuster> {
  const { resolve } = createRequire(path.resolve(file))
  const places = ['@muster-dev/muster/client', '@muster-dev/muster/cache', '@muster-dev/muster/manager'].map((name) => {
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
  const { hostOperator, createWebhookHost, startWebhooks, dryRun } = all
  const programs = async (): Promise<typeof contract> =>
    (await load(resolve('@muster-dev/muster/contract'))) as typeof contract
  const hosting = { hostOperator, createWebhookHost, startWebhooks, dryRun, manager: all, contract: programs }
  return { connect, createSharedCache, ...hosting }
}

/** For a file that imports muster by a path. */
async function ours(): Promise<OwnMuster> {
  const { connect } = await import('../../client/connect.ts')
  const { createSharedCache } = await import('../../cache/shared-cache.ts')
  const all = await import('../../manager/index.ts')
  const { hostOperator, createWebhookHost, startWebhooks, dryRun } = all
  const programs = (): Promise<typeof contract> => import('../../contract/index.ts')
  const hosting = { hostOperator, createWebhookHost, startWebhooks, dryRun, manager: all, contract: programs }
  return { connect, createSharedCache, ...hosting }
}

/** Converts an error of the operator's copy into ours, so that it is printed with its code and cure. */
export function translated(error: unknown): unknown {
  if (error instanceof MusterError || !(error instanceof Error)) return error
  const definition = 'code' in error ? errorTable.find(({ code }) => code === error.code) : undefined
  return definition ? new MusterError(definition, error.message, { cause: error }) : error
}
