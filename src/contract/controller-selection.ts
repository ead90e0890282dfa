/** `--controllers`: `*` is all, `foo` that one, `-foo` not that one. The first that matches decides; without any, none. */
import { MusterError } from '../kube/errors.ts'
import { nearest } from '../kube/nearest.ts'

/** Whether a controller is chosen. @throws InvalidFlag for a name that no controller has */
export function selectControllers(chosen: readonly string[], known: readonly string[]): (name: string) => boolean {
  for (const word of chosen) {
    const name = word.replace(/^-/, '')
    if (name === '*' || known.includes(name)) continue
    const near = nearest(name, known)
    throw new MusterError(
      'InvalidFlag',
      `there is no controller "${name}".${near === undefined ? ` There are: ${known.join(', ')}.` : ` Did you mean "${near}"?`}`,
    )
  }
  return (name) => {
    for (const word of chosen) {
      if (word === name || word === '*') return true
      if (word === `-${name}`) return false
    }
    return false
  }
}
