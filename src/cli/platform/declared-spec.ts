/** The spec of an Installation from the flags of `muster install` and `muster upgrade`. */
import { flagErrors } from '../../manager/alone/flag-errors.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { asJson } from '../../kube/json-object.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { InstallationSource, InstallationSpec } from '../../platform/installation/installation.ts'
import { chartValueJson } from '../../render/chart/values.ts'
import type { FlagValues } from '../command/command.ts'
import { readValueFlags, valueFlags } from '../render/value-flags.ts'
import { parseOciReference } from '../../render/source/oci-reference.ts'
import { readInterval, readSource, type sourceFlags } from './source-argument.ts'

export const specFlags = {
  'values-from': {
    type: 'string',
    multiple: true,
    value: 'KIND/NAME',
    help: 'values of a Secret or a ConfigMap, key values.yaml; for values that are secret',
  },
  'release-name': { type: 'string', value: 'NAME', help: 'name that the chart is told (default: NAME)' },
  'target-namespace': {
    type: 'string',
    value: 'NAME',
    help: 'namespace of objects that name none (default: that of the Installation)',
  },
  image: {
    type: 'string',
    multiple: true,
    value: 'FROM=TO',
    help: 'image to replace in the rendered objects, such as docker.io/library/redis=registry.example/redis',
  },
  'service-account': { type: 'string', value: 'NAME', help: 'account, in the same namespace, that writes the objects' },
} as const

type SpecFlagValues = FlagValues<typeof sourceFlags & typeof valueFlags & typeof specFlags>

/**
 * Without `before`: of a new Installation. Otherwise what is given replaces what was there; the rest stays. Values that are given
 * replace all earlier ones, as in Helm.
 * @throws InvalidFlag, and the errors of sources
 */
export async function declaredSpec(
  source: string | undefined,
  given: SpecFlagValues,
  before?: InstallationSpec,
): Promise<JsonObject> {
  const valuesFrom = given['values-from']?.map(readReference)
  const images = given.image?.map(readImage)
  const { revision: _, ...kept } = asJson(before ?? {})
  const values = Object.keys(valueFlags).some((name) => Object.hasOwn(given, name))
    ? { values: chartValueJson(await readValueFlags(given)) }
    : {}
  const named = {
    releaseName: given['release-name'],
    targetNamespace: given['target-namespace'],
    serviceAccountName: given['service-account'],
  }
  return {
    ...kept,
    source: asJson(source === undefined ? changedSource(given, before) : await readSource(source, given)),
    ...(Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined)) as JsonObject),
    ...values,
    ...(valuesFrom && { valuesFrom }),
    ...(images && { images }),
  }
}

/** The source as it was, perhaps with another version. */
function changedSource(
  { version, ...given }: SpecFlagValues,
  before: InstallationSpec | undefined,
): InstallationSource {
  const { oci, helm } = before!.source
  const lost = (['repo', 'source-secret', 'plain-http', 'kind', 'path'] as const).find(
    (name) => given[name] !== undefined,
  )
  if (lost !== undefined) throw new MusterError(flagErrors.InvalidFlag, `--${lost} is for a SOURCE, and none is named.`)
  const every = { ...intervalOf(before!.source), ...readInterval(given) }
  if (given.interval !== undefined && !helm && !oci)
    throw new MusterError(flagErrors.InvalidFlag, '--interval is for sources in a registry or a chart repository.')
  if (version === undefined) return { ...before!.source, ...every }
  if (helm) return { helm: { ...helm, version }, ...every }
  if (!oci)
    throw new MusterError(flagErrors.InvalidFlag, '--version is for charts of a registry or a chart repository.')
  const { digest: _, layer: __, ...rest } = oci
  // The tag of a reference would win over the version.
  const { registry, repository } = parseOciReference(oci.url)
  return { oci: { ...rest, url: `oci://${registry}/${repository}`, version }, ...every }
}

function intervalOf({ interval }: InstallationSource): Pick<InstallationSource, 'interval'> {
  return interval === undefined ? {} : { interval }
}

/** `redis=registry.example/redis`. */
function readImage(text: string): JsonObject {
  const [from = '', to = '', ...more] = text.split('=')
  if (from !== '' && to !== '' && more.length === 0 && !/\s/.test(text)) return { from, to }
  throw new MusterError(flagErrors.InvalidFlag, `--image ${text}: write FROM=TO, such as redis=registry.example/redis.`)
}

/** `secret/web-values`. */
function readReference(text: string): Json {
  const [word = '', name = '', ...more] = text.split('/')
  const kind = ({ secret: 'Secret', configmap: 'ConfigMap' } as const)[word.toLowerCase()]
  if (kind !== undefined && name !== '' && more.length === 0) return { kind, name, key: 'values.yaml', optional: false }
  throw new MusterError(flagErrors.InvalidFlag, `--values-from ${text}: write Secret/NAME or ConfigMap/NAME.`)
}
