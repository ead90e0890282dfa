/**
 * The ConfigMap of the CodeFlare operator: one key with YAML. A manager that replaces the operator follows it, and creates it with the
 * defaults where there is none. One that is not valid is an error at the start, which names the ConfigMap.
 */
import { isJsonObject, type JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { readYaml, writeYaml } from '../../kube/yaml/yaml.ts'
import type { ConfigMapFormat } from '../../manager/config/config-map-format.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import { managerErrors } from '../../manager/errors.ts'
import type { ImportNote } from '../../platform/import/field-reader.ts'
import { readCodeflareSettings } from './codeflare-settings.ts'
import { isInstascaleEnabled, type PlatformSupport, scalerName } from './instascale-section.ts'
import { inWorkloads, settingAt, SettingsDraft, sharedScaler } from './settings-draft.ts'
import { workloadsConfig } from './workloads-config.ts'

/** `onNotes` is told what has no effect. `platform`: the node scaler runs there, if it is enabled. @default the queue alone */
export function codeflareFormat(
  onNotes: (notes: readonly ImportNote[]) => void,
  platform?: PlatformSupport,
): ConfigMapFormat {
  return {
    key: 'config.yaml',
    defaults: defaultText,
    layer(source, text) {
      const value = readYaml(text, { source, strict: true }) ?? {}
      if (!isJsonObject(value))
        throw new MusterError(managerErrors.InvalidConfiguration, `${source}: its value is no map of settings.`)
      const draft = new SettingsDraft()
      readCodeflareSettings(value, source, draft)
      if (draft.notes.length > 0) onNotes(draft.notes)
      if (platform && isInstascaleEnabled(scalerSwitch(draft.settings), platform))
        draft.set(['operators', scalerName], sharedScaler[scalerName], { object: source, field: 'instascale.enabled' })
      return { source, value: draft.settings, places: draft.places }
    },
  }
}

/** A value of another type is refused with the whole configuration. */
function scalerSwitch(settings: JsonObject): { readonly enabled?: boolean } {
  const enabled = settingAt(settings, inWorkloads('instascale', 'enabled'))
  return typeof enabled === 'boolean' ? { enabled } : {}
}

const header = `# The configuration of the queue of AppWrappers and of the node scaler. These are the defaults, written when there was none.
# instascale.enabled is left out: nodes are added and removed on OpenShift, and where Cluster API is served.
`

function defaultText(): string {
  const { settings } = readConfiguration([])
  const { clientConnection, metrics, health, leaderElection } = settings
  const text = ({ address, port }: { readonly address: string; readonly port: number }): JsonObject => ({
    bindAddress: port === 0 ? '0' : `${address}:${port}`,
  })
  const whole: JsonObject = {
    clientConnection: { qps: clientConnection.qps, burst: clientConnection.burst },
    metrics: text(metrics),
    health: text(health),
    leaderElection: {
      leaderElect: leaderElection.leaderElect,
      leaseDuration: leaderElection.leaseDuration,
      renewDeadline: leaderElection.renewDeadline,
      retryPeriod: leaderElection.retryPeriod,
    },
    ...asJson(workloadsConfig.read({})),
  }
  return `${header}${writeYaml(whole)}`
}
