/**
 * Webhooks that are served from when the first operator brings some: until then there is no certificate, no Secret and
 * nobody listens.
 */
import type { Webhooks } from '../webhooks/webhooks.ts'

export type LateWebhooks = Pick<Webhooks, 'set' | 'settled' | 'delete' | 'close'>

export function lateWebhooks(start: () => Promise<Webhooks>): LateWebhooks {
  let started: Promise<Webhooks> | undefined
  let serving: Webhooks | undefined
  const early = new Map<string, Parameters<Webhooks['set']>>()

  const begin = async (): Promise<Webhooks> => {
    started ??= start()
    try {
      serving = await started
    } catch (error) {
      // Whoever asks next tries again.
      started = undefined
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
    async settled() {
      await (await begin()).settled()
    },
    async delete(operator) {
      early.delete(operator)
      await serving?.delete(operator)
    },
    async close() {
      await started?.catch(() => undefined)
      await serving?.close()
    },
  }
}
