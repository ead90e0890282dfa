/**
 * Kubernetes objects are JSON, which the compiler cannot see: interfaces have no index signature, so neither type is
 * assignable to the other. These functions are the one place where one is taken for the other. They cost nothing.
 */
import type { JsonObject } from './json.ts'
import type { Status, UntypedObject } from './object.ts'

/** An object whose members are JSON: a Kubernetes object, a part of one, settings. */
export function asJson(object: object): JsonObject
export function asJson(object: object | undefined): JsonObject | undefined
export function asJson(object: object | undefined): JsonObject | undefined {
  return object as JsonObject | undefined
}

/** JSON that is a Kubernetes object: an API server sent it, or it is validated. */
export function asObject(json: object): UntypedObject {
  return json as UntypedObject
}

/** JSON that an API server sent as the status of a request. */
export function asStatus(json: object): Status {
  return json as Status
}
