/**
 * From MCAD, InstaScale and the CodeFlare operator to one configuration: their custom resources, ConfigMaps, and the flags and
 * environment of their Deployments. What has no counterpart is noted with the reason; nothing is lost in silence.
 *
 * Where two sources set one value, the one that counted before counts: the ConfigMap of the CodeFlare operator, then flags, then the
 * environment, then other ConfigMaps, then custom resources.
 */
import { isMusterError, type MusterError } from '../../kube/muster-error.ts'
import { isJsonObject, type Json, type JsonObject } from '../../kube/json.ts'
import { isJsonArray, ownMember } from '../../kube/json-member.ts'
import { parseApiVersion } from '../../kube/kind.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import { FieldReader, type ImportNote, type KnownFields } from '../../platform/import/field-reader.ts'
import { appWrapperConfigMap, codeflareConfigMap, readCodeflareSettings } from './codeflare-settings.ts'
import { type CommandLine, type LegacyProgram, ocmSecret, readLegacyFlags } from './legacy-flags.ts'
import { inWorkloads, settingAt, SettingsDraft, sharedScaler } from './settings-draft.ts'
import { workloadsConfig, workloadsName } from './workloads-config.ts'

interface Migration {
  /** The new configuration of the manager. */
  readonly settings: JsonObject
  /** What could not be carried over. */
  readonly notes: readonly ImportNote[]
  /** The objects and command lines that were read. */
  readonly sources: readonly string[]
}

/** @param objects of any kinds, in any order; those that hold no configuration are passed over */
export function migrateCodeflare(objects: readonly JsonObject[], commandLines: readonly CommandLine[] = []): Migration {
  const draft = new SettingsDraft(problemOf)
  const all = objects.map(identityOf)
  const found = all
    .flatMap((one) => {
      const rank = readers.findIndex(({ reads }) => reads(one))
      return rank === -1 ? [] : [{ one, rank }]
    })
    .toSorted((a, b) => a.rank - b.rank || (a.one.title < b.one.title ? -1 : Number(a.one.title > b.one.title)))
  const sources = new Set(found.map(({ one }) => one.title))
  const last = found.findIndex(({ rank }) => rank > flagRank)
  const [before, after] = last === -1 ? [found, []] : [found.slice(0, last), found.slice(last)]
  for (const { one, rank } of before) readers[rank]!.read(one, draft, all)
  for (const line of commandLines) {
    sources.add(line.owner ?? `flags of ${line.program}`)
    readLegacyFlags(line, draft)
  }
  for (const { one, rank } of after) readers[rank]!.read(one, draft, all)
  keepLabelled(draft)
  const contradiction = problemOf(draft.settings)
  if (contradiction !== undefined)
    draft.note({ object: 'the new configuration', field: '' }, `as a whole it is not valid: ${contradiction}`)
  return { settings: withOperators(draft.settings), notes: draft.notes, sources: [...sources] }
}

/** A manager that runs these settings needs a section for each operator, also an empty one. */
function withOperators(settings: JsonObject): JsonObject {
  const { operators = {}, ...rest } = settings
  const isScaling = settingAt(settings, inWorkloads('instascale', 'enabled')) !== false
  const scaler = isScaling && settingAt(settings, inWorkloads('instascale')) !== undefined ? sharedScaler : {}
  return { ...rest, operators: { [workloadsName]: {}, ...(isJsonObject(operators) ? operators : {}), ...scaler } }
}

/** InstaScale gave nodes to AppWrappers with the label `orderedinstance` only. */
function keepLabelled(draft: SettingsDraft): void {
  if (settingAt(draft.settings, inWorkloads('instascale')) === undefined) return
  const path = inWorkloads('instascale', 'inference')
  if (settingAt(draft.settings, path) === undefined)
    draft.set(path, false, { object: 'InstaScale', field: 'orderedinstance' })
}

/** What is wrong with settings; undefined: nothing. */
function problemOf(settings: JsonObject): string | undefined {
  try {
    readConfiguration([{ source: 'here', value: settings }], [{ name: workloadsName, config: workloadsConfig }])
    return undefined
  } catch (error) {
    if (!isMusterError(error)) throw error
    return error.message
  }
}

interface Identity {
  readonly object: JsonObject
  readonly group: string
  readonly kind: string
  readonly name: string
  readonly namespace: string
  /** `ConfigMap kube-system/instascale-config`. */
  readonly title: string
}

function identityOf(object: JsonObject): Identity {
  const metadata = ownMember(object, 'metadata')
  const text = (from: Json | undefined, name: string): string => {
    const value = isJsonObject(from) ? ownMember(from, name) : undefined
    return typeof value === 'string' ? value : ''
  }
  const [name, namespace, kind] = [text(metadata, 'name'), text(metadata, 'namespace'), text(object, 'kind')]
  const { group } = parseApiVersion(text(object, 'apiVersion') || 'v1')
  return { object, group, kind, name, namespace, title: `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}` }
}

interface Reader {
  reads(this: void, one: Identity): boolean
  read(this: void, one: Identity, draft: SettingsDraft, all: readonly Identity[]): void
}

const isConfigMap =
  (name: string) =>
  (one: Identity): boolean =>
    one.group === '' && one.kind === 'ConfigMap' && one.name === name

/** Later ones win. */
const readers: readonly Reader[] = [
  { reads: ({ group, kind }) => group === crGroup && kind === 'MCAD', read: readMcad },
  { reads: ({ group, kind }) => group === crGroup && kind === 'InstaScale', read: readInstascale },
  { reads: ({ group, kind }) => group === 'ibm.com' && kind === 'QuotaSubtree', read: readOldSubtree },
  { reads: isConfigMap('instascale-config'), read: readInstascaleConfigMap },
  { reads: (one) => programsOf(one).length > 0, read: readDeployment },
  { reads: isConfigMap(appWrapperConfigMap), read: readOperatorConfigMap },
  { reads: isConfigMap(codeflareConfigMap), read: readOperatorConfigMap },
]

const flagRank = 4
const crGroup = 'codeflare.codeflare.dev'

const deployed = 'it belongs to the Deployment: see muster generate deploy'

const knownOfMcad: KnownFields = {
  'spec.enableMonitoring': 'rules and dashboard come with muster generate deploy',
  'spec.controllerResources': deployed,
  'spec.controllerImage': deployed,
  'spec.multiCluster': 'one manager serves several clusters otherwise: see clusters and placement',
  'spec.dispatcherMode': 'one manager serves several clusters otherwise: see clusters and placement',
  'spec.agentConfigs': 'one manager serves several clusters otherwise: see clusters and placement',
  'spec.quotaRestURL': 'quota comes from QuotaSubtrees and from queues of Kueue',
  'spec.podCreationTimeout': 'it had no effect in the last versions; AppWrappers have schedulingSpec.dispatchDuration',
}

function readerOf({ object, title }: Identity, draft: SettingsDraft): FieldReader {
  const fields = new FieldReader(object, title, draft.notes)
  for (const path of ['apiVersion', 'kind', 'metadata', 'status']) fields.value(path)
  return fields
}

function readMcad(one: Identity, draft: SettingsDraft): void {
  const fields = readerOf(one, draft)
  const field = 'spec.preemptionEnabled'
  draft.set(inWorkloads('mcad', 'preemption'), fields.value(field), { object: one.title, field })
  // Defaults that mean "off" are worth no note.
  for (const name of ['multiCluster', 'dispatcherMode', 'agentConfigs', 'quotaRestURL', 'podCreationTimeout'])
    if ([false, '', -1].some((off) => specMember(one.object, name) === off)) fields.value(`spec.${name}`)
  fields.close(knownOfMcad)
}

function specMember(object: JsonObject, name: string): Json | undefined {
  const spec = ownMember(object, 'spec')
  return isJsonObject(spec) ? ownMember(spec, name) : undefined
}

function readInstascale(one: Identity, draft: SettingsDraft): void {
  const fields = readerOf(one, draft)
  const origin = (field: string): { object: string; field: string } => ({ object: one.title, field })
  draft.set(inWorkloads('instascale', 'enabled'), true, origin('kind'))
  const field = 'spec.maxScaleoutAllowed'
  draft.set(inWorkloads('instascale', 'maxScaleoutAllowed'), fields.value(field), origin(field))
  setPools(draft, fields.value('spec.useMachinePools') === true, one, 'spec.useMachinePools')
  fields.close(knownOfMcad)
}

/** Managed pools need a Secret, whose place was a convention. */
function setPools(draft: SettingsDraft, isOn: boolean, { namespace, title }: Identity, field: string): void {
  if (!isOn) return
  const origin = { object: title, field }
  draft.set(inWorkloads('instascale', 'ocmSecretRef'), { namespace, name: ocmSecret }, origin)
  draft.note(
    origin,
    `it is instascale.ocmSecretRef now: check that the Secret ${namespace}/${ocmSecret} has the key token`,
  )
}

function readOldSubtree({ title }: Identity, draft: SettingsDraft): void {
  draft.note({ object: title, field: 'apiVersion' }, 'apply it as quota.codeflare.dev/v1alpha1, with the same fields')
}

function readInstascaleConfigMap(one: Identity, draft: SettingsDraft): void {
  for (const [key, value] of dataOf(one.object)) {
    const origin = { object: one.title, field: `data.${key}` }
    if (key === 'maxScaleoutAllowed') {
      const isNumber = /^\d{1,9}$/.test(value)
      if (isNumber) draft.set(inWorkloads('instascale', key), Number(value), origin)
      else draft.note(origin, `"${value}" is no number: it keeps its default, as before`)
    } else if (key === 'useMachinePools') setPools(draft, /^(?:1|t|true)$/i.test(value), one, origin.field)
    else draft.note(origin, 'InstaScale did not read this key')
  }
}

function readOperatorConfigMap(one: Identity, draft: SettingsDraft): void {
  const entries = dataOf(one.object)
  const [entry] = entries
  const note = (why: string): void => draft.note({ object: one.title, field: 'data' }, why)
  if (!entry || entries.length > 1) {
    note(`it has ${entries.length} keys instead of one, so that the operator did not start with it`)
    return
  }
  const [key, text] = entry
  const value = yamlOf(text)
  if (isJsonObject(value)) readCodeflareSettings(value, one.title, draft)
  else if (value !== null) note(`${key} is no YAML with settings, so that the operator did not start with it`)
}

function yamlOf(text: string): Json | undefined {
  try {
    return readYaml(text)
  } catch (error) {
    if (!isMusterError(error)) throw error
    return undefined
  }
}

function dataOf(object: JsonObject): readonly (readonly [string, string])[] {
  const data = ownMember(object, 'data')
  return isJsonObject(data)
    ? Object.entries(data).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
    : []
}

interface LegacyContainer {
  readonly program: LegacyProgram
  readonly container: JsonObject
}

/** The program of an image, whatever registry it is from. */
const programs: readonly (readonly [RegExp, LegacyProgram])[] = [
  [/mcad-controller|multi-cluster-app-dispatcher/, 'mcad'],
  [/instascale/, 'instascale'],
  [/codeflare-operator/, 'codeflare'],
]

function programsOf({ group, kind, object }: Identity): readonly LegacyContainer[] {
  if (group !== 'apps' || kind !== 'Deployment') return []
  let at: Json | undefined = object
  for (const name of ['spec', 'template', 'spec', 'containers']) at = isJsonObject(at) ? ownMember(at, name) : undefined
  return listOf(at).flatMap((container): readonly LegacyContainer[] => {
    if (!isJsonObject(container)) return []
    const words = [ownMember(container, 'image'), ...listOf(ownMember(container, 'command'))]
    const [, program] = programs.find(([word]) => words.some((one) => typeof one === 'string' && word.test(one))) ?? []
    return program === undefined ? [] : [{ program, container }]
  })
}

function readDeployment(one: Identity, draft: SettingsDraft, all: readonly Identity[]): void {
  for (const { program, container } of programsOf(one)) {
    // The first word of a command is the program.
    const words = [...listOf(ownMember(container, 'command')).slice(1), ...listOf(ownMember(container, 'args'))]
    const argv = words.filter((word): word is string => typeof word === 'string')
    const environment = environmentOf(container, one, all)
    readLegacyFlags({ program, argv, environment, owner: one.title }, draft, ({ message }: MusterError) =>
      draft.note({ object: one.title, field: 'args' }, message.replace(/^MUS\d+ \w+: /, '')),
    )
  }
}

/** Plain values, and those of ConfigMaps; never those of Secrets. */
function environmentOf(
  container: JsonObject,
  { namespace }: Identity,
  all: readonly Identity[],
): Readonly<Record<string, string>> {
  const values = new Map<string, string>()
  for (const source of listOf(ownMember(container, 'envFrom'))) {
    const ref = isJsonObject(source) ? ownMember(source, 'configMapRef') : undefined
    const name = isJsonObject(ref) ? ownMember(ref, 'name') : undefined
    const map = all.find((one) => one.kind === 'ConfigMap' && one.namespace === namespace && one.name === name)
    for (const [key, value] of map ? dataOf(map.object) : []) values.set(key, value)
  }
  for (const variable of listOf(ownMember(container, 'env'))) {
    if (!isJsonObject(variable)) continue
    const [name, value] = [ownMember(variable, 'name'), ownMember(variable, 'value')]
    if (typeof name === 'string' && typeof value === 'string') values.set(name, value)
  }
  return Object.fromEntries(values)
}

function listOf(value: Json | undefined): readonly Json[] {
  return isJsonArray(value) ? value : []
}
