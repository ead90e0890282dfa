/** A transport whose requests are counted as client-go counts them: by code, method and host. */
import type { Transport } from '../../transport/transport.ts'
import type { Metrics } from './metrics.ts'

export function countedTransport(transport: Transport, host: string, metrics: Pick<Metrics, 'request'>): Transport {
  return {
    ...transport,
    async send(request) {
      const { method } = request
      try {
        const response = await transport.send(request)
        metrics.request({ method, host, code: String(response.status) })
        return response
      } catch (error) {
        // As client-go reports a request without a response.
        metrics.request({ method, host, code: '<error>' })
        throw error
      }
    },
  }
}
