/**
 * The RBAC rules that a manager needs besides those of its operators: to hold its Lease, to read and write the
 * quarantine record, to watch its configuration, to register webhooks and store their certificates, to ask for access on behalf of
 * webhooks that declare it, to impersonate its operators' accounts.
 *
 * Only rights that the settings make use of are granted, by `resourceNames` where the name is known. RBAC does not see
 * the name in a POST: `create` is then granted for the kind, in the namespace of the object.
 */
import type { Resource } from '../../kube/kind.ts'
import type { PolicyRule } from '../../kube/types/rbac/v1.ts'
import { conversionName } from '../../operator/kind/conversion.ts'
import { ConfigMap, Secret, ServiceAccount } from '../../kube/kinds.ts'
import type { Operator } from '../../operator/operator.ts'
import { createGrants, type Grants } from '../../operator/role.ts'
import { objectNameOf } from '../config/options-of.ts'
import { durationMs } from '../config/setting-fields.ts'
import type { Settings } from '../config/settings.ts'
import { leaseResource } from '../leases/lease.ts'
import { accessReviews } from '../webhooks/access-reviews.ts'
import {
  configurationName,
  definitions,
  mutatingConfigurations,
  validatingConfigurations,
} from '../webhooks/registration.ts'

interface ManagerRoleOptions {
  readonly settings: Settings
  readonly operators: readonly Operator[]
  /** `namespace/name` of the ConfigMap with the manager's configuration. @default none */
  readonly configMap?: string | undefined
  /** That ConfigMap is installed with the manager, which need not create it. @default false */
  readonly isInstalled?: boolean | undefined
}

/** Rules and their scope. */
export interface PlacedRules {
  /** Undefined: cluster-wide. */
  readonly namespace: string | undefined
  readonly rules: readonly PolicyRule[]
}

/** One entry for each scope: the cluster first, then namespaces by name. */
export function managerRules({
  settings,
  operators,
  configMap,
  isInstalled = false,
}: ManagerRoleOptions): readonly PlacedRules[] {
  const places = new Map<string | undefined, Grants>()
  const at = (namespace?: string): Grants['grant'] => {
    const known = places.get(namespace) ?? createGrants()
    places.set(namespace, known)
    return known.grant
  }
  /** An object that the manager creates if it is missing. */
  const kept = (resource: Resource, reference: string, verbs: readonly string[]): void => {
    const { namespace, name } = objectNameOf(reference)
    at(namespace)(resource, verbs, [name])
    at(namespace)(resource, ['create'])
  }

  const { leaderElection, sharding, watchdog, webhooks } = settings
  if (leaderElection.leaderElect) {
    kept(leaseResource, `${leaderElection.resourceNamespace}/${leaderElection.resourceName}`, ['get', 'update'])
  }
  // Each replica has a Lease whose name is not known beforehand, and watches those of all others.
  if (sharding.enabled) at(sharding.namespace)(leaseResource, ['create', 'delete', 'get', 'list', 'update', 'watch'])

  if (durationMs(watchdog.blockedFor) > 0) {
    kept(ConfigMap, watchdog.quarantine, ['get', 'patch'])
    // A quarantined operator is reported as an Event on the record.
    at(objectNameOf(watchdog.quarantine).namespace)({ group: '', plural: 'events' }, ['create', 'get', 'patch'])
  }
  if (configMap !== undefined) {
    const { namespace, name } = objectNameOf(configMap)
    at(namespace)(ConfigMap, ['get', 'list', 'watch'], [name])
    if (!isInstalled) at(namespace)(ConfigMap, ['create'])
    // A rejected configuration is reported as an Event on it.
    at(namespace)({ group: '', plural: 'events' }, ['create', 'get', 'patch'])
  }
  // Kubeconfigs of other clusters.
  for (const { secret } of Object.values(settings.clusters)) {
    if (secret !== undefined) at(objectNameOf(secret).namespace)(Secret, ['get'], [objectNameOf(secret).name])
  }

  if (operators.some((one) => one.webhooks.length + one.conversions.length > 0)) {
    kept(Secret, webhooks.secret, ['get', 'list', 'patch', 'watch'])
  }
  for (const operator of operators) grantWebhooks(operator, at())
  for (const { name } of operators) {
    const { serviceAccount, by } = settings.operators[name]?.identity ?? {}
    if (serviceAccount === undefined) continue
    const account = objectNameOf(serviceAccount)
    if (by === 'token') {
      at(account.namespace)({ ...ServiceAccount, plural: 'serviceaccounts/token' }, ['create'], [account.name])
    } else at(account.namespace)(ServiceAccount, ['impersonate'], [account.name])
  }
  return [...places]
    .map(([namespace, { rules }]) => ({ namespace, rules: rules() }))
    .filter(({ rules }) => rules.length > 0)
    .toSorted((a, b) => ((a.namespace ?? '') < (b.namespace ?? '') ? -1 : 1))
}

/** By name: for a manager that may not change other registrations. */
function grantWebhooks({ name, webhooks, conversions }: Operator, grant: Grants['grant']): void {
  const own = [configurationName(name)]
  const acts = [
    [validatingConfigurations, webhooks.some(({ validate }) => validate)],
    [mutatingConfigurations, webhooks.some(({ mutate }) => mutate)],
  ] as const
  for (const [resource, isServed] of webhooks.length > 0 ? acts : []) {
    // Registrations of an earlier version of the operator that are no longer served are deleted.
    grant(resource, ['delete', 'list', 'watch'], own)
    // A server-side apply has its name in the request even when it creates the object.
    if (isServed) grant(resource, ['create', 'get', 'patch'], own)
  }
  // The authorizer is asked as the manager, which answers the API server.
  if (webhooks.some(({ access }) => access)) grant(accessReviews, ['create'])
  const converted = [...new Set(conversions.map(conversionName))]
  if (converted.length > 0) grant(definitions, ['get', 'list', 'patch', 'watch'], converted)
}
