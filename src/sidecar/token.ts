/**
 * Who may ask: whoever shows one of the tokens in a file.
 *
 * The file is read for every request, so a rotated Secret counts at once. It may hold several tokens, one a line: the new
 * one beside the old one, until everybody has it. Comparison takes the same time for any wrong token.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { MusterError } from '../kube/errors.ts'

export interface TokenCheck {
  /** @throws SidecarConfigInvalid when the file cannot be read or holds no token: then nobody may */
  admits(authorization: string | undefined): Promise<boolean>
}

/** What can be guessed protects nothing. */
const shortestToken = 16

export function tokenCheck(file: string): TokenCheck {
  return {
    async admits(authorization) {
      const shown = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
      const digest = digestOf(shown ?? '')
      let isKnown = false
      // Every token is compared, whichever fits: how long it takes tells nothing.
      for (const token of await readTokens(file)) if (timingSafeEqual(digestOf(token), digest)) isKnown = true
      return isKnown && shown !== undefined
    },
  }
}

async function readTokens(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    throw new MusterError('SidecarConfigInvalid', `the token file ${file} cannot be read (${code}).`)
  })
  const tokens = text.split('\n').flatMap((line) => line.trim() || [])
  if (tokens.length === 0) throw new MusterError('SidecarConfigInvalid', `the token file ${file} is empty.`)
  if (tokens.some((token) => token.length < shortestToken || /\s/.test(token)))
    throw new MusterError(
      'SidecarConfigInvalid',
      `the token file ${file} holds a token of less than ${shortestToken} characters, or with space in it.`,
    )
  return tokens
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
