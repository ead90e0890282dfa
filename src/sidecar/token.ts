/**
 * Authentication by bearer tokens from a file.
 *
 * The file is read for every request, so a rotated Secret takes effect at once. It may hold several tokens, one a line:
 * old and new during a rotation. The comparison takes constant time.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { sidecarErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'

export interface TokenCheck {
  /** Whether the header has a valid token. @throws SidecarConfigInvalid when the file cannot be read or holds no token */
  authenticate(authorization: string | undefined): Promise<boolean>
}

/** Shorter tokens can be guessed. */
const shortestToken = 16

export function tokenCheck(file: string): TokenCheck {
  return {
    async authenticate(authorization) {
      const shown = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
      const digest = digestOf(shown ?? '')
      let isKnown = false
      // All tokens are compared, so that timing reveals nothing.
      for (const token of await readTokens(file)) if (timingSafeEqual(digestOf(token), digest)) isKnown = true
      return isKnown && shown !== undefined
    },
  }
}

async function readTokens(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new MusterError(sidecarErrors.SidecarConfigInvalid, `the token file ${file} cannot be read (${code}).`)
  })
  const tokens = text.split('\n').flatMap((line) => line.trim() || [])
  if (tokens.length === 0) throw new MusterError(sidecarErrors.SidecarConfigInvalid, `the token file ${file} is empty.`)
  if (tokens.some((token) => token.length < shortestToken || /\s/.test(token)))
    throw new MusterError(
      sidecarErrors.SidecarConfigInvalid,
      `the token file ${file} holds a token of less than ${shortestToken} characters, or with space in it.`,
    )
  return tokens
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
