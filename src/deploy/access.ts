/**
 * Service accounts and the least RBAC of an installation: what the settings of the manager make it do, what each
 * operator declares, and nothing more. An operator with an account of its own (`identity`) writes with that account;
 * the manager, which fills the shared caches, keeps the reads.
 */
import type { KubeObject } from '../kube/object.ts'
import { objectNameOf } from '../manager/config/options-of.ts'
import { managerRules } from '../manager/runtime/manager-role.ts'
import type { InstallationDescription } from './description.ts'
import { installedNames, installedSettings } from './installed-settings.ts'
import { commonLabels, ownMetadata, ownName, ownNamespace } from './object-parts.ts'
import { type Account, operatorRoles, placedRoles, serviceAccount } from './roles.ts'
import { type OpenObject, type TemplateMap, ValueOf, When } from './template.ts'

const manager: Account = { name: ownName, namespace: ownNamespace }

export function accountObjects(description: InstallationDescription): readonly OpenObject[] {
  const own = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: {
      ...ownMetadata(description, ownName),
      annotations: new When({ path: 'serviceAccount.annotations' }, new ValueOf('serviceAccount.annotations', 'yaml')),
    },
    // The Deployment mounts the token; other Pods of the namespace do not get it by mistake.
    automountServiceAccountToken: false,
  }
  const others = [...accountsOf(description).values()].filter(({ name }) => name !== ownName)
  const unique = new Map(others.map((account) => [`${account.namespace}/${account.name}`, account]))
  return [own, ...[...unique.values()].map((account) => labelled(serviceAccount(account), description))]
}

/** The accounts of operators that have one of their own. */
function accountsOf(description: InstallationDescription): ReadonlyMap<string, Account> {
  const { operators } = installedSettings(description)
  return new Map(
    description.operators.flatMap(({ name }) => {
      const { serviceAccount: own } = operators[name]?.identity ?? {}
      return own === undefined ? [] : [[name, objectNameOf(own)] as const]
    }),
  )
}

export function roles(description: InstallationDescription): readonly OpenObject[] {
  return [...managerRoles(description), ...rolesOfOperators(description), ...furtherRoles(description)]
}

function managerRoles(description: InstallationDescription): readonly OpenObject[] {
  const settings = installedSettings(description)
  const { operators } = description
  const off = {
    leaderElection: { ...settings.leaderElection, leaderElect: false },
    sharding: { ...settings.sharding, enabled: false },
  }
  const configMap = `${ownNamespace}/${installedNames.own}`
  const always = managerRules({ settings: { ...settings, ...off }, operators, configMap, isInstalled: true })
  const leasesAlone = { ...settings, ...off, clusters: {}, watchdog: { ...settings.watchdog, blockedFor: '0s' } }
  const electing = { ...leasesAlone, leaderElection: { ...settings.leaderElection, leaderElect: true } }
  const shared = { ...leasesAlone, sharding: { ...settings.sharding, enabled: true } }
  const placed = (name: string, given: typeof always): readonly OpenObject[] =>
    given.flatMap((one) => placedRoles(name, one, manager)).map((object) => labelled(object, description))
  const leases = `${ownName}-leases`
  return [
    ...placed(ownName, always),
    ...placed(leases, managerRules({ settings: electing, operators: [] })).map(
      (object) => new When({ path: 'sharding', not: true }, object),
    ),
    ...placed(leases, managerRules({ settings: shared, operators: [] })).map(
      (object) => new When({ path: 'sharding' }, object),
    ),
  ]
}

const isRead = (verb: string): boolean => verb === 'list' || verb === 'watch'

function rolesOfOperators(description: InstallationDescription): readonly OpenObject[] {
  const accounts = accountsOf(description)
  return description.operators
    .flatMap((operator) => {
      const { namespaces } = description.settings.operators[operator.name] ?? {}
      const name = `${ownName}-${operator.name}`
      const account = accounts.get(operator.name)
      if (!account) return operatorRoles(operator, namespaces, manager, () => true, name)
      return [
        ...operatorRoles(operator, namespaces, account, (verb) => !isRead(verb), name),
        ...operatorRoles(operator, namespaces, manager, isRead, `${name}-reads`),
      ]
    })
    .map((object) => labelled(object, description))
}

/** For operators that the installation does not know. */
function furtherRoles(description: InstallationDescription): readonly OpenObject[] {
  const name = `${ownName}-further`
  const rolesWith = (kind: 'Role' | 'ClusterRole', path: string): readonly OpenObject[] => {
    const metadata: TemplateMap = {
      name,
      ...(kind === 'Role' && { namespace: ownNamespace }),
      labels: commonLabels(description),
    }
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const subjects = [{ kind: 'ServiceAccount', name: ownName, namespace: ownNamespace }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind, name }
    return [
      new When({ path }, { apiVersion, kind, metadata, rules: new ValueOf(path, 'yaml') }),
      new When({ path }, { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects }),
    ]
  }
  return [...rolesWith('ClusterRole', 'rbac.rules'), ...rolesWith('Role', 'rbac.namespaceRules')]
}

function labelled({ metadata, ...object }: KubeObject, description: InstallationDescription): TemplateMap {
  const { name = '', namespace, annotations } = metadata
  const placed = {
    name,
    ...(namespace !== undefined && { namespace }),
    labels: commonLabels(description),
    ...(annotations && { annotations }),
  }
  const { apiVersion, kind, ...rest } = object
  return { apiVersion, kind, metadata: placed, ...(rest as TemplateMap) }
}
