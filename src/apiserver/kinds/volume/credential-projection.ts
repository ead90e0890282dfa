/** Validation of projected credentials: cluster trust bundles, and pod certificates. */
import type { ClusterTrustBundleProjection, PodCertificateProjection } from '../../../kube/types/core/v1.ts'
import type { Cause } from '../../errors/status-error.ts'
import { checkLabelSelector } from '../values/label-selector.ts'
import { dnsSubdomain, qualifiedNameProblems } from '../../../kube/validation/name-validation.ts'
import {
  eachInvalid,
  invalidField,
  type Problems,
  requiredField,
  tooLong,
  unsupported,
} from '../../../kube/validation/field-error.ts'
import { checkSignerName, isKubernetesSigner } from '../values/signer-name.ts'
import { checkId, checkLocalNonReservedPath } from '../values/value-validation.ts'

/** Checks whether another source of the volume already uses the path. */
export type PathCheck = (path: string, shown: string) => Problems

export function* checkTrustBundle(
  bundle: ClusterTrustBundleProjection,
  field: string,
  conflict: PathCheck,
): Iterable<Cause> {
  const { name, signerName, labelSelector, path, user } = bundle
  if (name !== undefined && signerName !== undefined)
    yield invalidField(field, quoted(bundle), 'only one of name and signerName may be used')
  else if (name !== undefined) {
    if (name === '') yield requiredField(`${field}.name`, 'must be a valid object name')
    for (const remark of bundleName(name))
      yield invalidField(`${field}.name`, name, `not a valid clustertrustbundlename: ${remark}`)
    if (labelSelector)
      yield invalidField(`${field}.labelSelector`, labelSelector, 'labelSelector must be unset if name is specified')
  } else if (signerName !== undefined) {
    if (signerName === '') yield requiredField(`${field}.signerName`, 'must be a valid signer name')
    yield* checkSignerName(signerName, `${field}.signerName`)
    yield* checkLabelSelector(labelSelector, `${field}.labelSelector`)
  } else yield requiredField(field, 'either name or signerName must be specified')
  if (!path) yield requiredField(`${field}.path`)
  yield* checkId(user, `${field}.user`)
  yield* checkLocalNonReservedPath(path, `${field}.path`)
  yield* conflict(path, path)
}

/** The struct as the real server prints it. */
function quoted({ name, signerName, labelSelector, optional, path, user }: ClusterTrustBundleProjection): object {
  const selector = labelSelector ?? null
  return {
    Name: name ?? null,
    SignerName: signerName ?? null,
    LabelSelector: selector,
    Optional: optional ?? null,
    Path: path,
    User: user ?? null,
  }
}

/** `example.com:signer:name` belongs to a signer, `name` to none. */
function bundleName(name: string): readonly string[] {
  return dnsSubdomain(name.slice(name.lastIndexOf(':') + 1))
}

const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519']
const hour = 3600
const longestExpiration = 91 * 24 * hour
const longestKubernetesExpiration = 24 * hour
const annotationBytes = 256 * 1024

export function* checkPodCertificate(
  certificate: PodCertificateProjection,
  field: string,
  conflict: PathCheck,
): Iterable<Cause> {
  const { signerName, userAnnotations, user, keyType, maxExpirationSeconds: seconds } = certificate
  yield* checkSignerName(signerName ?? '', `${field}.signerName`)
  yield* checkAnnotations(userAnnotations ?? {}, `${field}.userAnnotations`)
  yield* checkId(user, `${field}.user`)
  if (!keyTypes.includes(keyType)) yield unsupported(`${field}.keyType`, keyType ?? '', keyTypes)
  if (seconds !== undefined) {
    const expiry = `${field}.maxExpirationSeconds`
    const longest = isKubernetesSigner(signerName ?? '') ? longestKubernetesExpiration : longestExpiration
    if (seconds < hour) yield invalidField(expiry, seconds, `if provided, maxExpirationSeconds must be >= ${hour}`)
    if (seconds > longest)
      yield invalidField(expiry, seconds, `if provided, maxExpirationSeconds must be <= ${longest}`)
  }
  const members = ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const
  for (const member of members) {
    const path = certificate[member]
    if (!path) continue
    yield* checkLocalNonReservedPath(path, `${field}.${member}`)
    yield* conflict(path, path)
  }
  if (members.every((member) => !certificate[member]))
    yield requiredField(field, 'specify at least one of credentialBundlePath, keyPath, and certificateChainPath')
}

function* checkAnnotations(annotations: Readonly<Record<string, string>>, field: string): Iterable<Cause> {
  let bytes = 0
  for (const [name, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value)
    const key = name.toLowerCase()
    const wrong = qualifiedNameProblems(key)
    if (key === '') yield requiredField(field)
    else if (wrong.length > 0) yield* eachInvalid(field, key, wrong)
    else if (!key.includes('/')) yield invalidField(field, key, 'must be a domain-prefixed key (such as "acme.io/foo")')
  }
  if (bytes > annotationBytes) yield tooLong(field, annotationBytes)
}
