/** An object named on the command line as kubectl names it: `KIND NAME` or `KIND/NAME`, with `-n` for its namespace. */
import type { Client, DiscoveredResource, ObjectRef } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { nearest } from '../../kube/text/nearest.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'

export interface NamedObject {
  readonly resource: DiscoveredResource
  readonly ref: ObjectRef
}

/** @returns undefined unless the words name a kind and an object */
export function splitReference(words: readonly string[]): readonly [kind: string, name: string] | undefined {
  const parts = words.length === 1 ? words[0]!.split('/') : words
  const [kind = '', name = '', ...rest] = parts
  return kind === '' || name === '' || rest.length > 0 ? undefined : [kind, name]
}

/** @throws InvalidFlag, KindNotServed */
export async function readReference(
  client: Client,
  words: readonly string[],
  { command, namespace, signal }: { command: string; namespace: string; signal: AbortSignal },
): Promise<NamedObject> {
  const split = splitReference(words)
  if (!split)
    throw new MusterError(flagErrors.InvalidFlag, `${command} takes an object: KIND NAME, such as memcached sample.`)
  const [kind, name] = split
  const resource = findResource(kind, await client.discovery.resources({ signal }))
  return { resource, ref: { name, ...(resource.namespaced && { namespace }) } }
}

/** By plural, singular, short name or kind; `widgets.example.com` names the group. @throws KindNotServed */
export function findResource(name: string, resources: readonly DiscoveredResource[]): DiscoveredResource {
  const [word = '', ...rest] = name.toLowerCase().split('.')
  const group = rest.join('.')
  const namesOf = ({ plural, singular, kind, shortNames }: DiscoveredResource): readonly string[] =>
    [plural, singular, kind.toLowerCase(), ...shortNames].filter((candidate) => candidate !== '')
  const found = resources.find(
    (resource) => (group === '' || resource.group === group) && namesOf(resource).includes(word),
  )
  if (found) return found
  const near = nearest(
    word,
    resources.flatMap((resource) => namesOf(resource)),
  )
  throw new MusterError(
    clientErrors.KindNotServed,
    `the server serves no "${name}".${near === undefined ? '' : ` Did you mean "${near}"?`}`,
  )
}
