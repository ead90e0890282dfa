/** The 403 response of the authorizer. */
import { formatGoValue } from '../../kube/go/go-text.ts'
import { StatusError } from '../errors/status-error.ts'
import type { Attributes, Identity } from './identity.ts'

/** `reason` is the authorizer's addition, mostly empty. */
export function accessForbidden(identity: Identity, asked: Attributes, reason: string): StatusError {
  const why = `${sanitized(describe(identity, asked))}${reason === '' ? '' : `: ${reason}`}`
  if ('path' in asked) return new StatusError(403, 'Forbidden', `forbidden: ${why}`, {})
  const { group, resource, name = '' } = asked
  const qualified = group === '' ? resource : `${resource}.${group}`
  const subject = name === '' ? qualified : `${qualified} ${formatGoValue(name)}`
  const details = {
    ...(name !== '' && { name }),
    ...(group !== '' && { group }),
    ...(resource !== '' && { kind: resource }),
  }
  return new StatusError(
    403,
    'Forbidden',
    resource === '' ? `forbidden: ${why}` : `${subject} is forbidden: ${why}`,
    details,
  )
}

function describe({ username }: Identity, asked: Attributes): string {
  const who = `User ${formatGoValue(username)} cannot ${asked.verb}`
  if ('path' in asked) return `${who} path ${formatGoValue(asked.path)}`
  const { group, resource, subresource, namespace } = asked
  const what = subresource ? `${resource}/${subresource}` : resource
  const where = namespace ? `in the namespace ${formatGoValue(namespace)}` : 'at the cluster scope'
  return `${who} resource ${formatGoValue(what)} in API group ${formatGoValue(group)} ${where}`
}

/** Escapes HTML: names come from clients, and a browser must not render them. */
function sanitized(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
