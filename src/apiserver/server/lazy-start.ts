/**
 * A server that is built by its first request, or by `wake`. The listener can be up before the code and data of the
 * server are loaded.
 */
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { describeError } from '../../kube/muster-error.ts'
import type { Peer } from '../access/authenticate.ts'
import type { ApiServer, ReadBody, ServedApi } from './api-server.ts'

export interface WakingServer<Server extends ApiServer> extends ServedApi {
  /** Builds the server, once. If that fails, the next call tries again. */
  wake(): Promise<Server>
  /** The server if it was built or is being built; never starts a build. */
  awake(): Promise<Server | undefined>
}

export function createWakingServer<Server extends ApiServer>(build: () => Promise<Server>): WakingServer<Server> {
  // Released when done: its closure may hold all entries of a journal.
  let builder: typeof build | undefined = build
  let building: Promise<Server> | undefined
  let built: Server | undefined

  const wake = async (): Promise<Server> => {
    building ??= builder!()
    try {
      built = await building
      builder = undefined
      return built
    } catch (error) {
      building = undefined
      throw error
    }
  }

  const handle = async (request: TransportRequest, peer?: Peer, readBody?: ReadBody): Promise<TransportResponse> => {
    try {
      await wake()
    } catch (error) {
      const [{ errorResponse: refuse }, { internal }] = await Promise.all([
        import('../representation/representation.ts'),
        import('../errors/status-error.ts'),
      ])
      return await refuse(internal(describeError(error)))
    }
    return await built!.handle(request, peer, readBody)
  }

  return {
    // Calls a built server directly: an extra microtask per request is measurable.
    handle: async (request, peer, readBody) =>
      await (built ? built.handle(request, peer, readBody) : handle(request, peer, readBody)),
    endWatches: () => built?.endWatches(),
    wake,
    awake: async () => await building?.catch(() => undefined),
  }
}
