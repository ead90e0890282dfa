/** Ingresses: which requests go to which Service; and IngressClasses: which controller implements them. */
import type { UntypedObject } from '../../../kube/object.ts'
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressClass,
  IngressClassParametersReference,
  IngressClassSpec,
  IngressSpec,
} from '../../../kube/types/networking/v1.ts'
import { structForm } from '../../codec/struct-form.ts'
import { draftOf, fillAbsent, finished, part } from '../strategy/draft.ts'
import { checkIp, parseIp } from '../../errors/ip-address.ts'
import type { KindRules } from '../strategy/kind-rules.ts'
import { checkHostname } from './load-balancer-status.ts'
import {
  dnsLabel,
  dnsSubdomain,
  isUrlPath,
  patternRemark,
  pathSegment,
  portName,
  urlPathPattern,
  wildcardSubdomain,
} from '../../../kube/validation/name-validation.ts'
import { checkPortNumber } from '../values/port.ts'
import {
  eachInvalid,
  forbiddenField,
  immutableDetail,
  invalidField,
  type Problems,
  requiredField,
  tooLong,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import type { SentObject } from '../strategy/sent.ts'

const specOf = (object: UntypedObject): SentObject<IngressSpec> => (object as unknown as SentObject<Ingress>).spec ?? {}

function* check(object: UntypedObject): Iterable<Problems[number]> {
  const { rules = [], defaultBackend, tls = [], ingressClassName } = specOf(object)
  if (rules.length === 0 && !defaultBackend) {
    yield invalidField('spec', null, 'either `defaultBackend` or `rules` must be specified')
  }
  if (defaultBackend) yield* checkBackend(defaultBackend, 'spec.defaultBackend')
  for (const [index, { host = '', http }] of rules.entries()) {
    const at = `spec.rules[${index}]`
    yield* checkHost(host, `${at}.host`)
    if (!http) continue
    const { paths = [] } = http
    if (paths.length === 0) yield requiredField(`${at}.http.paths`)
    for (const [place, path] of paths.entries()) yield* checkPath(path, `${at}.http.paths[${place}]`)
  }
  for (const [index, { hosts = [], secretName = '' }] of tls.entries()) {
    const at = `spec.tls[${index}]`
    for (const [place, host] of hosts.entries()) {
      yield* eachInvalid(`${at}.hosts[${place}]`, host, (host.includes('*') ? wildcardSubdomain : dnsSubdomain)(host))
    }
    if (secretName !== '') yield* eachInvalid(`${at}.secretName`, secretName, dnsSubdomain(secretName))
  }
  if (ingressClassName !== undefined) {
    yield* eachInvalid('spec.ingressClassName', ingressClassName, dnsSubdomain(ingressClassName))
  }
}

function* checkHost(host: string, field: string): Iterable<Problems[number]> {
  if (host === '') return
  if (parseIp(host)) yield invalidField(field, host, 'must be a DNS name, not an IP address')
  yield* eachInvalid(field, host, (host.includes('*') ? wildcardSubdomain : dnsSubdomain)(host))
}

const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix']

function* checkPath(
  { path = '', pathType, backend = {} }: SentObject<HTTPIngressPath>,
  at: string,
): Iterable<Problems[number]> {
  if (pathType === undefined) {
    yield requiredField(`${at}.pathType`, 'pathType must be specified')
    return
  }
  const field = `${at}.path`
  if (!pathTypes.includes(pathType)) yield unsupported(`${at}.pathType`, pathType, pathTypes)
  else if (pathType !== 'ImplementationSpecific' || path !== '') {
    if (!path.startsWith('/')) yield invalidField(field, path, 'must be an absolute path')
  }
  if (pathType === 'Exact' || pathType === 'Prefix') {
    for (const wrong of ['//', '/./', '/../', '%2f', '%2F']) {
      if (path.includes(wrong)) yield invalidField(field, path, `must not contain '${wrong}'`)
    }
    for (const wrong of ['/..', '/.'])
      if (path.endsWith(wrong)) yield invalidField(field, path, `cannot end with '${wrong}'`)
  }
  yield* checkBackend(backend, `${at}.backend`)
}

function* checkBackend({ resource, service }: SentObject<IngressBackend>, at: string): Iterable<Problems[number]> {
  if (resource && service) yield invalidField(at, '', 'cannot set both resource and service backends')
  else if (resource) yield* checkReference(resource, `${at}.resource`)
  else if (service) {
    const { name, port = {} } = service
    if (!name) yield requiredField(`${at}.service.name`)
    else yield* eachInvalid(`${at}.service.name`, name, dnsLabel(name))
    if (port.name && port.number) yield invalidField(at, '', 'cannot set both port name & port number')
    else if (port.name) yield* eachInvalid(`${at}.service.port.name`, port.name, portName(port.name))
    else if (port.number) yield* checkPortNumber(port.number, `${at}.service.port.number`)
    else yield requiredField(at, 'port name or number is required')
  } else yield invalidField(at, '', 'resource or service backend is required')
}

interface Reference {
  readonly apiGroup?: string
  readonly kind?: string
  readonly name?: string
}

function* checkReference({ apiGroup, kind, name }: Reference, at: string): Iterable<Problems[number]> {
  if (apiGroup !== undefined) yield* eachInvalid(`${at}.apiGroup`, apiGroup, dnsSubdomain(apiGroup))
  if (!kind) yield requiredField(`${at}.kind`)
  else yield* eachInvalid(`${at}.kind`, kind, pathSegment(kind))
  if (!name) yield requiredField(`${at}.name`)
  else yield* eachInvalid(`${at}.name`, name, pathSegment(name))
}

function* checkStatus(object: UntypedObject): Iterable<Problems[number]> {
  const { ingress = [] } = (object as unknown as SentObject<Ingress>).status?.loadBalancer ?? {}
  for (const [index, { ip, hostname }] of ingress.entries()) {
    const at = `status.loadBalancer.ingress[${index}]`
    if (ip) yield* checkIp(ip, `${at}.ip`)
    yield* checkHostname(hostname, `${at}.hostname`)
  }
}

const classAnnotation = 'kubernetes.io/ingress.class'

export const ingressRules: KindRules = {
  defaults: structForm,
  prepareCreate: structForm,
  validateCreate(object) {
    const annotation = object.metadata.annotations?.[classAnnotation]
    const named = specOf(object).ingressClassName
    const differs = annotation !== undefined && named !== undefined && annotation !== named
    const why = 'must match `ingressClassName` when both are specified'
    return [...check(object), ...(differs ? [invalidField(`annotations.${classAnnotation}`, annotation, why)] : [])]
  },
  validateUpdate: (object) => [...check(object)],
  validateStatus: (object) => [...checkStatus(object)],
  warnings: (object) =>
    object.metadata.annotations?.[classAnnotation] === undefined
      ? []
      : [`annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`],
}

const longestController = 250

function* checkController(controller: string, field: string): Iterable<Problems[number]> {
  if (Buffer.byteLength(controller) > longestController) yield tooLong(field, longestController)
  if (controller === '') {
    yield requiredField(field)
    return
  }
  const slash = controller.indexOf('/')
  const host = controller.slice(0, Math.max(slash, 0))
  const path = controller.slice(slash + 1)
  if (host === '' || path === '') {
    yield invalidField(field, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
    return
  }
  yield* eachInvalid(field, host, dnsSubdomain(host))
  if (!isUrlPath(path)) yield invalidField(field, path, patternRemark('Invalid path', urlPathPattern))
}

const scopes = ['Cluster', 'Namespace']

function* checkParameters(
  parameters: SentObject<IngressClassParametersReference>,
  at: string,
): Iterable<Problems[number]> {
  const { kind, name, scope = '', namespace } = parameters
  const reference = [...checkReference(parameters, at)]
  const isMissing = ({ reason }: Problems[number]): boolean => reason === 'FieldValueRequired'
  yield* reference.filter((problem) => !isMissing(problem))
  if (!scopes.includes(scope)) yield unsupported(`${at}.scope`, scope, scopes)
  else if (scope === 'Namespace' && namespace === undefined) {
    yield requiredField(`${at}.namespace`, "`parameters.scope` is set to 'Namespace'")
  } else if (scope === 'Namespace') yield* eachInvalid(`${at}.namespace`, namespace, dnsLabel(namespace!))
  else if (namespace !== undefined) yield forbiddenField(`${at}.namespace`, "`parameters.scope` is set to 'Cluster'")
  if (!kind || !name) yield* reference.filter(isMissing)
}

const classSpecOf = (object: UntypedObject): SentObject<IngressClassSpec> =>
  (object as unknown as SentObject<IngressClass>).spec ?? {}

function checkClass(object: UntypedObject): Problems {
  const { controller = '', parameters } = classSpecOf(object)
  return [
    ...checkController(controller, 'spec.controller'),
    ...(parameters ? checkParameters(parameters, 'spec.parameters') : []),
  ]
}

export const ingressClassRules: KindRules = {
  defaults(object) {
    const draft = draftOf(object)
    fillAbsent(part(part(draft, 'spec'), 'parameters'), { scope: 'Cluster' })
    return finished(draft)
  },
  validateCreate: checkClass,
  validateUpdate: (object, live) => [
    ...(classSpecOf(object).controller === classSpecOf(live).controller
      ? []
      : [invalidField('spec.controller', classSpecOf(object).controller ?? '', immutableDetail)]),
    ...checkClass(object),
  ],
}
