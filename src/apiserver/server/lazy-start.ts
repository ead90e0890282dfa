/**
 * A server that sleeps until somebody asks for something, or wakes it. Most of what an API server is are rules about
 * kinds, and none of them matters before the first request: so it has a place to be reached at, and is built after that.
 */
import type { TransportRequest, TransportResponse } from '../../transport/transport.ts'
import { describeError } from '../../kube/errors.ts'
import type { Peer } from '../access/authenticate.ts'
import type { Answering, ApiServer, ReadBody } from './api-server.ts'

export interface WakingServer<Server extends ApiServer> extends Answering {
  /** The server itself. It is built once, unless that fails: then the next who asks tries again. */
  wake(): Promise<Server>
  /** The same for who has no use for one that nobody asked for. */
  awake(): Promise<Server | undefined>
}

export function createWakingServer<Server extends ApiServer>(build: () => Promise<Server>): WakingServer<Server> {
  // Forgotten when it is done: it may hold all that was found in a folder.
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
      const [{ refuseRepresentation: refuse }, { internal }] = await Promise.all([
        import('../representation/representation.ts'),
        import('../errors/status-error.ts'),
      ])
      return await refuse(internal(describeError(error)))
    }
    return await built!.handle(request, peer, readBody)
  }

  return {
    // Who is awake is asked at once: a turn more for every request would be felt.
    handle: async (request, peer, readBody) =>
      await (built ? built.handle(request, peer, readBody) : handle(request, peer, readBody)),
    endWatches: () => built?.endWatches(),
    wake,
    awake: async () => await building?.catch(() => undefined),
  }
}
