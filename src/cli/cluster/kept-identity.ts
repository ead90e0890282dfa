/**
 * The identity of an embedded cluster that keeps its data: its port, certificate authority and administrator's token, and the port
 * of the console of its manager. They are stored with the data, so that a kubeconfig, a console tab and a script work again after a restart.
 */
import { randomBytes, X509Certificate } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { loopbackAuthority } from '../../apiserver/http/listener.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { type CertificateAuthority, openCertificateAuthority } from '../../pki/certificate-authority.ts'

interface ClusterIdentity {
  /** 0: any free port. */
  readonly port: number
  readonly token: string
  readonly authority: CertificateAuthority
  /** Of the manager that ran beside it. */
  readonly consolePort?: number | undefined
}

interface StoredIdentity {
  readonly port: number
  readonly token: string
  readonly cert: string
  readonly key: string
  readonly consolePort?: number | undefined
}

/** An authority that expires earlier is replaced at the start. */
const leastValidMs = 30 * 24 * 3_600_000

const place = (folder: string): string => path.join(folder, 'identity.json')

/** That of the folder, or a new one: for data that is not kept, for a first start, and for a file that is damaged or expires. */
export function identityOf(folder: string | undefined): ClusterIdentity {
  const stored = folder === undefined ? undefined : readIdentity(place(folder))
  if (stored) return stored
  return { port: 0, token: randomBytes(32).toString('base64url'), authority: loopbackAuthority(systemClock) }
}

function readIdentity(file: string): ClusterIdentity | undefined {
  try {
    const { port, token, cert, key, consolePort } = JSON.parse(readFileSync(file, 'utf8')) as StoredIdentity
    const isValid = new X509Certificate(cert).validToDate.getTime() - systemClock.now() > leastValidMs
    if (!isValid || !Number.isInteger(port) || !/^[\w-]{43}$/.test(token)) return undefined
    const isPort = Number.isInteger(consolePort)
    return { port, token, authority: openCertificateAuthority({ cert, key }), ...(isPort && { consolePort }) }
  } catch {
    return undefined
  }
}

/** Readable by its owner only, as the kubeconfig is. Atomic: a crash leaves the whole file or the one before. */
export function storeIdentity(folder: string, { port, token, authority, consolePort }: ClusterIdentity): void {
  const { cert, key } = authority
  const draft = `${place(folder)}.draft`
  rmSync(draft, { force: true })
  const stored: StoredIdentity = { port, token, cert, key, consolePort }
  writeFileSync(draft, `${JSON.stringify(stored)}\n`, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(draft, place(folder))
}

/** The port of the console at the last start. Undefined: there was none, or nothing is kept. */
export function keptConsolePort(folder: string | undefined): number | undefined {
  return folder === undefined ? undefined : readIdentity(place(folder))?.consolePort
}

/** For the next start. Does nothing for data that is not kept. */
export function keepConsolePort(folder: string | undefined, url: string): void {
  const identity = folder === undefined ? undefined : readIdentity(place(folder))
  if (identity) storeIdentity(folder!, { ...identity, consolePort: Number(new URL(url).port) })
}
