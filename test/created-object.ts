/** Creates an object whose webhooks the API server may not trust yet. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Client } from '../src/client/client.ts'
import type { Resource } from '../src/kube/kind.ts'
import type { KubeObject } from '../src/kube/object.ts'

/**
 * A server may call a webhook that it has just learnt of a moment before it trusts its certificate. Every other error ends the
 * attempts: a loop that ignored them would go on for ever, and without a request that waits it would hold the thread.
 */
export async function createThroughWebhook(
  client: Pick<Client, 'create'>,
  resource: Resource,
  object: KubeObject,
): Promise<void> {
  for (;;) {
    try {
      await client.create(resource, object)
      return
    } catch (error) {
      if (!(error instanceof Error) || !error.message.includes('webhook')) throw error
      await turn()
    }
  }
}
