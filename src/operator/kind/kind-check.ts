/**
 * Whether an API server would accept the CRD of a kind: names, versions, patterns, defaults, rules and their cost. Asked
 * before anything is installed: when CRDs are generated, and when a test environment opens.
 */
import { definitionCauses } from '../../kube/crd/definition-check.ts'
import type { Cause } from '../../kube/validation/cause.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { operatorErrors } from '../errors.ts'
import type { Kind } from './kind.ts'

/** Further problems are only counted: the author corrects the first few. */
const mostShown = 5

/** @throws InvalidKind with the places in the definition */
export function checkKind(kind: Kind): void {
  const crd = kind.crd()
  // The server adds it when it stores the definition.
  const causes = definitionCauses({ ...crd, status: { storedVersions: [kind.version] } })
  if (causes.length === 0) return
  const texts = causes.slice(0, mostShown).map((cause) => textOf(cause, kind))
  const more = causes.length - texts.length
  throw new MusterError(
    operatorErrors.InvalidKind,
    `Kind ${kind.kind}: ${[...new Set(texts)].join(' ')}${more > 0 ? ` And ${more} more.` : ''}`,
  )
}

function textOf({ field = '', message = '' }: Cause, kind: Kind): string {
  const place = placeOf(field, kind)
  return `${place === '' ? '' : `${place}: `}${message.replace(/\.$/, '')}.`
}

/** `spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[size].pattern` is `spec.size.pattern`. */
function placeOf(field: string, { definition }: Kind): string {
  if (field === 'metadata.name') return 'plural and group'
  const [, at, rest] = /^spec\.versions\[(\d+)\]\.?(.*)$/s.exec(field) ?? []
  const path = (rest ?? field.replace(/^spec\.(?:names\.)?/, ''))
    // A CRD whose versions have one schema is reported as if it had no versions.
    .replace(/^(?:schema|validation)\.openAPIV3Schema\.?/, '')
    .replaceAll(/\.?properties\[([^[\]]*)\]/g, '.$1')
    .replace(/^name$/, 'version')
    .replace(/^\./, '')
  const { version } = [definition, ...(definition.otherVersions ?? [])][Number(at ?? 0)] ?? {}
  return Number(at ?? 0) === 0 || version === undefined ? path : `version ${version}, ${path}`
}
