/**
 * A client certificate and its key, inline or in files. Files are reloaded periodically and after a 401, so that a rotated
 * certificate needs no restart; a pair read in the middle of a rotation is ignored.
 */
import type { Clock } from '../../clock/clock.ts'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { ClientCertificate, Credentials } from '../connection.ts'
import { explainFileError, type Machine } from './machine.ts'
import { renewable } from './renewable.ts'

/** PEM and its source: a path in a kubeconfig, or a file. */
export type PemSource =
  | { readonly pem: string; readonly origin: string }
  | { readonly file: string; readonly origin: string }

export interface CertificateSource {
  readonly cert: PemSource
  readonly key: PemSource
}

/** Files are reloaded if the held pair is older than this. */
const rereadMs = 60_000

export type CertificateCredentials = Pick<Credentials, 'certificate' | 'refused'>

export function certificateCredentials(
  source: CertificateSource,
  { machine, clock }: { readonly machine: Machine; readonly clock: Clock },
): CertificateCredentials {
  const rotates = 'file' in source.cert || 'file' in source.key
  const pair = renewable(async () => {
    const cert = await readPem(source.cert, machine)
    const checked = await checkPair(cert, await readPem(source.key, machine), source.cert.origin, source.key.origin)
    const now = clock.now()
    if (checked.expiresAt <= now) throw expired(checked.expiresAt, source.cert.origin)
    return { value: checked, renewAt: rotates ? now + rereadMs : checked.expiresAt, expiresAt: checked.expiresAt }
  }, clock)
  return {
    certificate: async (signal) => (await pair.get(signal)).certificate,
    refused: () => rotates && pair.refuse(() => true),
  }
}

/** A matching pair. Throws `CertificateInvalid` otherwise; without the parsers' messages, which may quote the input. */
export async function checkPair(
  cert: string,
  key: string,
  certOrigin: string,
  keyOrigin: string,
): Promise<{ readonly certificate: ClientCertificate; readonly expiresAt: number }> {
  const { createHash, createPrivateKey, X509Certificate } = await import('node:crypto')
  const parsed = attempt(
    () => new X509Certificate(cert),
    () => `${certOrigin} holds no readable PEM certificate.`,
  )
  const privateKey = attempt(
    () => createPrivateKey(key),
    () =>
      `${keyOrigin} holds no readable PEM key${/ENCRYPTED/.test(key) ? ': it is encrypted, decrypt it first' : ''}.`,
  )
  if (!parsed.checkPrivateKey(privateKey)) {
    throw new MusterError(clientErrors.CertificateInvalid, `the key in ${keyOrigin} does not belong to ${certOrigin}.`)
  }
  const id = createHash('sha256').update(cert).update('\0').update(key).digest('base64url')
  return { certificate: { id, cert, key }, expiresAt: Date.parse(parsed.validTo) }
}

function attempt<T>(parse: () => T, message: () => string): T {
  try {
    return parse()
  } catch {
    throw new MusterError(clientErrors.CertificateInvalid, message())
  }
}

function expired(at: number, origin: string): MusterError {
  return new MusterError(
    clientErrors.CertificateExpired,
    `the client certificate in ${origin} expired at ${new Date(at).toISOString()}.`,
  )
}

async function readPem(source: PemSource, machine: Machine): Promise<string> {
  if ('pem' in source) return source.pem
  try {
    return await machine.readFile(source.file)
  } catch (error) {
    const what = `${source.file} (${source.origin}) ${explainFileError(error)}.`
    throw new MusterError(clientErrors.CredentialFileUnreadable, what, { cause: error })
  }
}
