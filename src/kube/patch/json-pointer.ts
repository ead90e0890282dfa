/** JSON pointers (RFC 6901): `/metadata/annotations/example.com~1owner` names one place in a document. */
import { kubeErrors } from '../errors.ts'
import { MusterError } from '../muster-error.ts'

/** The keys on the way, unescaped; none for the whole document. */
export function parsePointer(pointer: string): readonly string[] {
  if (pointer === '') return []
  if (!pointer.startsWith('/')) {
    throw new MusterError(kubeErrors.InvalidPatch, `the pointer "${pointer}" does not start with a slash.`)
  }
  // ~1 before ~0, so that ~01 is the key "~1".
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

export function formatPointer(tokens: readonly string[]): string {
  return tokens.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
