/** The RBAC rule: the declared role is sufficient, and contains no more than the operator uses. */
import { roleOf } from '../../operator/role.ts'
import { count, failed, passed, type Rule, some } from './examination.ts'
import type { Request } from './request.ts'

export const access: Rule = {
  name: 'least access',
  asks: 'the role derived from the declaration is sufficient and fully used',
  run({ operator, requests }) {
    const refused = refusalsIn(requests)
    if (refused.length > 0) return Promise.resolve(failed(`refused: ${some(refused)}`))
    const used = new Set(requests.flatMap(rightsUsedBy))
    const granted = (roleOf(operator).rules ?? []).flatMap(({ apiGroups = [], resources = [], verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => ({ group, resource, verb })))),
    )
    const unused = granted.filter(
      ({ group, resource, verb }) => isChecked(verb, resource) && !used.has(`${verb} ${resource}.${group}`),
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

/** Requests that were forbidden. */
export function refusalsIn(requests: readonly Request[]): readonly string[] {
  const refused = requests.filter(({ status }) => status === 403)
  return [...new Set(refused.map((request) => rightOf(request) ?? `${request.method} ${request.path}`))]
}

/** A patch that creates an object uses `create`, too. */
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
 * Whether the rule checks this right. Not checked: `get` comes with `list` and `watch`, which fill the caches; the
 * server needs rights on `/finalizers` for owner references; and Events are written only on occasion.
 */
function isChecked(verb: string, resource: string): boolean {
  return !['get', 'list'].includes(verb) && !resource.endsWith('/finalizers') && resource !== 'events'
}
