/** Kubernetes as data; see README.md beside this file. Types of kinds are in `@muster-dev/muster/kube/types/…`. */
export { equalJson, isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from './json.ts'
export { readYaml, readYamlDocuments, writeYaml } from './yaml.ts'
export type {
  KubeList,
  KubeObject,
  ListMeta,
  ManagedFieldsEntry,
  ObjectMeta,
  OwnerReference,
  Status,
} from './object.ts'
export type { StatusDetails, UntypedObject } from './object.ts'
export {
  formatApiVersion,
  formatResource,
  type GroupVersion,
  type GroupVersionKind,
  kindOf,
  parseApiVersion,
  type Resource,
  resourcePath,
} from './kind.ts'
export { type Definitions, resolveSchema, type Schema } from './schema.ts'
export {
  builtinDefinitions,
  builtinResource,
  type BuiltinResource,
  builtinResources,
  builtinSchema,
} from './builtin.ts'
export * from './name.ts'
export * from './quantity.ts'
export * from './duration.ts'
export * from './selector.ts'
export * from './owner.ts'
export * from './condition.ts'
export { type Health, healthOf } from './health.ts'
export { applyJsonPatch, createJsonPatch, type JsonPatchOperation, parseJsonPatch } from './json-patch.ts'
export { applyMergePatch, createMergePatch } from './merge-patch.ts'
export { applyStrategicMerge } from './strategic-merge.ts'
export { createStrategicMerge, createThreeWayStrategicMerge } from './strategic-diff.ts'
export { type ApplyOptions, applyObject, updateObject, type UpdateOptions } from './apply/apply.ts'
export { ApplyConflict } from './apply/conflict.ts'
export { describeError, type ErrorName, errorTable, isMusterError, MusterError, type RetryClass } from './errors.ts'
