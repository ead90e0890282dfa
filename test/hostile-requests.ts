/**
 * Random malicious requests: every resource, every method, bodies that match no kind or match it with absurd values,
 * patches, selectors, paths, headers and credentials of all sorts. Deterministic for a seed.
 */
import { seededRandom } from '../src/clock/random.ts'
import type { Method, TransportRequest } from '../src/transport/transport.ts'
import { builtinDefinitions, type BuiltinResource, builtinResources } from '../src/kube/builtin.ts'
import { type Json, type JsonObject, stringifyJson } from '../src/kube/json.ts'
import { formatApiVersion } from '../src/kube/kind.ts'
import { encodeProtobuf } from '../src/kube/protobuf/encode.ts'
import { writeYaml } from '../src/kube/yaml/yaml.ts'
import { anyJson, type Chance, chanceOf, hostileKeys, hostileTexts, mutated, valueFor } from './hostile-values.ts'
import { clusterKinds } from './real/differential/kinds-cluster.ts'
import { coreKinds } from './real/differential/kinds-core.ts'
import { workloadKinds } from './real/differential/kinds-workload.ts'

/** Sent in every request with credentials, and forbidden in every response. */
export const secretToken = 'tok-5f3a9c-do-not-tell'

/** A kind, its path, and a valid object of it. */
interface Target {
  readonly apiVersion: string
  readonly kind: string
  readonly base: string
  readonly template: JsonObject | undefined
  readonly resource: BuiltinResource | undefined
}

const namespace = 'default'

function targets(): readonly Target[] {
  const templates = new Map(
    [...coreKinds, ...workloadKinds, ...clusterKinds].map((one) => [`${one.apiVersion}/${one.kind}`, one.template]),
  )
  const builtin = builtinResources()
    .filter(({ version }) => /^v\d+$/.test(version))
    .map((resource): Target => {
      const { group, version, plural, namespaced, kind } = resource
      const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
      const apiVersion = formatApiVersion(resource)
      const base = `${root}${namespaced ? `/namespaces/${namespace}` : ''}/${plural}`
      return { apiVersion, kind, base, template: templates.get(`${apiVersion}/${kind}`), resource }
    })
  const base = `/apis/example.com/v1/namespaces/${namespace}/widgets`
  const spec = { replicas: 2, color: 'red', free: { a: [1, { b: 2 }] } }
  return [...builtin, { apiVersion: 'example.com/v1', kind: 'Widget', base, template: { spec }, resource: undefined }]
}

const names = ['a', 'b']

/** The initial content of the cluster: a valid object of every kind that has a template. */
export function groundwork(): readonly TransportRequest[] {
  return targets().flatMap(({ apiVersion, kind, base, template }) =>
    template ? [send('POST', base, { apiVersion, kind, metadata: { name: 'a' }, ...template })] : [],
  )
}

function send(method: Method, path: string, body: Json): TransportRequest {
  return { method, path, headers: { 'content-type': 'application/json' }, body: stringifyJson(body) }
}

export function* hostileRequests(seed: number, count: number): Generator<TransportRequest> {
  const chance = chanceOf(seededRandom(seed))
  const all = targets()
  // Most of the code is about kinds with an object to change.
  const worthy = all.filter(({ template }) => template)
  for (let made = 0; made < count; made++) {
    const target = chance.in(0.6) ? chance.pick(worthy) : chance.pick(all)
    yield withNoise(chance, chance.pick(attacks)(chance, target))
  }
}

type Attack = (chance: Chance, target: Target) => TransportRequest

const attacks: readonly Attack[] = [
  absurdCreate,
  absurdCreate,
  absurdUpdate,
  absurdUpdate,
  absurdPatch,
  absurdPatch,
  absurdApply,
  absurdSubresource,
  absurdRead,
  absurdDelete,
  brokenBody,
  brokenBody,
  protobufBody,
  absurdPath,
]

/** An object of the kind: valid, nearly valid, absurd, or of another type. */
function objectOf(chance: Chance, { apiVersion, kind, template, resource }: Target, name: string): Json {
  const metadata = { name, ...(chance.in(0.3) && (metadataOf(chance) as object)) }
  const whole = { apiVersion, kind, metadata }
  if (template && chance.in(0.6)) return mutated(chance, { ...whole, ...template }, 1 + chance.below(3))
  const definitions = builtinDefinitions()
  const how = { definitions, wrong: chance.pick([0, 0, 0, 0.01, 0.05, 0.3]), full: chance.pick([0.1, 0.3, 0.7]) }
  const value = resource ? valueFor(chance, definitions[resource.definition], how) : anyJson(chance, 5)
  return typeof value === 'object' && value !== null && chance.in(0.95) ? { ...(value as JsonObject), ...whole } : value
}

function metadataOf(chance: Chance): Json {
  const definitions = builtinDefinitions()
  const wrong = chance.pick([0, 0.05])
  return valueFor(chance, definitions['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'], {
    definitions,
    wrong,
    full: 0.3,
  })
}

function nameOf(chance: Chance): string {
  return chance.in(0.8) ? chance.pick(names) : chance.pick(hostileTexts)
}

function absurdCreate(chance: Chance, target: Target): TransportRequest {
  return send(
    'POST',
    target.base + queryOf(chance, writeQueries),
    objectOf(chance, target, chance.in(0.5) ? 'b' : nameOf(chance)),
  )
}

function absurdUpdate(chance: Chance, target: Target): TransportRequest {
  const name = chance.pick(names)
  return send('PUT', `${target.base}/${name}${queryOf(chance, writeQueries)}`, objectOf(chance, target, name))
}

const patchTypes = ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json']

function absurdPatch(chance: Chance, target: Target): TransportRequest {
  const type = chance.pick(patchTypes)
  const body = type === 'json-patch+json' ? operationsOf(chance, target) : patchOf(chance, target)
  const path = `${target.base}/a${chance.in(0.2) ? `/${chance.pick(['status', 'scale'])}` : ''}${queryOf(chance, writeQueries)}`
  return { ...send('PATCH', path, body), headers: { 'content-type': `application/${type}` } }
}

function patchOf(chance: Chance, target: Target): Json {
  if (chance.in(0.2)) return anyJson(chance, 5)
  const object = objectOf(chance, target, 'a')
  if (!chance.in(0.3) || typeof object !== 'object' || object === null) return object
  // Directives of strategic patches in unexpected places.
  const words = ['replace', 'merge', 'delete', 'odd']
  return mutated(
    chance,
    { ...(object as JsonObject), $patch: chance.pick(words), $retainKeys: ['spec'] },
    chance.below(2),
  )
}

const pointers = [
  '',
  '/',
  '/metadata',
  '/metadata/name',
  '/metadata/labels',
  '/metadata/annotations/a~1b',
  '/metadata/managedFields',
  '/metadata/managedFields/0',
  '/metadata/uid',
  '/apiVersion',
  '/kind',
  '/spec',
  '/spec/template',
  '/spec/template/spec/containers',
  '/spec/template/spec/containers/0',
  '/spec/template/spec/containers/-',
  '/spec/template/spec/containers/-1',
  '/spec/template/spec/containers/99999999999999999999',
  '/spec/ports/0',
  '/data',
  '/data/a',
  '/status',
  '/~2',
  '/__proto__/polluted',
  '/constructor/prototype/polluted',
  'no slash',
]

function operationsOf(chance: Chance, target: Target): Json {
  if (chance.in(0.05)) return anyJson(chance, 3)
  return Array.from({ length: 1 + chance.below(6) }, (): Json => {
    const op = chance.pick(['add', 'remove', 'replace', 'move', 'copy', 'test', 'odd'])
    const value = chance.in(0.2) ? objectOf(chance, target, 'a') : anyJson(chance, 3)
    const operation = { op, path: chance.pick(pointers), from: chance.pick(pointers), value }
    return chance.in(0.1) ? mutated(chance, operation, 1) : operation
  })
}

function absurdApply(chance: Chance, target: Target): TransportRequest {
  const object = objectOf(chance, target, 'a')
  const query = chance.in(0.9) ? '?fieldManager=fuzz&force=true' : queryOf(chance, writeQueries)
  const path = `${target.base}/${chance.in(0.8) ? 'a' : nameInPath(chance)}${chance.in(0.1) ? '/status' : ''}${query}`
  const body = chance.in(0.3) ? yamlOf(object) : stringifyJson(object)
  return { method: 'PATCH', path, headers: { 'content-type': 'application/apply-patch+yaml' }, body }
}

/** Not all JSON is valid YAML. */
function yamlOf(value: Json): string {
  try {
    return writeYaml(value)
  } catch {
    return stringifyJson(value)
  }
}

const subresources = [
  'status',
  'scale',
  'finalize',
  'binding',
  'eviction',
  'token',
  'approval',
  'log',
  'exec',
  'attach',
  'portforward',
  'proxy',
  'proxy/x',
  'ephemeralcontainers',
  'resize',
  'odd',
  '__proto__',
  'status/status',
]

function absurdSubresource(chance: Chance, target: Target): TransportRequest {
  const own = target.resource?.subresources.map(({ name }) => name) ?? []
  const subresource = own.length > 0 && chance.in(0.7) ? chance.pick(own) : chance.pick(subresources)
  const method = chance.pick<Method>(['GET', 'POST', 'PUT', 'PUT', 'PATCH', 'DELETE'])
  const path = `${target.base}/a/${subresource}${queryOf(chance, writeQueries)}`
  if (method === 'GET') return { method, path, headers: {} }
  const described = target.resource?.subresources.find(({ name }) => name === subresource)?.definition
  const definitions = builtinDefinitions()
  const how = { definitions, wrong: chance.pick([0, 0.05]), full: 0.5 }
  const value =
    described !== undefined && chance.in(0.7)
      ? valueFor(chance, definitions[described], how)
      : objectOf(chance, target, 'a')
  const type = method === 'PATCH' ? chance.pick(patchTypes) : 'json'
  return { ...send(method, path, value), headers: { 'content-type': `application/${type}` } }
}

const writeQueries: readonly string[] = [
  'dryRun=All',
  'dryRun=Odd',
  'dryRun=',
  'fieldManager=x',
  `fieldManager=${'m'.repeat(200)}`,
  'fieldManager=%00',
  'fieldValidation=Strict',
  'fieldValidation=Ignore',
  'fieldValidation=__proto__',
  'force=true',
  'force=odd',
  'pretty=1',
  '%',
  '=&=&&==',
  '__proto__=x',
]

const readQueries: readonly string[] = [
  'limit=1',
  'limit=-1',
  'limit=99999999999999999999',
  'limit=1.5',
  'limit=x',
  'continue=x',
  `continue=${Buffer.from('{"v":"meta.k8s.io/v1","rv":-5,"start":"\u{0}"}').toString('base64url')}`,
  `continue=${Buffer.from('{"v":"meta.k8s.io/v1","rv":1e300,"start":"x"}').toString('base64url')}`,
  `continue=${Buffer.from('{"v":"meta.k8s.io/v1","rv":1.5,"start":"default/"}').toString('base64url')}`,
  `continue=${Buffer.from('{"__proto__":{"rv":1,"start":""}}').toString('base64url')}`,
  `continue=${Buffer.from('[[[[').toString('base64url')}`,
  'resourceVersion=0',
  'resourceVersion=-1',
  'resourceVersion=99999999999999999999',
  'resourceVersion=999999999999',
  'resourceVersion=x',
  'resourceVersionMatch=Exact',
  'resourceVersionMatch=NotOlderThan',
  'resourceVersionMatch=odd',
  'timeoutSeconds=-1',
  'timeoutSeconds=x',
  'sendInitialEvents=true',
  'labelSelector=a=b',
  'labelSelector=a%20in%20(',
  'labelSelector=!!!',
  'labelSelector=%00',
  'labelSelector=a%3Ex',
  `labelSelector=${'a,'.repeat(500)}a`,
  `labelSelector=a%20in%20(${'b,'.repeat(500)})`,
  'labelSelector=__proto__=constructor',
  `labelSelector=${'('.repeat(500)}`,
  'fieldSelector=metadata.name=a',
  'fieldSelector=__proto__.x=1',
  'fieldSelector=constructor=1',
  'fieldSelector==,=',
  `fieldSelector=${'%5C'.repeat(501)}`,
  `fieldSelector=${'metadata.name!=a,'.repeat(200)}`,
  'fieldSelector=spec.nodeName=x',
  'includeObject=Object',
  'includeObject=odd',
]

function queryOf(chance: Chance, queries: readonly string[]): string {
  if (chance.in(0.6)) return ''
  return `?${Array.from({ length: 1 + chance.below(3) }, () => chance.pick(queries)).join('&')}`
}

const accepts = [
  'application/json',
  'application/yaml',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  'application/json;as=__proto__;v=v1;g=meta.k8s.io',
  'application/json;as=constructor;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf',
  'text/html',
  '*/*;q=0',
  ';;;',
  ',',
  `${'a/b,'.repeat(300)}application/json`,
]

function absurdRead(chance: Chance, { base }: Target): TransportRequest {
  const path = `${base}${chance.in(0.3) ? `/${nameInPath(chance)}` : ''}${queryOf(chance, readQueries)}`
  return { method: 'GET', path, headers: { accept: chance.in(0.5) ? accepts[2]! : chance.pick(accepts) } }
}

function absurdDelete(chance: Chance, { base }: Target): TransportRequest {
  const definitions = builtinDefinitions()
  const how = { definitions, wrong: chance.pick([0, 0.1]), full: 0.3 }
  const options = valueFor(chance, definitions['io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions'], how)
  // Collections are deleted rarely, to keep objects.
  const isAll = chance.in(0.02)
  const path = `${base}${isAll ? '' : `/${chance.in(0.7) ? 'b' : nameInPath(chance)}`}${queryOf(chance, [...writeQueries, ...readQueries])}`
  return chance.in(0.3) ? { method: 'DELETE', path, headers: {} } : send('DELETE', path, options)
}

function nameInPath(chance: Chance): string {
  const text = chance.pick(hostileTexts)
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80'
}

const contentTypes = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
  'application/cbor',
  'text/plain',
  '',
  'application/json; charset=utf-16',
  '__proto__',
]

/** Bodies that are not objects, whatever their media type. */
function brokenBody(chance: Chance, target: Target): TransportRequest {
  const method = chance.pick<Method>(['POST', 'PUT', 'PATCH', 'DELETE'])
  const path = method === 'POST' ? target.base : `${target.base}/a`
  const body = broken(chance, stringifyJson(objectOf(chance, target, 'a')))
  return { method, path: `${path}?fieldManager=f`, headers: { 'content-type': chance.pick(contentTypes) }, body }
}

function broken(chance: Chance, text: string): string | Uint8Array {
  const bytes = Buffer.from(text)
  switch (chance.below(11)) {
    case 0:
      return text.slice(0, chance.below(text.length))
    case 1:
      return '['.repeat(600)
    case 2:
      return '{"a":'.repeat(600) + '1' + '}'.repeat(600)
    case 3:
      return ''
    case 4: {
      // Any bytes in the middle of valid ones.
      const at = chance.below(bytes.length)
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([chance.below(256)]), bytes.subarray(at + 1)])
    }
    case 5:
      return Buffer.concat([bytes.subarray(0, -1), Buffer.from([0xc3, 0x28, 0xff])])
    case 6:
      return `${text}${text}`
    case 7:
      return yamlBombs[chance.below(yamlBombs.length)]!
    case 8:
      return Buffer.from(text, 'utf16le')
    case 9:
      return `\u{feff}${text}`
    default:
      return text.replace(
        '{',
        `{${Array.from({ length: 5 }, () => `${stringifyJson(chance.pick(hostileKeys))}:1,`).join('')}`,
      )
  }
}

const layers = Array.from(
  { length: 12 },
  (_, at) => `l${at + 1}: &l${at + 1} [${Array.from({ length: 10 }, () => `*l${at}`).join(',')}]`,
)

export const yamlBombs: readonly string[] = [
  `l0: &l0 [x,x,x,x,x,x,x,x,x,x]\n${layers.join('\n')}\n`,
  `l0: &l0 {a: 1}\n${Array.from({ length: 12 }, (_, at) => `l${at + 1}: &l${at + 1} {<<: *l${at}, b${at}: *l${at}, c${at}: *l${at}}`).join('\n')}\n`,
  'a: &a [*a]\n',
  `${'- '.repeat(600)}x`,
  '['.repeat(5000),
  'a: !!binary x\nb: !!set {a}\nc: !<tag:evil> 1\n',
  '? {a: b}\n: c\n',
  'apiVersion: v1\n---\nkind: ConfigMap\n',
  '%YAML 9.9\n---\na: 1\n',
  '__proto__: {polluted: true}\nconstructor: {prototype: {polluted: true}}\n<<: {__proto__: {polluted: true}}\n',
]

/** Protobuf: truncated, and with flipped bytes. */
function protobufBody(chance: Chance, target: Target): TransportRequest {
  const { apiVersion, kind, base, template = {} } = target
  let bytes = Buffer.alloc(0)
  try {
    bytes = Buffer.from(encodeProtobuf({ apiVersion, kind, metadata: { name: 'b' }, ...template }) ?? [])
  } catch {
    // A kind without protobuf.
  }
  for (let count = chance.below(8); count > 0 && bytes.length > 0; count--)
    bytes[chance.below(bytes.length)] = chance.below(256)
  const cut = chance.in(0.3) ? bytes.subarray(0, chance.below(bytes.length + 1)) : bytes
  const noise = chance.in(0.2) ? Buffer.from(Array.from({ length: 30 }, () => chance.below(256))) : Buffer.alloc(0)
  const method = chance.pick<Method>(['POST', 'PUT', 'DELETE'])
  const headers = { 'content-type': 'application/vnd.kubernetes.protobuf' }
  return { method, path: method === 'POST' ? base : `${base}/b`, headers, body: Buffer.concat([cut, noise]) }
}

const paths = [
  '',
  '/',
  '//',
  '*',
  '/api',
  '/api/',
  '/api/v1',
  '/api//v1/pods',
  '//api/v1/pods',
  '/api/v1/namespaces//pods',
  '/api/v1/namespaces/default/pods/..%2f..%2fsecrets',
  '/api/v1/namespaces/default/../kube-system/secrets',
  '/api/v1/namespaces/..',
  '/api/v1/namespaces/%2e%2e/secrets',
  '/api/v1/namespaces/default%2Fx/configmaps/a',
  '/api/v1/namespaces/%/configmaps',
  '/api/v1/namespaces/%ff%fe/configmaps',
  '/api/v1/__proto__',
  '/api/v1/constructor/a',
  '/api/__proto__/pods',
  '/apis/__proto__',
  '/apis/constructor/prototype/toString',
  '/apis/apps/v1/namespaces/default/deployments/a/scale/b/c',
  '/apis/apps',
  '/apis/apps/v9',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/api/__proto__',
  '/openapi/v3/apis/apps/v1?hash=x',
  '/openapi/v3/../../etc/passwd',
  '/healthz/../..',
  '/livez?verbose',
  '/version/',
  '/metrics',
  '/clusters',
  '/clusters/',
  '/clusters//api',
  '/clusters/..',
  '/clusters/../api/v1/pods',
  '/clusters/A_B/api',
  '/clusters/__proto__/api/v1/pods',
  `/clusters/${'x'.repeat(300)}/api`,
  '/clusters/%62lue/api',
  '/clusters/blue',
  '/clusters/blue?x=1',
  '/clusters/blue/clusters/red/api/v1/namespaces',
  '/.well-known/openid-configuration',
  '/.well-known/__proto__',
  '/openid/v1/jwks',
  '/openid/v1/../x',
  '/api/v1/watch/pods',
  '/api/v1/proxy/namespaces/default/pods/a',
  `/api/v1/namespaces/default/configmaps/${'a/'.repeat(300)}`,
  `/${'api/v1/'.repeat(300)}`,
  `/api/v1/configmaps?${'a&'.repeat(2000)}`,
  '/api/v1/configmaps?%',
  '/api/v1/configmaps??watch=0',
  '/api/v1/configmaps#watch=true',
  '/api/v1/configmaps\u{0}',
  '/api/v1/configmaps\r\nx: y',
  'http://elsewhere/api/v1/pods',
]

function absurdPath(chance: Chance): TransportRequest {
  const method = chance.pick<Method>(['GET', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
  const whole = chance.in(0.3) ? chance.pick(paths) + chance.pick(paths) : chance.pick(paths)
  if (method === 'GET') return { method, path: whole, headers: { accept: chance.pick(accepts) } }
  return { ...send(method, whole, anyJson(chance)), headers: { 'content-type': chance.pick(contentTypes) } }
}

/** Headers that may be added to any request. */
function withNoise(chance: Chance, request: TransportRequest): TransportRequest {
  if (!chance.in(0.15)) return request
  return { ...request, headers: { ...request.headers, ...chance.pick(noises)(chance) } }
}

type Noise = (chance: Chance) => TransportRequest['headers']

const noises: readonly Noise[] = [
  () => ({ authorization: `Bearer ${secretToken}` }),
  () => ({ authorization: `Bearer ${secretToken}.${'x'.repeat(20_000)}.y` }),
  () => ({ authorization: `Bearer ${Buffer.from('{"alg":"none"}').toString('base64url')}.${secretToken}.` }),
  () => ({ authorization: `Basic ${secretToken}` }),
  () => ({ authorization: ['Bearer', `Bearer ${secretToken}`] }),
  (chance) => ({ 'impersonate-user': chance.pick(hostileTexts) }),
  (chance) => ({ 'impersonate-user': 'x', 'impersonate-group': [chance.pick(hostileTexts), 'a\r\nb: c'] }),
  (chance) => ({ 'impersonate-user': 'x', [`impersonate-extra-${chance.pick(['__proto__', '%', '%ff', ''])}`]: 'y' }),
  () => ({ 'impersonate-uid': '1' }),
  (chance) => ({ 'user-agent': chance.pick(hostileTexts) }),
  (chance) => ({ accept: chance.pick(accepts) }),
  (chance) => ({ 'content-type': chance.pick(contentTypes) }),
]
