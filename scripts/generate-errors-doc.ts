/**
 * Writes docs/errors.md from the tables of all layers, joined in src/cli/error-table.ts: `node scripts/generate-errors-doc.ts`.
 * A test compares the file with the tables.
 */
import { writeFileSync } from 'node:fs'
import { errorTable } from '../src/cli/error-table.ts'
import type { RetryClass } from '../src/kube/muster-error.ts'

export const errorsDocUrl: URL = new URL('../docs/errors.md', import.meta.url)

const classes: Readonly<Record<RetryClass, string>> = {
  terminal: 'the same request will fail again; something must change first',
  conflict: 'another writer was faster; read again, then retry',
  throttled: 'the server throttles the request; wait at least as long as it says, then retry',
  transient: 'may go away by itself; retry with back-off',
}

const ranges: readonly (readonly [prefix: string, subject: string])[] = [
  ['MUS10', 'data'],
  ['MUS11', 'configuration of a connection'],
  ['MUS12', 'transport'],
  ['MUS13', 'responses of the server'],
  ['MUS14', 'cache'],
  ['MUS15', 'command line'],
  ['MUS16', 'the embedded API server'],
  ['MUS17', 'operators'],
  ['MUS18', 'the sidecar'],
  ['MUS19', 'the manager'],
  ['MUS20', 'the operator contract'],
  ['MUS21', 'the fault simulator'],
  ['MUS22', 'rendering'],
  ['MUS23', 'kustomizations'],
  ['MUS24', 'installing'],
]

export function errorsDoc(): string {
  const sections = errorTable.map(
    ({ code, name, retry, meaning, cure }) => `## ${code}\n\n**${name}** (${retry}). ${meaning}\n\nCure: ${cure}\n`,
  )
  return `# Errors

Every error that Muster raises has a code that never changes, a name, and a class that says what a program may do
about it. The message of an error has cause and place; meaning and cure are below.

The classes:

${bullets(Object.entries(classes))}

The codes:

${bullets(ranges.map(([prefix, subject]) => [`${prefix}xx`, subject] as const))}

${sections.join('\n')}`
}

function bullets(items: readonly (readonly [term: string, text: string])[]): string {
  return items.map(([term, text]) => `- ${term}: ${text}`).join('\n')
}

if (import.meta.main) writeFileSync(errorsDocUrl, errorsDoc())
