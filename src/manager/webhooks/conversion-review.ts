/** Conversion reviews: converts the objects of an API server's request to the requested version. */
import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../kube/json.ts'
import { isJsonArray } from '../../kube/json-member.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { type Conversion, convertObjects } from '../../operator/kind/conversion.ts'
import { invalidReview } from './admission-review.ts'
import { frozen } from './frozen.ts'

const apiVersion = 'apiextensions.k8s.io/v1'
const kind = 'ConversionReview'

interface ConversionQuestion {
  readonly uid: string
  readonly wanted: string
  readonly objects: readonly UntypedObject[]
}

/** @throws InvalidReview */
export function readConversion(review: Json, name: string): ConversionQuestion {
  const { request, ...head } = isJsonObject(review) ? review : {}
  if (head['apiVersion'] !== apiVersion || head['kind'] !== kind)
    throw invalidReview(`it is no ${kind} of ${apiVersion}`)
  if (!isJsonObject(request)) throw invalidReview('it has no request')
  const { uid, desiredAPIVersion: wanted, objects } = request
  if (typeof uid !== 'string' || uid === '') throw invalidReview('its request has no uid')
  if (typeof wanted !== 'string' || wanted === '') throw invalidReview('it does not say which version is wanted')
  if (!isJsonArray(objects)) throw invalidReview('it has no list of objects')
  for (const object of objects) {
    const isObject = isJsonObject(object) && isJsonObject(object['metadata']) && object['kind'] === name
    if (!isObject || typeof object['apiVersion'] !== 'string') throw invalidReview(`one of its objects is no ${name}`)
  }
  return { uid, wanted, objects: frozen(objects) as unknown as readonly UntypedObject[] }
}

/** @throws errors of the author's functions */
export async function answerConversion(
  conversions: readonly Conversion[],
  question: ConversionQuestion,
): Promise<JsonObject> {
  const { uid, wanted, objects } = question
  const converted = await convertObjects(conversions, objects, wanted)
  // Through text and back, so that values that are not JSON fail here and not in the connection.
  const convertedObjects = parseJson(stringifyJson(converted))
  return responseOf({ uid, convertedObjects, result: { status: 'Success' } })
}

/** There is no failure policy for conversions: the server passes this message on. */
export function failedConversion({ uid }: ConversionQuestion, message: string): JsonObject {
  return responseOf({ uid, convertedObjects: [], result: { status: 'Failure', message } })
}

function responseOf(response: JsonObject): JsonObject {
  return { apiVersion, kind, response }
}
