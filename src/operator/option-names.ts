/** The names of options. In JavaScript no compiler finds a misspelt or renamed option, and it would be ignored. */
import { MusterError, type ErrorDefinition } from '../kube/muster-error.ts'
import { nearest } from '../kube/text/nearest.ts'

/** Lists every option of a type. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>

/** @throws `error` for an option that is not in the list */
export function checkOptionNames<Options extends object>(
  options: Options,
  known: OptionNames<Options>,
  error: ErrorDefinition,
  place: string,
): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name)) continue
    const near = nearest(name, Object.keys(known))
    const hint = near === undefined ? `Its options are ${Object.keys(known).join(', ')}.` : `Did you mean "${near}"?`
    throw new MusterError(error, `${place} has no option "${name}". ${hint}`)
  }
}
