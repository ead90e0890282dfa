/** The settings of the queue that a command assumes: those of a file or a ConfigMap of a manager, or the defaults. */
import type { Client } from '../../client/client.ts'
import { ConfigMap } from '../../kube/kinds.ts'
import { MusterError } from '../../kube/muster-error.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import type { Layer } from '../../manager/config/layer.ts'
import { codeflareFormat } from '../../workloads/configuration/codeflare-config-map.ts'
import {
  workloadsConfig,
  workloadsName,
  type WorkloadsSettings,
} from '../../workloads/configuration/workloads-config.ts'
import { readNamedFile } from '../command/named-file.ts'
import { readObjectName } from '../command/namespace-flag.ts'

interface ConfigurationFlags {
  readonly file?: string
  readonly configmap?: string
}

/** `onCluster` connects, for a ConfigMap only. @throws InvalidFlag, InvalidConfiguration, InvalidYaml, NotFound */
export async function readQueueSettings(
  { file, configmap }: ConfigurationFlags,
  onCluster: (read: (client: Client) => Promise<Layer>) => Promise<Layer>,
): Promise<WorkloadsSettings> {
  if (file !== undefined && configmap !== undefined)
    throw new MusterError(flagErrors.InvalidFlag, '--file and --configmap: a manager has one of them.')
  if (file !== undefined) return settingsOf(yamlLayer(file, await readNamedFile('file', file)))
  if (configmap === undefined) return workloadsConfig.read({})
  const [namespace = '', name = ''] = readObjectName('configmap', configmap).split('/')
  return settingsOf(await onCluster(async (client) => layerOf(await client.get(ConfigMap, { namespace, name }))))
}

/** The ConfigMap of a manager, or that of the CodeFlare operator. */
function layerOf({ metadata: { namespace, name }, data = {} }: ConfigMap): Layer {
  const title = `ConfigMap ${namespace}/${name}`
  const own = data['muster.yaml']
  if (own !== undefined) return yamlLayer(title, own)
  const [text = '{}'] = Object.values(data)
  return codeflareFormat(() => undefined).layer(title, text)
}

function yamlLayer(source: string, text: string): Layer {
  return { source, text, value: readYaml(text, { source, strict: true }) }
}

function settingsOf(layer: Layer): WorkloadsSettings {
  const { settings } = readConfiguration([layer], [{ name: workloadsName, config: workloadsConfig }])
  // Validated above.
  const config = (settings.operators[workloadsName]?.config ?? {}) as Parameters<typeof workloadsConfig.read>[0]
  return workloadsConfig.read(config)
}
