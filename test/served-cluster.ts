/** An embedded cluster on loopback, for programs: with a kubeconfig and a record of requests. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { createApiServer } from '../src/apiserver/server/api-server.ts'
import { startListener } from '../src/apiserver/http/listener.ts'
import { systemClock } from '../src/clock/system-clock.ts'
import { stringifyJson } from '../src/kube/json.ts'

export interface ServedCluster {
  readonly url: string
  /** The path of a kubeconfig of an administrator. */
  readonly kubeconfig: string
  /** The CA certificate, in PEM. */
  readonly ca: string
  /** `GET /api/v1/…`, each request in order, without its query. */
  readonly asked: readonly string[]
}

/** It ends with the test. */
export async function servedCluster(folder: string): Promise<ServedCluster> {
  const server = createApiServer({ clock: systemClock })
  const asked: string[] = []
  const listener = await startListener(
    {
      handle: async (request, ...rest) => {
        asked.push(`${request.method} ${request.path.split('?')[0]}`)
        return await server.handle(request, ...rest)
      },
      endWatches: () => server.endWatches(),
    },
    { clock: systemClock },
  )
  onTestFinished(() => listener.close())
  const { cert, key } = listener.clientCertificate({ commonName: 'live', organizations: ['system:masters'] })
  const encoded = (text: string): string => Buffer.from(text).toString('base64')
  const kubeconfig = path.join(folder, 'served.kubeconfig')
  writeFileSync(
    kubeconfig,
    stringifyJson({
      clusters: [{ name: 'c', cluster: { server: listener.url, 'certificate-authority-data': encoded(listener.ca) } }],
      users: [{ name: 'u', user: { 'client-certificate-data': encoded(cert), 'client-key-data': encoded(key) } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
    { mode: 0o600 },
  )
  return { url: listener.url, kubeconfig, ca: listener.ca, asked }
}
