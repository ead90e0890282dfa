/**
 * The RBAC objects of an operator: a service account, the minimal role that derives from its declared inputs and outputs,
 * and the binding. An operator restricted to namespaces gets a Role in each of them; cluster-scoped resources stay in a
 * ClusterRole.
 *
 * The manager uses the same account and needs more: Leases, the quarantine ConfigMap, webhook registrations. These derive from
 * its settings and are in roles of their own (`NAME-manager`). If the settings give the operator an account of its own
 * (`identity`), the manager keeps the read permissions, and that account gets the write permissions.
 */
import { MusterError } from '../../kube/errors.ts'
import type { Json } from '../../kube/json.ts'
import { checkDnsLabel } from '../../kube/name.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { PolicyRule } from '../../kube/types/rbac/v1.ts'
import { writeYaml } from '../../kube/yaml.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Layer } from '../../manager/config/layer.ts'
import { composeConfiguration, textLayer } from '../../manager/config/open-configuration.ts'
import { objectNameOf } from '../../manager/config/options-of.ts'
import type { Settings } from '../../manager/config/settings.ts'
import { managerRules, type PlacedRules } from '../../manager/runtime/manager-role.ts'
import { roleOf } from '../../operator/role.ts'
import { loadOperator } from '../module.ts'
import { readNamedFile } from '../named-file.ts'
import type { Made } from './made.ts'

interface AccessOptions {
  /** The name of the service account and the roles. @default that of the operator */
  readonly name?: string | undefined
  /** @default all */
  readonly namespaces?: readonly string[] | undefined
  /** The namespace of the service account. @default the first of `namespaces`, else `default` */
  readonly account?: string | undefined
}

interface ManagerAccessOptions extends AccessOptions {
  readonly settings: Settings
  /** `namespace/name`: the ConfigMap that the manager follows. @default none */
  readonly configMap?: string | undefined
}

interface RbacFlags extends AccessOptions {
  /** A configuration of the manager. */
  readonly file?: string | undefined
  readonly configMap?: string | undefined
  /** `path=value`, each. */
  readonly set?: readonly string[] | undefined
}

export async function rbacFiles(module: string, flags: RbacFlags): Promise<readonly Made[]> {
  const operator = await loadOperator(module)
  const settings = await settingsFor(operator, flags)
  const namespaces = flags.namespaces ?? settings.operators[operator.name]?.namespaces
  const objects = managedAccess(operator, { ...flags, namespaces, settings })
  const documents = objects.map((object) => `---\n${writeYaml(object as unknown as Json)}`)
  return [{ name: 'rbac.yaml', text: documents.join('') }]
}

/** Without settings about replicas, leader election is assumed, as for a Deployment. */
async function settingsFor(operator: Operator, { file, set = [] }: RbacFlags): Promise<Settings> {
  const layers: readonly Layer[] = file === undefined ? [] : [await textLayer(file, await readNamedFile('file', file))]
  const { configuration } = await composeConfiguration(layers, {
    flags: set,
    // Other operators of the configuration have roles of their own.
    operators: () => Promise.resolve([operator]),
  })
  const { settings, sources } = configuration
  const isSaid = ['leaderElection.leaderElect', 'sharding.enabled'].some((path) => sources.has(path))
  return isSaid ? settings : { ...settings, leaderElection: { ...settings.leaderElection, leaderElect: true } }
}

interface Account {
  readonly name: string
  readonly namespace: string
}

/** The objects of the operator, in the order to apply them. @throws InvalidFlag */
export function accessObjects(operator: Operator, options: AccessOptions = {}): readonly KubeObject[] {
  const account = accountOf(operator, options)
  return [serviceAccount(account), ...operatorRoles(operator, options.namespaces, account, () => true)]
}

/** The objects of the operator and of its manager. @throws InvalidFlag */
export function managedAccess(operator: Operator, options: ManagerAccessOptions): readonly KubeObject[] {
  const { settings, namespaces, configMap } = options
  const account = accountOf(operator, options)
  const { serviceAccount: own } = settings.operators[operator.name]?.identity ?? {}
  const manager = { ...account, name: `${account.name}-manager` }
  const ofManager = managerRules({ settings, operators: [operator], configMap }).flatMap((placed) =>
    placedRoles(manager.name, placed, account),
  )
  if (own === undefined) return [...accessObjects(operator, options), ...ofManager]
  const other = objectNameOf(own)
  const isRead = (verb: string): boolean => verb === 'list' || verb === 'watch'
  return [
    serviceAccount(account),
    ...(other.name === account.name && other.namespace === account.namespace ? [] : [serviceAccount(other)]),
    ...operatorRoles(operator, namespaces, other, (verb) => !isRead(verb)),
    ...operatorRoles(operator, namespaces, account, isRead, `${account.name}-reads`),
    ...ofManager,
  ]
}

function accountOf(operator: Operator, options: AccessOptions): Account {
  const { name = operator.name, namespaces, account: namespace = namespaces?.[0] ?? 'default' } = options
  for (const [flag, word] of [
    ['name', name],
    ['account', namespace],
  ] as const) {
    const [problem] = checkDnsLabel(word)
    if (problem !== undefined) throw new MusterError('InvalidFlag', `--${flag} "${word}": it ${problem}.`)
  }
  return { name, namespace }
}

function serviceAccount({ name, namespace }: Account): KubeObject {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } }
}

function operatorRoles(
  operator: Operator,
  namespaces: readonly string[] | undefined,
  account: Account,
  isMeant: (verb: string) => boolean,
  name = account.name,
): readonly KubeObject[] {
  const rules = (roleOf(operator).rules ?? []).flatMap((rule) => {
    const verbs = rule.verbs.filter(isMeant)
    return verbs.length > 0 ? [{ ...rule, verbs }] : []
  })
  const { everywhere, inNamespaces } = namespaces ? split(rules, operator) : { everywhere: rules, inNamespaces: [] }
  return [
    ...placedRoles(name, { namespace: undefined, rules: everywhere }, account),
    ...(namespaces ?? []).flatMap((namespace) => placedRoles(name, { namespace, rules: inNamespaces }, account)),
  ]
}

/** A role and its binding, if there are rules. */
function placedRoles(name: string, { namespace, rules }: PlacedRules, account: Account): readonly KubeObject[] {
  if (rules.length === 0) return []
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const kind = namespace === undefined ? 'ClusterRole' : 'Role'
  const metadata = namespace === undefined ? { name } : { name, namespace }
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name }
  const subjects = [{ kind: 'ServiceAccount', ...account }]
  const role = { apiVersion, kind, metadata, rules }
  return [role, { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects } as KubeObject]
}

interface Split {
  readonly everywhere: readonly PolicyRule[]
  readonly inNamespaces: readonly PolicyRule[]
}

/** Splits rules into namespaced and cluster-scoped ones. */
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
