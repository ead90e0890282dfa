/**
 * `etcd` of a test control plane. Callers start it before kube-apiserver and wait until it is healthy; that is all that it is
 * asked for, because the API server beside it keeps its objects by itself.
 */
import { createServer, type Server } from 'node:http'
import { aborted } from '../../clock/aborted.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { apiserverErrors } from '../../apiserver/errors.ts'
import { readEtcdFlags } from './etcd-flags.ts'
import type { ProgramContext } from './program-main.ts'

/** Of the real etcd that the embedded API server is compared with. */
const version = '3.7.3'

const answers: Readonly<Record<string, string>> = {
  '/health': '{"health":"true","reason":""}',
  '/livez': 'ok\n',
  '/readyz': 'ok\n',
  '/version': `{"etcdserver":"${version}","etcdcluster":"3.7.0"}`,
}

/** Serves until the signal. @throws InvalidFlag, ListenFailed */
export async function serveEtcd(words: readonly string[], { signal, say, out, env }: ProgramContext): Promise<void> {
  const settings = readEtcdFlags(words, env)
  if (settings === 'version') {
    out(`etcd Version: ${version}\nGit SHA: muster`)
    return
  }
  for (const warning of settings.warnings) say(`etcd: ${warning}`)
  const servers = await Promise.all(settings.listen.map(async ({ host, port }) => await serve(host, port)))
  for (const { host, port } of settings.listen) say(`serving client traffic on ${host}:${port}`)
  await aborted(signal)
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
}

async function serve(host: string, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1)
    const known = Object.hasOwn(answers, path) ? answers[path] : undefined
    response.writeHead(known === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(
      known ?? '{"error":"this etcd belongs to a test control plane: the API server keeps the objects","code":5}\n',
    )
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', (error: NodeJS.ErrnoException) => {
    const why = error.code === 'EADDRINUSE' ? 'another program listens there' : error.message
    reject(new MusterError(apiserverErrors.ListenFailed, `etcd: ${host}:${port}: ${why}.`, { cause: error }))
  })
  server.listen(port, host, resolve)
  await promise
  return server
}
