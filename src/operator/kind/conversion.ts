/**
 * Conversion between versions of a kind. The storage version is the hub; each other version has two functions, to the
 * hub and from it.
 *
 * The functions convert spec and status. Metadata stays: only labels and annotations may change, and an annotation can
 * keep what a version has no field for.
 *
 * Two surprises: the API server also converts partial objects (for server-side apply), so required members may be
 * missing; and it does not apply defaults afterwards, so the functions must.
 */
import { operatorErrors } from '../errors.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { Json, JsonObject } from '../../kube/json.ts'
import { createJsonPatch } from '../../kube/patch/json-patch.ts'
import { formatApiVersion } from '../../kube/kind.ts'
import type { KubeObject, ObjectMeta, UntypedObject } from '../../kube/object.ts'
import type { Fields } from './field.ts'
import type { Kind, KindObject, VersionDefinition } from './kind.ts'

/** The result of a conversion: members left out of `metadata` stay as they were. */
export type Converted<T extends KubeObject> = Omit<T, keyof KubeObject> & {
  readonly metadata?: Pick<ObjectMeta, 'labels' | 'annotations'>
}

export interface ConversionFunctions<Stored extends KubeObject, Other extends KubeObject> {
  toStored(this: void, object: Other): Converted<Stored>
  fromStored(this: void, object: Stored): Converted<Other>
}

/** One version of a kind and its conversion to and from the storage version. */
export interface Conversion {
  readonly for: Kind
  readonly version: string
  readonly toStored: (object: UntypedObject) => Converted<UntypedObject>
  readonly fromStored: (object: UntypedObject) => Converted<UntypedObject>
  /** Set if the functions run in another thread or process, which converts a whole list at once. */
  readonly elsewhere?: (
    objects: readonly UntypedObject[],
    apiVersion: string,
  ) => Promise<readonly Converted<UntypedObject>[]>
}

/** The name of the CRD. */
export function conversionName({ for: { plural, group } }: Pick<Conversion, 'for'>): string {
  return `${plural}.${group}`
}

/**
 * `version` is one of the kind's `otherVersions`, by its definition: that is where the types come from.
 * @throws InvalidWebhook when it is not one of them
 */
export function defineConversion<
  const Spec extends Fields,
  const Status extends Fields,
  const OtherSpec extends Fields,
  const OtherStatus extends Fields,
>(
  kind: Kind<Spec, Status>,
  { version }: VersionDefinition<OtherSpec, OtherStatus>,
  { toStored, fromStored }: ConversionFunctions<KindObject<Spec, Status>, KindObject<OtherSpec, OtherStatus>>,
): Conversion {
  const others = (kind.definition.otherVersions ?? []).map((other) => other.version)
  if (!others.includes(version)) {
    const known = others.join(', ') || 'none'
    throw new MusterError(
      operatorErrors.InvalidWebhook,
      `${kind.kind} has no other version ${version} to convert (it has ${known}).`,
    )
  }
  return {
    for: kind,
    version,
    toStored: toStored as unknown as Conversion['toStored'],
    fromStored: fromStored as unknown as Conversion['fromStored'],
  }
}

/**
 * Converts by way of the storage version. Takes all conversions of the kind.
 * @throws ConversionMissing for an unknown version
 */
export function convertObject(
  conversions: readonly Conversion[],
  object: UntypedObject,
  apiVersion: string,
): UntypedObject {
  if (object.apiVersion === apiVersion) return object
  const stored = atStored(conversions, object)
  const way = conversions.find((conversion) => apiVersionOf(conversion) === apiVersion)
  if (way) return joined(stored, way.fromStored(stored), apiVersion)
  if (stored.apiVersion === apiVersion) return stored
  throw missing(object.kind, apiVersion)
}

/** Converts many objects, in this thread or another one. */
export async function convertObjects(
  conversions: readonly Conversion[],
  objects: readonly UntypedObject[],
  apiVersion: string,
): Promise<readonly UntypedObject[]> {
  const elsewhere = conversions.find((conversion) => conversion.elsewhere)?.elsewhere
  if (!elsewhere) return objects.map((object) => convertObject(conversions, object, apiVersion))
  const converted = await elsewhere(objects, apiVersion)
  return objects.map((object, index) => joined(object, converted[index]!, apiVersion))
}

function atStored(conversions: readonly Conversion[], object: UntypedObject): UntypedObject {
  const way = conversions.find((conversion) => apiVersionOf(conversion) === object.apiVersion)
  if (way) return joined(object, way.toStored(object), formatApiVersion(way.for))
  if (conversions.some((conversion) => formatApiVersion(conversion.for) === object.apiVersion)) return object
  throw missing(object.kind, object.apiVersion)
}

function missing(kind: string, apiVersion: string): MusterError {
  return new MusterError(operatorErrors.ConversionMissing, `no conversion of ${kind} knows the version ${apiVersion}.`)
}

function apiVersionOf({ for: { group }, version }: Conversion): string {
  return formatApiVersion({ group, version })
}

/** The converted object with the original identity. */
function joined(original: UntypedObject, converted: Converted<UntypedObject>, apiVersion: string): UntypedObject {
  const { metadata: changed = {}, ...rest } = converted
  const { labels, annotations, ...metadata } = original.metadata
  const kept = { labels, annotations, ...changed }
  return {
    ...rest,
    apiVersion,
    kind: original.kind,
    metadata: {
      ...metadata,
      ...(kept.labels && { labels: kept.labels }),
      ...(kept.annotations && { annotations: kept.annotations }),
    },
  }
}

/**
 * For tests: the JSON pointers at which an object differs after a round trip to the other version. Empty means that
 * reading at one version and writing at another loses nothing.
 */
export function lostInRoundTrip(conversion: Conversion, object: KubeObject): readonly string[] {
  const [own, stored] = [apiVersionOf(conversion), formatApiVersion(conversion.for)]
  const start = object as UntypedObject
  const there = convertObject([conversion], start, start.apiVersion === own ? stored : own)
  const back = convertObject([conversion], there, start.apiVersion)
  const json = (one: UntypedObject): Json => one as unknown as JsonObject
  return createJsonPatch(json(start), json(back)).map(({ path }) => path)
}
