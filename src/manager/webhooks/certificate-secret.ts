/**
 * Certificates stored in a Secret, which all replicas share: the replica that creates it first makes the certificates
 * for all, and updates are conditional on the version that was read. Its type is `kubernetes.io/tls`, so that other
 * tools find the serving certificate.
 */
import type { Client } from '../../client/client.ts'
import { managerErrors } from '../errors.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError, MusterError } from '../../kube/muster-error.ts'
import { pemBlocks } from '../../kube/text/pem.ts'
import type { Secret } from '../../kube/types/core/v1.ts'
import { Secret as secrets } from '../../kube/kinds.ts'
import { type Certificates, isCompleteBundle } from './rotation.ts'

/** The field manager. */
export const fieldManager = 'muster-webhooks'
export const managedBy: Readonly<Record<string, string>> = { 'app.kubernetes.io/managed-by': 'muster' }

export interface SecretName {
  readonly namespace: string
  readonly name: string
}

export interface KeptCertificates {
  /** Undefined: there are none, or they are damaged and must be made anew. */
  readonly certificates: Certificates | undefined
  /** Of the Secret; undefined when it does not exist. */
  readonly resourceVersion: string | undefined
}

/** @throws CertificatesForeign for a Secret with other content */
export async function readCertificates(client: Client, ref: SecretName): Promise<KeptCertificates> {
  let secret: Secret
  try {
    secret = await client.get<Secret>(secrets, ref)
  } catch (error) {
    if (isMusterError(error, clientErrors.NotFound)) return { certificates: undefined, resourceVersion: undefined }
    throw error
  }
  return { certificates: certificatesIn(secret), resourceVersion: secret.metadata.resourceVersion }
}

/** Conditional on the version that was read. @throws AlreadyExists, Conflict when another replica was faster */
export async function writeCertificates(
  client: Client,
  ref: SecretName,
  certificates: Certificates,
  resourceVersion: string | undefined,
): Promise<KeptCertificates> {
  const { authority, next, retired, serving } = certificates
  const data = {
    'tls.crt': serving.cert,
    'tls.key': serving.key,
    'ca.crt': authority.cert,
    'ca.key': authority.key,
    'next-ca.crt': next?.cert,
    'next-ca.key': next?.key,
    'retired-ca.crt': retired.length > 0 ? retired.join('') : undefined,
  }
  const { name, namespace } = ref
  if (resourceVersion === undefined) {
    const secret: Secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace, labels: managedBy },
      type: 'kubernetes.io/tls',
      data: encoded(data),
    }
    const made = await client.create(secrets, secret, { fieldManager })
    return { certificates, resourceVersion: made.metadata.resourceVersion }
  }
  // A patch, because the type of an existing Secret cannot change.
  const gone = Object.entries(data).filter(([, text]) => text === undefined)
  const patch = {
    metadata: { resourceVersion, labels: managedBy },
    data: { ...Object.fromEntries(gone.map(([key]) => [key, null])), ...encoded(data) },
  }
  const { metadata } = await client.patch(secrets, ref, patch, { type: 'merge', fieldManager })
  return { certificates, resourceVersion: metadata.resourceVersion }
}

function encoded(texts: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const given = Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return Object.fromEntries(given.map(([key, text]) => [key, Buffer.from(text).toString('base64')]))
}

function certificatesIn({ data = {}, metadata }: Secret): Certificates | undefined {
  const text = (key: string): string => Buffer.from(data[key] ?? '', 'base64').toString()
  const isOurs = metadata.labels?.['app.kubernetes.io/managed-by'] === managedBy['app.kubernetes.io/managed-by']
  // A Secret that was created for us with empty values is as good as none.
  if (!isOurs && Object.values(data).some((value) => value !== '')) {
    const where = `${metadata.namespace}/${metadata.name}`
    throw new MusterError(
      managerErrors.CertificatesForeign,
      `the Secret ${where} holds something else than our certificates.`,
    )
  }
  const found: Certificates = {
    authority: { cert: text('ca.crt'), key: text('ca.key') },
    next: text('next-ca.crt') === '' ? undefined : { cert: text('next-ca.crt'), key: text('next-ca.key') },
    retired: Array.from(pemBlocks(text('retired-ca.crt')), (block) => `${block.text}\n`),
    serving: { cert: text('tls.crt'), key: text('tls.key') },
  }
  return isCompleteBundle(found) ? found : undefined
}
