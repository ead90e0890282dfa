/** The rule about rights: what an operator declares is enough, and no more than it uses. */
import { roleOf } from '../../operator/role.ts'
import { count, failed, passed, type Rule, some } from './examination.ts'
import type { Request } from './request.ts'

export const access: Rule = {
  name: 'least access',
  asks: 'the role that follows from what it declares is enough, and all of it is used',
  run({ operator, requests }) {
    const refused = refusalsIn(requests)
    if (refused.length > 0) return Promise.resolve(failed(`refused: ${some(refused)}`))
    const used = new Set(requests.flatMap(rightsUsedBy))
    const granted = (roleOf(operator).rules ?? []).flatMap(({ apiGroups = [], resources = [], verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb })))),
    )
    const unused = granted.filter(
      ({ group, resource, verb }) => isTold(verb, resource) && !used.has(`${verb} ${resource}.${group}`),
    )
    if (unused.length === 0) return Promise.resolve(passed(`${count(used.size, 'right')}, none refused, all used`))
    const texts = [
      ...Map.groupBy(unused, ({ group, resource }) => `${resource}${group === '' ? '' : `.${group}`}`),
    ].map(([resource, rights]) => `${rights.map(({ verb }) => verb).join(', ')} ${resource}`)
    return Promise.resolve({
      result: 'warned',
      evidence: `none refused; not used with this sample: ${some(texts, 5)}`,
    })
  },
}

/** Requests that the server refused for want of rights. */
export function refusalsIn(requests: readonly Request[]): readonly string[] {
  const refused = requests.filter(({ status }) => status === 403)
  return [...new Set(refused.map((request) => rightOf(request) ?? `${request.method} ${request.path}`))]
}

/** What is patched into being is created, too. */
function rightsUsedBy(request: Request): readonly string[] {
  const right = rightOf(request)
  if (right === undefined) return []
  return request.verb === 'patch' && request.status === 201 ? [right, right.replace(/^patch/, 'create')] : [right]
}

function rightOf({ verb, resource, subresource }: Request): string | undefined {
  if (!resource) return undefined
  return `${verb} ${resource.plural}${subresource === '' ? '' : `/${subresource}`}.${resource.group}`
}

/**
 * Not asked about: `get` goes with `list` and `watch`, which fill the caches, one or the other; rights on `/finalizers`
 * are asked for by the server when an owner reference is written, and Events are written when there is something to say.
 */
function isTold(verb: string, resource: string): boolean {
  return !['get', 'list'].includes(verb) && !resource.endsWith('/finalizers') && resource !== 'events'
}
