/** Webhooks of hosted operators, called by an embedded API server in the same process: no socket, no certificate. */
import { type WebhookCaller, type WebhookClientConfig, WebhookError } from '../../apiserver/webhook/webhook-caller.ts'
import { parseJson, stringifyJson } from '../../kube/json.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { WebhookAddress, WebhookHost } from '../webhooks/webhook-host.ts'

/** Calls to other addresses are passed to `otherwise`. */
export function inProcessWebhooks(
  host: WebhookHost,
  address: WebhookAddress,
  otherwise: WebhookCaller = () => Promise.reject(new WebhookError('it is not in this process')),
): WebhookCaller {
  return async (config, body, timeoutMs) => {
    const path = pathWithin(address, config)
    if (path === undefined) return await otherwise(config, body, timeoutMs)
    try {
      // A copy: the server keeps its own objects, and author code gets frozen ones.
      return await host.answer(path, parseJson(stringifyJson(body)), timeoutMs)
    } catch (error) {
      if (isMusterError(error)) throw new WebhookError(error.message)
      throw error
    }
  }
}

function pathWithin(address: WebhookAddress, { url, service }: WebhookClientConfig): string | undefined {
  if ('url' in address) return url?.startsWith(`${address.url}/`) ? url.slice(address.url.length) : undefined
  const { namespace, name } = address.service
  return service?.namespace === namespace && service.name === name ? service.path : undefined
}
