/** Validation of `clientConfig` of a webhook: a URL, or a Service of the cluster. */
import { dnsSubdomain } from '../../../kube/validation/name-validation.ts'
import { invalidField, type Problems, requiredField } from '../../../kube/validation/field-error.ts'
import { urlParts } from '../../../kube/validation/url-parts.ts'

const form = '; desired format: https://host[/path]'

export function* checkWebhookUrl(url: string, field: string): Iterable<Problems[number]> {
  const { scheme, authority, query, fragment } = urlParts(url)
  const at = authority.indexOf('@')
  const [user, host] = [at < 0 ? undefined : authority.slice(0, at), authority.slice(at + 1)]
  if (scheme.toLowerCase() !== 'https') {
    yield invalidField(field, scheme.toLowerCase(), `'https' is the only allowed URL scheme${form}`)
  }
  if (host === '') yield invalidField(field, host, `host must be specified${form}`)
  if (user !== undefined) yield invalidField(field, user, 'user information is not permitted in the URL')
  if (fragment) yield invalidField(field, fragment, 'fragments are not permitted in the URL')
  if (query) yield invalidField(field, query, 'query parameters are not permitted in the URL')
}

interface ServiceReference {
  readonly name?: string
  readonly namespace?: string
  readonly path?: string
  readonly port?: number
}

export function* checkWebhookService(service: ServiceReference, at: string): Iterable<Problems[number]> {
  const { name, namespace, path = '' } = service
  if (!name) yield requiredField(`${at}.name`)
  if (!namespace) yield requiredField(`${at}.namespace`)
  yield* checkServicePort(service.port, `${at}.port`)
  yield* checkPath(path, `${at}.path`)
}

export function checkServicePort(port = 443, field: string): Problems {
  if (port >= 1 && port <= 65_535) return []
  return [invalidField(field, port, 'port is not valid: must be between 1 and 65535, inclusive')]
}

function* checkPath(path: string, field: string): Iterable<Problems[number]> {
  if (path === '' || path === '/') return
  if (path === '//') {
    yield invalidField(field, path, 'segment[0] may not be empty')
    return
  }
  if (!path.startsWith('/')) yield invalidField(field, path, "must start with a '/'")
  for (const [index, step] of path.slice(1).replace(/\/$/, '').split('/').entries()) {
    if (step === '') yield invalidField(field, path, `segment[${index}] may not be empty`)
    else for (const remark of dnsSubdomain(step)) yield invalidField(field, path, `segment[${index}]: ${remark}`)
  }
}
