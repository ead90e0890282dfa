/**
 * A bearer token in a file that another program keeps fresh: the kubelet, a secrets agent. It is read again when the held
 * token is a minute old (well within the life of a projected token) and after a 401.
 */
import type { Clock } from '../../clock/clock.ts'
import { clientErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { bearer, isHeaderSafe } from './bearer.ts'
import type { Credentials } from '../connection.ts'
import { explainFileError, type Machine } from './machine.ts'
import { renewable } from './renewable.ts'

const rereadMs = 60_000

interface TokenFileOptions {
  readonly machine: Machine
  readonly clock: Clock
  /** Used until the file can be read for the first time. */
  readonly fallback?: string | undefined
}

export function tokenFileCredentials(path: string, { machine, clock, fallback }: TokenFileOptions): Credentials {
  let everRead = false
  const headers = renewable(async () => {
    const token = await readToken(path, machine).catch((error: unknown) => {
      if (fallback === undefined || everRead) throw error
      return fallback
    })
    everRead ||= token !== fallback
    // A token that was accepted before is better than none: it is used while the file cannot be read.
    return { value: bearer(token), renewAt: clock.now() + rereadMs, expiresAt: Number.POSITIVE_INFINITY }
  }, clock)
  return {
    headers: (signal) => headers.get(signal),
    certificate: () => Promise.resolve(undefined),
    refused: (sent) => headers.refuse((held) => sent === undefined || sent['authorization'] === held.authorization),
  }
}

async function readToken(path: string, machine: Machine): Promise<string> {
  let content: string
  try {
    content = await machine.readFile(path)
  } catch (error) {
    const message = `the token file ${path} ${explainFileError(error)}.`
    throw new MusterError(clientErrors.CredentialFileUnreadable, message, { cause: error })
  }
  const token = content.trim()
  if (isHeaderSafe(token)) return token
  const what = token === '' ? 'is empty' : 'holds something else than one token'
  throw new MusterError(clientErrors.CredentialFileUnreadable, `the token file ${path} ${what}.`)
}
