/**
 * Machine pools and node pools of an OpenShift Cluster Manager. Clusters with a hosted control plane have node pools, others machine
 * pools; the two differ in path, in the names of a few fields, and in how long an id may be.
 *
 * Nothing that the server says is taken on trust: answers are checked field by field, a list has an end, a wait that it asks for has a
 * limit, and no message repeats a token.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { OperatorError } from '../../operator/failure.ts'
import type { HttpAnswer, HttpCall, Live } from '../../operator/live.ts'
import type { ManagedPoolProvider, ManagedPoolState, WantedPool } from './managed-pool-provider.ts'

interface OcmOptions {
  readonly http: Live['http']
  readonly now: number
  readonly url: string
  readonly tokenUrl: string
  /** The token of the Secret: one that is exchanged, or one that is used as it is. */
  readonly token: string
  /** The id of the cluster at the manager; otherwise `externalId` is looked up. */
  readonly clusterId?: string | undefined
  readonly externalId?: string | undefined
  /** Of each call. @default 10_000 */
  readonly timeoutMs?: number
}

/** What differs between the two sorts of pools. */
interface PoolSort {
  readonly path: 'machine_pools' | 'node_pools'
  readonly mostId: number
  instanceTypeOf(pool: JsonObject): Json | undefined
  body(wanted: WantedPool): JsonObject
}

const machinePools: PoolSort = {
  path: 'machine_pools',
  mostId: 30,
  instanceTypeOf: (pool) => pool['instance_type'],
  body: ({ id, instanceType, replicas, labels }) => ({
    kind: 'MachinePool',
    id,
    instance_type: instanceType,
    replicas,
    labels: { ...labels },
  }),
}

const nodePools: PoolSort = {
  path: 'node_pools',
  mostId: 15,
  instanceTypeOf: (pool) => (isJsonObject(pool['aws_node_pool']) ? pool['aws_node_pool']['instance_type'] : undefined),
  body: ({ id, instanceType, replicas, labels }) => ({
    kind: 'NodePool',
    id,
    aws_node_pool: { instance_type: instanceType },
    replicas,
    labels: { ...labels },
  }),
}

/** The longest wait that a server may ask for. */
const mostWaitMs = 10 * 60_000
const clientId = 'cloud-services'

export async function ocmPools(options: OcmOptions): Promise<ManagedPoolProvider> {
  const token = await accessToken(options)
  const call = (method: HttpCall['method'], path: string, body?: JsonObject): Promise<HttpAnswer> =>
    send(options, {
      method: method ?? 'GET',
      url: `${options.url}/api/clusters_mgmt/v1/clusters${path}`,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body }),
    })
  const { id: cluster, sort } = await findCluster(call, options)
  const place = (id: string): string => `/${encodeURIComponent(cluster)}/${sort.path}/${encodeURIComponent(id)}`
  return {
    async find(id) {
      const answer = await call('GET', place(id))
      if (answer.status === 404) return undefined
      return poolState(id, objectIn(expectOk(answer, `pool ${id}`, options), `pool ${id}`), sort)
    },
    async create(wanted) {
      if (wanted.id.length > sort.mostId) {
        throw new OperatorError(
          'PoolIdTooLong',
          `The id ${wanted.id} has ${wanted.id.length} characters; ${sort.path} may have ${sort.mostId}.`,
          { retry: 'terminal' },
        )
      }
      const answer = await call('POST', `/${encodeURIComponent(cluster)}/${sort.path}`, sort.body(wanted))
      // It exists: an earlier answer was lost. The next look compares it with what is wanted.
      if (answer.status !== 409) expectOk(answer, `pool ${wanted.id}`, options)
    },
    async resize(id, replicas) {
      expectOk(await call('PATCH', place(id), { replicas }), `pool ${id}`, options)
    },
    async remove(id) {
      const answer = await call('DELETE', place(id))
      if (answer.status !== 404) expectOk(answer, `pool ${id}`, options)
    },
  }
}

/** A token of three parts whose type is not "Offline" or "Refresh" is used as it is; others are exchanged. */
async function accessToken(options: OcmOptions): Promise<string> {
  const { token, tokenUrl } = options
  if (isAccessToken(token)) return token
  const form = new URLSearchParams({ grant_type: 'refresh_token', client_id: clientId, refresh_token: token })
  const answer = await send(options, {
    method: 'POST',
    url: tokenUrl,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: form.toString(),
  })
  if (answer.status === 400 || answer.status === 401) throw refusedToken()
  const granted = objectIn(expectOk(answer, 'the token', options), 'the token')['access_token']
  if (typeof granted !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(granted))
    throw unexpected('the token', 'no access_token')
  return granted
}

function isAccessToken(token: string): boolean {
  const [, payload, signature] = token.split('.')
  if (payload === undefined || signature === undefined) return false
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Json
    return isJsonObject(claims) && claims['typ'] === 'Bearer'
  } catch {
    return false
  }
}

type Call = (method: HttpCall['method'], path: string, body?: JsonObject) => Promise<HttpAnswer>

async function findCluster(call: Call, options: OcmOptions): Promise<{ readonly id: string; readonly sort: PoolSort }> {
  const cluster =
    options.clusterId === undefined ? await searchCluster(call, options) : await readCluster(call, options)
  const { id, hypershift } = cluster
  if (typeof id !== 'string' || !/^[A-Za-z0-9-]{1,100}$/.test(id)) throw unexpected('the cluster', 'no id')
  const isHosted = isJsonObject(hypershift) && hypershift['enabled'] === true
  return { id, sort: isHosted ? nodePools : machinePools }
}

async function readCluster(call: Call, options: OcmOptions): Promise<JsonObject> {
  const { clusterId = '' } = options
  const answer = await call('GET', `/${encodeURIComponent(clusterId)}`)
  if (answer.status === 404) throw unknownCluster(`The cluster manager knows no cluster ${clusterId}.`)
  const cluster = objectIn(expectOk(answer, 'the cluster', options), 'the cluster')
  if (cluster['id'] !== clusterId) throw unexpected('the cluster', 'another id')
  return cluster
}

async function searchCluster(call: Call, options: OcmOptions): Promise<JsonObject> {
  const { externalId } = options
  if (externalId === undefined || !/^[A-Za-z0-9-]{1,100}$/.test(externalId)) {
    throw unknownCluster('The cluster has no ClusterVersion with an id. Set instascale.ocm.clusterId.')
  }
  const answer = await call('GET', `?size=2&search=${encodeURIComponent(`external_id = '${externalId}'`)}`)
  const { items } = objectIn(expectOk(answer, 'the cluster', options), 'the cluster')
  const matching = (Array.isArray(items) ? (items as readonly Json[]) : []).filter(
    (one) => isJsonObject(one) && one['external_id'] === externalId,
  )
  if (matching.length !== 1) {
    throw unknownCluster(`The cluster manager knows ${matching.length} clusters with the id ${externalId}.`)
  }
  return matching[0] as JsonObject
}

function unknownCluster(message: string): OperatorError {
  return new OperatorError('UnknownCluster', `${message} No managed pools are made.`)
}

async function send({ http, timeoutMs = 10_000 }: OcmOptions, call: HttpCall): Promise<HttpAnswer> {
  // One attempt: the reconcile is repeated with back-off, from what the server then says. No other origin gets the token.
  return await http({ timeoutMs, retries: 0, redirectTo: [], ...call })
}

/** @throws by what helps: a later attempt, another token, or a change of the pool */
function expectOk(answer: HttpAnswer, what: string, { now }: Pick<OcmOptions, 'now'>): HttpAnswer {
  const { status, headers } = answer
  if (status >= 200 && status < 300) return answer
  if (status === 401 || status === 403) throw refusedToken()
  const reason = reasonIn(answer)
  const message = `The cluster manager answers ${status} for ${what}${reason === undefined ? '' : `: ${reason}`}.`
  if (status === 429 || status === 503) {
    const afterMs = retryAfterMs(headers['retry-after'], now)
    throw new OperatorError('Throttled', message, afterMs === undefined ? {} : { afterMs })
  }
  if (status >= 500 || status === 408 || status === 409) throw new OperatorError('ManagerFailed', message)
  throw new OperatorError('PoolRefused', message, { retry: 'terminal' })
}

function retryAfterMs(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  const seconds = Number(text)
  const ms = text.trim() !== '' && Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - now
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), mostWaitMs) : undefined
}

function refusedToken(): OperatorError {
  return new OperatorError(
    'TokenRefused',
    'The cluster manager refuses the token. Put a valid one into the Secret that instascale.ocmSecretRef names, under the key token.',
    { retry: 'terminal' },
  )
}

function objectIn(answer: HttpAnswer, what: string): JsonObject {
  let value: unknown
  try {
    value = answer.json()
  } catch {
    throw unexpected(what, 'no JSON')
  }
  if (!isJsonObject(value)) throw unexpected(what, 'no object')
  return value
}

function unexpected(what: string, problem: string): OperatorError {
  return new OperatorError('UnexpectedAnswer', `The cluster manager answers for ${what} with ${problem}.`)
}

/** Of an error in the form of the cluster manager: a short text without control characters. */
function reasonIn(answer: HttpAnswer): string | undefined {
  try {
    const value = answer.json() as Json
    const reason = isJsonObject(value) ? value['reason'] : undefined
    return typeof reason === 'string' ? reason.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 300) : undefined
  } catch {
    return undefined
  }
}

function poolState(id: string, pool: JsonObject, sort: PoolSort): ManagedPoolState {
  const { replicas = 0, status } = pool
  const instanceType = sort.instanceTypeOf(pool)
  if (pool['id'] !== id) throw unexpected(`pool ${id}`, 'another pool')
  if (
    typeof replicas !== 'number' ||
    !Number.isSafeInteger(replicas) ||
    replicas < 0 ||
    typeof instanceType !== 'string'
  )
    throw unexpected(`pool ${id}`, 'a pool without replicas and type')
  const current = isJsonObject(status) ? status['current_replicas'] : undefined
  const message = isJsonObject(status) ? status['message'] : undefined
  const isFailed = typeof message === 'string' && /insufficient|quota|capacity|not supported/i.test(message)
  return {
    replicas,
    current: typeof current === 'number' && Number.isSafeInteger(current) && current >= 0 ? current : undefined,
    instanceType,
    failure: isFailed ? message.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 300) : undefined,
  }
}
