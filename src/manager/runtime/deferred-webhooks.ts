/**
 * Starts the webhook server when the first operator with webhooks is added: until then there is no certificate, no
 * Secret and no open port.
 */
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'

export type DeferredWebhooks = Pick<Webhooks, 'set' | 'settled' | 'delete' | 'close'>

export function deferredWebhooks(start: () => Promise<Webhooks>): DeferredWebhooks {
  let started: Promise<Webhooks> | undefined
  let serving: Webhooks | undefined
  const early = new Map<string, Parameters<Webhooks['set']>>()

  let isClosed = false

  const begin = async (): Promise<Webhooks> => {
    if (isClosed) throw new MusterError(clientErrors.TransportClosed, 'Webhooks are not served any more.')
    const starting = (started ??= start())
    try {
      serving = await starting
    } catch (error) {
      // The next call tries again.
      if (started === starting) started = undefined
      throw error
    }
    for (const parameters of early.values()) serving.set(...parameters)
    early.clear()
    return serving
  }

  return {
    set(...parameters) {
      if (serving) serving.set(...parameters)
      else early.set(parameters[0], parameters)
    },
    async settled(operator) {
      await (await begin()).settled(operator)
    },
    async delete(operator) {
      early.delete(operator)
      await serving?.delete(operator)
    },
    async close() {
      isClosed = true
      await started?.catch(() => undefined)
      await serving?.close()
    },
  }
}
