/** Flags that name namespaces (`--namespace a,b`), and objects in them (`--configmap NAMESPACE/NAME`). */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { checkDnsLabel } from '../../kube/meta/name.ts'

/** @throws InvalidFlag for an invalid namespace name */
export function readNamespaces(text: string | undefined): readonly string[] | undefined {
  const names = text?.split(',').map((name) => name.trim())
  for (const name of names ?? []) {
    const [problem] = checkDnsLabel(name)
    if (problem !== undefined) throw new MusterError(flagErrors.InvalidFlag, `--namespace "${name}": it ${problem}.`)
  }
  return names && [...new Set(names)]
}

/** @throws InvalidFlag */
export function readObjectName(flag: string, text: string): string {
  if (/^[a-z0-9-]+\/[a-z0-9.-]+$/.test(text)) return text
  throw new MusterError(flagErrors.InvalidFlag, `--${flag} ${text}: write NAMESPACE/NAME.`)
}
