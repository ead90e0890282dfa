/**
 * The configuration of the CodeFlare operator, and of the AppWrapper operator, as settings of the manager: the YAML that their
 * ConfigMaps hold, in all its versions. Fields without a counterpart are noted.
 */
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { FieldReader, type KnownFields } from '../../platform/import/field-reader.ts'
import { appWrapperField } from './appwrapper-section.ts'
import { instascaleField } from './instascale-section.ts'
import { mcadField } from './mcad-section.ts'
import { durationSetting, inWorkloads, type SettingOrigin, type SettingsDraft } from './settings-draft.ts'

/** The names of the ConfigMaps. */
export const codeflareConfigMap = 'codeflare-operator-config'
export const appWrapperConfigMap = 'appwrapper-operator-config'

const certificates = 'certificates are issued and renewed by the manager itself'
const oneProcess = 'there is one process: the section of the manager counts'

/** Why fields are not carried over. */
const known: KnownFields = {
  kuberay: 'RayClusters are not the business of this operator: run the operator of KubeRay beside it',
  mcadEnabled: 'AppWrappers always run; to pause them, set operators.workloads.paused',
  webhooksEnabled: 'set webhooks.url or webhooks.service of the manager',
  certManagement: certificates,
  'clientConnection.acceptContentTypes': 'the manager negotiates it',
  'clientConnection.contentType': 'the manager negotiates it',
  'health.readinessEndpointName': 'it is /readyz',
  'health.livenessEndpointName': 'it is /healthz',
  'leaderElection.resourceLock': 'it is a Lease',
  'metrics.secureServing': 'metrics are served over HTTP: restrict who reaches the port',
  'mcad.dispatcher': 'one manager serves several clusters otherwise: see clusters and placement',
  'mcad.agentConfigs': 'one manager serves several clusters otherwise: see clusters and placement',
  'instascale.machineSetsEnabled': 'MachineSets are used where they are served',
  'appwrapper.enabled': 'AppWrappers are always enabled; to pause them, set operators.workloads.paused',
  'appwrapper.slackQueueName': 'the room of nodes that are not healthy does not count: no queue has to lend for it',
  'controllerManager.enableHTTP2': oneProcess,
}

export function readCodeflareSettings(given: JsonObject, object: string, draft: SettingsDraft): void {
  const fields = new FieldReader(withInlineConfig(given), object, draft.notes)
  const carry = (
    from: string,
    to: readonly string[],
    read: (value: Json | undefined) => Json | undefined = same,
  ): void => draft.set(to, read(fields.value(from)), { object, field: from })
  carry('clientConnection.kubeconfig', ['clientConnection', 'kubeconfig'], notEmpty)
  carry('clientConnection.qps', ['clientConnection', 'qps'])
  carry('clientConnection.burst', ['clientConnection', 'burst'])
  // The CodeFlare operator has them at the top, the AppWrapper operator below controllerManager.
  for (const at of ['', 'controllerManager.']) {
    for (const part of ['metrics', 'health']) {
      const field = `${at}${part}.bindAddress`
      address(draft, [part], fields.value(field), { object, field })
    }
    carryLeaderElection(`${at}leaderElection`, fields, carry)
  }
  for (const section of ['mcad', 'instascale'] as const)
    for (const name of membersOf(section)) carry(`${section}.${name}`, inWorkloads(section, name))
  for (const name of membersOf('appwrapper')) {
    if (name !== 'faultTolerance') carry(`appwrapper.${name}`, inWorkloads('appwrapper', name))
  }
  for (const [name, { type }] of Object.entries(faultTolerance())) {
    // Later versions renamed two of them.
    for (const alias of [name, ...(aliases[name] ?? [])])
      carry(
        `appwrapper.faultTolerance.${alias}`,
        inWorkloads('appwrapper', 'faultTolerance', name),
        type === 'string' ? durationSetting : same,
      )
  }
  fields.close(known)
}

const aliases: Readonly<Record<string, readonly string[]>> = {
  retryPausePeriod: ['resetPause'],
  forcefulDeletionGracePeriod: ['deletionGracePeriod'],
}

function carryLeaderElection(
  at: string,
  fields: FieldReader,
  carry: (from: string, to: readonly string[], read?: (value: Json | undefined) => Json | undefined) => void,
): void {
  const to = (name: string): readonly string[] => ['leaderElection', name]
  // The AppWrapper operator has a flag in place of a section.
  if (typeof fields.value(at) === 'boolean') {
    carry(at, to('leaderElect'))
    return
  }
  for (const name of ['leaderElect']) carry(`${at}.${name}`, to(name))
  for (const name of ['leaseDuration', 'renewDeadline', 'retryPeriod'])
    carry(`${at}.${name}`, to(name), (value) => notZero(durationSetting(value)))
  for (const name of ['resourceName', 'resourceNamespace']) carry(`${at}.${name}`, to(name), notEmpty)
}

/** The fields of a section, as it is declared. */
function membersOf(section: 'mcad' | 'instascale' | 'appwrapper'): readonly string[] {
  const { schema } = { mcad: mcadField, instascale: instascaleField, appwrapper: appWrapperField }[section]
  return Object.keys(schema.properties ?? {})
}

function faultTolerance(): NonNullable<typeof appWrapperField.schema.properties> {
  return appWrapperField.schema.properties?.['faultTolerance']?.properties ?? {}
}

/** The CodeFlare operator once wrote the fields of an AppWrapper below `appwrapper.Config`. */
function withInlineConfig(given: JsonObject): JsonObject {
  const { appwrapper } = given
  if (!isJsonObject(appwrapper)) return given
  const { Config: config, ...rest } = appwrapper
  return isJsonObject(config) ? { ...given, appwrapper: { ...rest, ...config } } : given
}

function address(draft: SettingsDraft, path: readonly string[], value: Json | undefined, origin: SettingOrigin): void {
  if (typeof value === 'string') draft.setAddress(path, value, origin)
  else draft.set([...path, 'address'], value, origin)
}

function same(value: Json | undefined): Json | undefined {
  return value
}

function notEmpty(value: Json | undefined): Json | undefined {
  return value === '' ? undefined : value
}

function notZero(value: Json | undefined): Json | undefined {
  // Go writes the zero value.
  return typeof value === 'string' && /^0(?:s|ms|m|h)?$/.test(value) ? undefined : value
}
