/** `--namespace a,b`: the namespaces that an operator serves. */
import { MusterError } from '../kube/errors.ts'
import { checkDnsLabel } from '../kube/name.ts'

/** @throws InvalidFlag for what is no name of a namespace */
export function readNamespaces(text: string | undefined): readonly string[] | undefined {
  const names = text?.split(',').map((name) => name.trim())
  for (const name of names ?? []) {
    const [problem] = checkDnsLabel(name)
    if (problem !== undefined) throw new MusterError('InvalidFlag', `--namespace "${name}": it ${problem}.`)
  }
  return names && [...new Set(names)]
}
