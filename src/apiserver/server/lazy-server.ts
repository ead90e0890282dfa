/**
 * A server that can serve reads at once and loads the write path later, for processes that must start fast. The write
 * path is loaded by the first write, or when the server has been up for a while and is idle. Loading takes real time,
 * which virtual time does not account for: simulations use `api-server.ts`.
 */
import type { Clock, Timer } from '../../clock/clock.ts'
import type { ApiServer, ApiServerOptions, DurableApiServer, DurableApiServerOptions } from './api-server.ts'
import { createServer, openServer } from './server.ts'
import type { WritePath } from '../cluster/state.ts'

export async function createLazyApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const source = await sourceFor(options)
  const { server } = createServer(options, source)
  return source === loadWritePath ? warmWhenIdle(server, options.clock).server : server
}

export async function openLazyApiServer(options: DurableApiServerOptions): Promise<DurableApiServer> {
  const source = await sourceFor(options)
  const opened = await openServer(options, source)
  if (source !== loadWritePath) return opened
  const { server, stop } = warmWhenIdle(opened, options.clock)
  return {
    ...server,
    async close() {
      stop()
      await opened.close()
    },
  }
}

const loadWritePath = async (): Promise<WritePath> => (await import('./write-path.ts')).writePath

/** Workload controllers write from the start. */
async function sourceFor({ workloads }: ApiServerOptions): Promise<typeof loadWritePath | WritePath> {
  return workloads ? await loadWritePath() : loadWritePath
}

/** Leaves time for the first reads; a short-lived server that is only read stays small. */
export const warmAfterMs = 5000

/** Idle time before loading: the next request is unlikely to arrive just then. */
const quietMs = 200

interface Warming<Server> {
  readonly server: Server
  readonly stop: () => void
}

/** Wraps a server so that it loads the write path when idle. */
export function warmWhenIdle<Server extends ApiServer>(server: Server, clock: Clock): Warming<Server> {
  let underWay = 0
  let answeredAt = clock.now()
  let timer: Timer | undefined = clock.after(warmAfterMs, tryToWarm)

  function tryToWarm(): void {
    const quiet = underWay > 0 ? 0 : clock.now() - answeredAt
    if (quiet < quietMs) timer = clock.after(quietMs - quiet, tryToWarm)
    else {
      timer = undefined
      // The first write tries again, and reports the error.
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
        // Loaded, or loading: idle time no longer matters.
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
