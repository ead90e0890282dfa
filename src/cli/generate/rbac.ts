/**
 * The RBAC objects of an operator: a service account, the minimal role that derives from its declared inputs and outputs,
 * and the binding. An operator restricted to namespaces gets a Role in each of them; cluster-scoped resources stay in a
 * ClusterRole.
 *
 * The manager uses the same account and needs more: Leases, the quarantine ConfigMap, webhook registrations. These derive from
 * its settings and are in roles of their own (`NAME-manager`). If the settings give the operator an account of its own
 * (`identity`), the manager keeps the read permissions, and that account gets the write permissions.
 */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Json } from '../../kube/json.ts'
import { checkDnsLabel } from '../../kube/meta/name.ts'
import type { KubeObject } from '../../kube/object.ts'
import { writeYaml } from '../../kube/yaml/yaml.ts'
import type { Operator } from '../../operator/operator.ts'
import type { Layer } from '../../manager/config/layer.ts'
import { composeConfiguration, textLayer } from '../../manager/config/open-configuration.ts'
import { objectNameOf } from '../../manager/config/options-of.ts'
import { podLayer } from '../../manager/config/pod-layer.ts'
import type { Settings } from '../../manager/config/settings.ts'
import { managerRules } from '../../manager/runtime/manager-role.ts'
import { type Account, operatorRoles, placedRoles, serviceAccount } from '../../deploy/roles.ts'
import { loadOperator } from '../module/module.ts'
import { readNamedFile } from '../command/named-file.ts'
import type { GeneratorOutput } from './generator-output.ts'

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

export async function rbacFiles(module: string, flags: RbacFlags): Promise<readonly GeneratorOutput[]> {
  const operator = await loadOperator(module)
  const settings = await settingsFor(operator, flags)
  const namespaces = flags.namespaces ?? settings.operators[operator.name]?.namespaces
  const objects = managedAccess(operator, { ...flags, namespaces, settings })
  const documents = objects.map((object) => `---\n${writeYaml(object as unknown as Json)}`)
  return [{ name: 'rbac.yaml', text: documents.join('') }]
}

/** Without settings about replicas, leader election is assumed, as for a Deployment. */
async function settingsFor(operator: Operator, { file, set = [], account, namespaces }: RbacFlags): Promise<Settings> {
  const layers: readonly Layer[] = file === undefined ? [] : [await textLayer(file, await readNamedFile('file', file))]
  const { configuration } = await composeConfiguration(layers, {
    // The service account is that of the Pod.
    defaults: [podLayer({ namespace: account ?? namespaces?.[0] ?? 'default' })],
    flags: set,
    // Other operators of the configuration have roles of their own.
    operators: () => Promise.resolve([operator]),
  })
  const { settings, sources } = configuration
  const isSaid = ['leaderElection.leaderElect', 'sharding.enabled'].some((path) => sources.has(path))
  return isSaid ? settings : { ...settings, leaderElection: { ...settings.leaderElection, leaderElect: true } }
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
    if (problem !== undefined) throw new MusterError(flagErrors.InvalidFlag, `--${flag} "${word}": it ${problem}.`)
  }
  return { name, namespace }
}
