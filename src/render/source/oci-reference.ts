/** `oci://registry.example:5000/charts/web:1.2.3@sha256:…`: a chart, or another artifact, in a registry. */
import { MusterError } from '../../kube/muster-error.ts'
import { renderErrors } from '../errors.ts'
import { isDigest } from './source-cache.ts'

export interface OciReference {
  /** Host, with the port if there is one. */
  readonly registry: string
  /** `charts/web`. */
  readonly repository: string
  readonly tag: string | undefined
  readonly digest: string | undefined
}

const scheme = 'oci://'

export function isOciReference(text: string): boolean {
  return text.startsWith(scheme)
}

export function isTag(text: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/.test(text)
}

/** @throws SourceNotFound */
export function parseOciReference(text: string): OciReference {
  const [withoutDigest = '', digest, ...more] = text.slice(scheme.length).split('@')
  const slash = withoutDigest.indexOf('/')
  const registry = withoutDigest.slice(0, slash)
  const path = withoutDigest.slice(slash + 1)
  const colon = path.lastIndexOf(':')
  const [repository, tag] = colon < 0 ? [path, undefined] : [path.slice(0, colon), path.slice(colon + 1)]
  const isValid =
    slash > 0 &&
    more.length === 0 &&
    /^[a-zA-Z0-9.-]+(?::\d{1,5})?$|^\[[0-9a-fA-F:]+\](?::\d{1,5})?$/.test(registry) &&
    repository.split('/').every((part) => /^[a-z0-9]+(?:[._-]+[a-z0-9]+)*$/.test(part)) &&
    (tag === undefined || isTag(tag)) &&
    (digest === undefined || isDigest(digest))
  if (!isValid) {
    throw new MusterError(
      renderErrors.SourceNotFound,
      `"${text.startsWith(scheme) && !text.slice(scheme.length).includes('@') ? text : 'the source'}" is no reference of a chart: write it like oci://HOST/PATH/NAME:VERSION.`,
    )
  }
  return { registry, repository, tag, digest }
}
