/**
 * `--controllers`: `foo` selects a controller, `-foo` excludes it, `*` selects all that are not named. The first entry
 * that names a controller decides; without any entry none runs.
 */
import { flagErrors } from '../manager/alone/flag-errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { nearest } from '../kube/text/nearest.ts'

/** Whether a controller is selected. @throws InvalidFlag for an unknown name */
export function selectControllers(chosen: readonly string[], known: readonly string[]): (name: string) => boolean {
  for (const word of chosen) {
    const name = word.replace(/^-/, '')
    if (word === '*' || known.includes(name)) continue
    const near = nearest(name, known)
    throw new MusterError(
      flagErrors.InvalidFlag,
      `there is no controller "${name}".${near === undefined ? ` There are: ${known.join(', ')}.` : ` Did you mean "${near}"?`}`,
    )
  }
  return (name) => {
    const named = chosen.find((word) => word === name || word === `-${name}`)
    return named === undefined ? chosen.includes('*') : named === name
  }
}
