/**
 * What lets an operator act in its own name: a service account, the smallest role that follows from what the operator
 * declares, and the binding of the two. An operator that serves some namespaces gets a Role in each of them; what no
 * namespace has (CRDs, cluster-scoped kinds) stays in a ClusterRole.
 */
import { MusterError } from '../../kube/errors.ts'
import type { Json } from '../../kube/json.ts'
import { checkDnsLabel } from '../../kube/name.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { PolicyRule } from '../../kube/types/rbac/v1.ts'
import { writeYaml } from '../../kube/yaml.ts'
import type { Operator } from '../../operator/operator.ts'
import { roleOf } from '../../operator/role.ts'
import { loadOperator } from '../module.ts'
import type { Made } from './made.ts'

export interface AccessOptions {
  /** What the service account and the roles are called. @default as the operator */
  readonly name?: string | undefined
  /** @default all */
  readonly namespaces?: readonly string[] | undefined
  /** Where the service account is. @default the first of `namespaces`, else `default` */
  readonly account?: string | undefined
}

export async function rbacFiles(module: string, options: AccessOptions): Promise<readonly Made[]> {
  const objects = accessObjects(await loadOperator(module), options)
  const documents = objects.map((object) => `---\n${writeYaml(object as unknown as Json)}`)
  return [{ name: 'rbac.yaml', text: documents.join('') }]
}

/** In the order in which they are applied. @throws InvalidFlag */
export function accessObjects(operator: Operator, options: AccessOptions = {}): readonly KubeObject[] {
  const { name = operator.name, namespaces, account = namespaces?.[0] ?? 'default' } = options
  for (const [flag, word] of [
    ['name', name],
    ['account', account],
  ] as const) {
    const [problem] = checkDnsLabel(word)
    if (problem !== undefined) throw new MusterError('InvalidFlag', `--${flag} "${word}": it ${problem}.`)
  }
  const { rules = [] } = roleOf(operator)
  const { everywhere, inNamespaces } = namespaces ? split(rules, operator) : { everywhere: rules, inNamespaces: [] }
  const subject = { kind: 'ServiceAccount', name, namespace: account }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: account } },
    ...(everywhere.length > 0 ? grant('ClusterRole', { name }, everywhere, subject) : []),
    ...(namespaces ?? []).flatMap((namespace) => grant('Role', { name, namespace }, inNamespaces, subject)),
  ]
}

function grant(
  kind: 'ClusterRole' | 'Role',
  metadata: KubeObject['metadata'] & { readonly name: string },
  rules: readonly PolicyRule[],
  subject: object,
): readonly KubeObject[] {
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name: metadata.name }
  const role = { apiVersion, kind, metadata, rules }
  return [role, { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects: [subject] } as KubeObject]
}

interface Split {
  readonly everywhere: readonly PolicyRule[]
  readonly inNamespaces: readonly PolicyRule[]
}

/** What is in namespaces, and what is not. */
function split(rules: readonly PolicyRule[], { inputs, outputs }: Operator): Split {
  const isClusterWide = ({ apiGroups = [] }: PolicyRule, resource: string): boolean => {
    const [plural = ''] = resource.split('/')
    if (plural === 'customresourcedefinitions') return true
    const kind = [...inputs, ...outputs].find((other) => other.plural === plural && apiGroups.includes(other.group))
    return kind?.namespaced === false
  }
  const part = (clusterWide: boolean): readonly PolicyRule[] =>
    rules.flatMap((rule) => {
      const resources = (rule.resources ?? []).filter((resource) => isClusterWide(rule, resource) === clusterWide)
      return resources.length > 0 ? [{ ...rule, resources }] : []
    })
  return { everywhere: part(true), inNamespaces: part(false) }
}
