/**
 * A server that can read at once, and loads what writes need later: for a process that is started to be asked, and should
 * answer soon. It loads with the first write, or, once the server has been up for a while and no request is under way,
 * by itself. Loading takes a moment of real time, which a simulation in virtual time would not see go by: there
 * `api-server.ts` is the better one.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import type { ApiServer, ApiServerOptions, DurableApiServer, DurableApiServerOptions } from './api-server.ts'
import { createServer, openServer } from './server.ts'
import type { WritePath } from '../cluster/state.ts'

export async function createLazyApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const source = await sourceFor(options)
  const { server } = createServer(options, source)
  return source === bring ? warmWhenIdle(server, options.clock).server : server
}

export async function openLazyApiServer(options: DurableApiServerOptions): Promise<DurableApiServer> {
  const source = await sourceFor(options)
  const opened = await openServer(options, source)
  if (source !== bring) return opened
  const { server, stop } = warmWhenIdle(opened, options.clock)
  return {
    ...server,
    async close() {
      stop()
      await opened.close()
    },
  }
}

const bring = async (): Promise<WritePath> => (await import('./write-path.ts')).writePath

/** Workloads write from their first moment on. */
async function sourceFor({ workloads }: ApiServerOptions): Promise<typeof bring | WritePath> {
  return workloads ? await bring() : bring
}

/** Time for the first reads of those who waited for the start; a server that is only read for a moment stays small. */
export const warmAfterMs = 5000

/** No answer has been given for so long: what comes next is not likely to come while the code is loaded. */
const quietMs = 200

export interface Warming<Server> {
  readonly server: Server
  readonly stop: () => void
}

/** The same server, which loads what writes need when it has nothing else to do. */
export function warmWhenIdle<Server extends ApiServer>(server: Server, clock: Clock): Warming<Server> {
  let underWay = 0
  let answeredAt = clock.now()
  let timer: Timer | undefined = clock.after(warmAfterMs, tryToWarm)

  function tryToWarm(): void {
    const quiet = underWay > 0 ? 0 : clock.now() - answeredAt
    if (quiet < quietMs) timer = clock.after(quietMs - quiet, tryToWarm)
    else {
      timer = undefined
      // Who writes first tries again, and is told.
      server.prepareWrites().catch(() => undefined)
    }
  }

  const stop = (): void => {
    timer?.cancel()
    timer = undefined
  }

  return {
    server: {
      ...server,
      async handle(...asked: Parameters<ApiServer['handle']>) {
        // Nothing to wait for any more.
        if (!timer) return await server.handle(...asked)
        underWay++
        try {
          return await server.handle(...asked)
        } finally {
          underWay--
          answeredAt = clock.now()
        }
      },
    },
    stop,
  }
}
