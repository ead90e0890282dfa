/**
 * The configuration, and the objects that the manager writes itself: its Lease, the quarantine record, the webhook
 * certificates and registrations. They are installed empty, so that they go when the installation goes: a registration
 * whose webhook server is gone would reject every write.
 */
import type { ObjectName } from '../operator/view/view.ts'
import { objectNameOf } from '../manager/config/options-of.ts'
import { durationMs } from '../manager/config/setting-fields.ts'
import {
  configurationName,
  mutatingConfigurations,
  validatingConfigurations,
} from '../manager/webhooks/registration.ts'
import type { InstallationDescription } from './description.ts'
import { installedNames, installedSettings } from './installed-settings.ts'
import { commonLabels, ownMetadata } from './object-parts.ts'
import { type OpenObject, When, YamlText } from './template.ts'

export function configuration(description: InstallationDescription): OpenObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: ownMetadata(description, installedNames.own),
    data: { 'muster.yaml': new YamlText('config') },
  }
}

export function records(description: InstallationDescription): readonly OpenObject[] {
  const { leaderElection, watchdog, webhooks } = installedSettings(description)
  const labels = commonLabels(description)
  const record = (apiVersion: string, kind: string, { namespace, name }: ObjectName, more = {}): OpenObject => ({
    apiVersion,
    kind,
    metadata: { name, namespace: namespace!, labels },
    ...more,
  })
  const { resourceNamespace: namespace, resourceName: name } = leaderElection
  const isServing = description.operators.some((one) => one.webhooks.length + one.conversions.length > 0)
  return [
    new When({ path: 'sharding', not: true }, record('coordination.k8s.io/v1', 'Lease', { namespace, name })),
    ...(durationMs(watchdog.blockedFor) > 0 ? [record('v1', 'ConfigMap', objectNameOf(watchdog.quarantine))] : []),
    ...(isServing ? [record('v1', 'Secret', objectNameOf(webhooks.secret), { type: 'Opaque' })] : []),
    ...registrations(description),
  ]
}

function registrations(description: InstallationDescription): readonly OpenObject[] {
  return description.operators.flatMap(({ name, webhooks }) => {
    const kinds = [
      ...(webhooks.some(({ validate }) => validate) ? [validatingConfigurations] : []),
      ...(webhooks.some(({ mutate }) => mutate) ? [mutatingConfigurations] : []),
    ]
    return kinds.map(({ kind, group, version }) => ({
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name: configurationName(name), labels: commonLabels(description, 'webhooks') },
    }))
  })
}
