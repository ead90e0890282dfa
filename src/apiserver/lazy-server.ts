/**
 * A server that can read at once, and learns to write when somebody writes: for a process that is started to be asked, and
 * should answer soon. Loading takes a moment of real time, which a simulation in virtual time would not see go by: there
 * `api-server.ts` is the better one.
 */
import type { ApiServer, ApiServerOptions, DurableApiServer, DurableApiServerOptions } from './api-server.ts'
import { createServer, openServer } from './server.ts'
import type { WritePath } from './state.ts'

export async function createLazyApiServer(options: ApiServerOptions): Promise<ApiServer> {
  return createServer(options, await sourceFor(options)).server
}

export async function openLazyApiServer(options: DurableApiServerOptions): Promise<DurableApiServer> {
  return await openServer(options, await sourceFor(options))
}

const bring = async (): Promise<WritePath> => (await import('./write-path.ts')).writePath

/** Workloads write from their first moment on. */
async function sourceFor({ workloads }: ApiServerOptions): Promise<typeof bring | WritePath> {
  return workloads ? await bring() : bring
}
