/** A cluster manager with machine pools and node pools that behaves as badly as it is told to: slow, lying, lost, throttling. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HttpAnswer, HttpCall, Live } from '../src/operator/live.ts'

export type ManagerFault =
  /** No answer at all. */
  | 'hang'
  /** The connection breaks before the request is done. */
  | 'break'
  /** The request is done, and the answer is lost. */
  | 'lose'
  /** It says that it has done what it has not. */
  | 'lie'
  | 'throttle'
  | 'fail'
  | 'garbage'
  | 'otherPool'

export interface ManagerRequest {
  readonly method: string
  /** Without the origin. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

interface ManagerAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

interface StoredPool {
  readonly id: string
  readonly instanceType: string
  readonly labels: Readonly<Record<string, string>>
  replicas: number
}

export class MisbehavingClusterManager {
  readonly pools: Map<string, StoredPool> = new Map()
  readonly requests: ManagerRequest[] = []
  /** For the next requests that concern pools, one each. */
  readonly faults: (ManagerFault | undefined)[] = []
  /** Why no pool of a type can be had. */
  readonly shortages: Map<string, string> = new Map()
  isHosted = false
  retryAfter = '7'
  refreshToken = 'offline-token'
  readonly clusterId: string = '1a2b3c'
  readonly externalId: string = '5d6e-7f80'

  /** Undefined: there is none. @throws if the connection breaks */
  answer(request: ManagerRequest): ManagerAnswer | undefined {
    this.requests.push(request)
    const url = new URL(request.path, 'http://manager')
    if (url.pathname === '/token') return this.#grant(request)
    if (request.headers['authorization'] !== 'Bearer access-token') return { status: 401, body: '{}' }
    const kind = this.isHosted ? 'node_pools' : 'machine_pools'
    const base = '/api/clusters_mgmt/v1/clusters'
    if (url.pathname === base) return json(200, { items: [this.#cluster()] })
    if (url.pathname === `${base}/${this.clusterId}`) return json(200, this.#cluster())
    const prefix = `${base}/${this.clusterId}/${kind}`
    if (!url.pathname.startsWith(prefix)) return json(404, { reason: 'no such thing' })
    return this.#misbehave(this.faults.shift(), () => this.#poolCall(request, url.pathname.slice(prefix.length + 1)))
  }

  #cluster(): object {
    return { id: this.clusterId, external_id: this.externalId, hypershift: { enabled: this.isHosted } }
  }

  #grant({ body }: ManagerRequest): ManagerAnswer {
    const isKnown = new URLSearchParams(body).get('refresh_token') === this.refreshToken
    return isKnown ? json(200, { access_token: 'access-token' }) : json(400, { error: 'invalid_grant' })
  }

  #misbehave(fault: ManagerFault | undefined, act: () => ManagerAnswer): ManagerAnswer | undefined {
    switch (fault) {
      case 'hang':
        return undefined
      case 'break':
        throw new Error('the connection breaks')
      case 'lose':
        act()
        throw new Error('the answer is lost')
      case 'lie':
        return json(200, {})
      case 'throttle':
        return { status: 429, headers: { 'retry-after': this.retryAfter }, body: '{"reason":"slow down"}' }
      case 'fail':
        return { status: 500, body: '<html>Internal error</html>' }
      case 'garbage':
        return { status: 200, body: '<html>Sign in</html>' }
      case 'otherPool':
        return json(200, { id: 'other', instance_type: 'x', replicas: 1, aws_node_pool: { instance_type: 'x' } })
      default:
        return act()
    }
  }

  #poolCall({ method, body }: ManagerRequest, id: string): ManagerAnswer {
    const known = this.pools.get(id)
    if (method === 'POST') return this.#create(JSON.parse(body) as Record<string, unknown>)
    if (!known) return json(404, { reason: `no pool ${id}` })
    if (method === 'PATCH') known.replicas = (JSON.parse(body) as { replicas: number }).replicas
    if (method === 'DELETE') this.pools.delete(id)
    return json(200, this.#shown(known))
  }

  #create(wanted: Record<string, unknown>): ManagerAnswer {
    const { id, replicas, labels, instance_type: plain, aws_node_pool: nodePool } = wanted
    const type = this.isHosted ? (nodePool as { instance_type?: string } | undefined)?.instance_type : plain
    if (this.pools.has(String(id))) return json(409, { reason: 'it exists' })
    if (String(id).length > (this.isHosted ? 15 : 30)) return json(400, { reason: 'the id is too long' })
    const shortage = this.shortages.get(String(type))
    if (shortage !== undefined) return json(400, { reason: shortage })
    const pool: StoredPool = {
      id: String(id),
      instanceType: String(type),
      labels: labels as StoredPool['labels'],
      replicas: Number(replicas),
    }
    this.pools.set(pool.id, pool)
    return json(201, this.#shown(pool))
  }

  #shown({ id, instanceType, replicas, labels }: StoredPool): object {
    const type = this.isHosted ? { aws_node_pool: { instance_type: instanceType } } : { instance_type: instanceType }
    return { id, replicas, labels, ...type, status: { current_replicas: replicas } }
  }

  /** On a socket of the loopback interface. */
  async listen(): Promise<{ readonly url: string; readonly server: Server }> {
    const server = createServer((incoming, response) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => void chunks.push(chunk))
      incoming.on('end', () => {
        try {
          const headers = incoming.headers as Record<string, string | undefined>
          const body = Buffer.concat(chunks).toString()
          const answer = this.answer({ method: incoming.method ?? '', path: incoming.url ?? '', headers, body })
          if (answer) response.writeHead(answer.status, { ...answer.headers }).end(answer.body)
        } catch {
          incoming.socket.destroy()
        }
      })
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
  }
}

function json(status: number, value: object): ManagerAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) }
}

/** Without sockets, for many runs. */
export function inProcess(target: MisbehavingClusterManager): Live['http'] {
  return ({ method = 'GET', url: to, headers = {}, body }: HttpCall): Promise<HttpAnswer> => {
    const { pathname, search } = new URL(to)
    const sent = typeof body === 'string' ? body : JSON.stringify(body ?? '')
    try {
      const answer = target.answer({ method, path: `${pathname}${search}`, headers, body: sent })
      if (!answer) return Promise.reject(new Error('no answer'))
      const { status, headers: received = {}, body: text = '' } = answer
      return Promise.resolve({ status, headers: received, body: text, json: () => JSON.parse(text) as unknown })
    } catch (error) {
      return Promise.reject(error)
    }
  }
}
