/** Kubernetes as data; see README.md beside this file. Types of kinds are in `@muster-dev/muster/kube/types/…`. */
export { equalJson, isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from './json.ts'
export { readYaml, readYamlDocuments, writeYaml } from './yaml/yaml.ts'
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
export * from './meta/name.ts'
export * from './units/quantity.ts'
export * from './units/duration.ts'
export * from './selector/selector.ts'
export * from './meta/owner.ts'
export * from './meta/condition.ts'
export { type Health, healthOf } from './meta/health.ts'
export { applyJsonPatch, createJsonPatch, type JsonPatchOperation, parseJsonPatch } from './patch/json-patch.ts'
export { applyMergePatch, createMergePatch } from './patch/merge-patch.ts'
export { applyStrategicMerge } from './patch/strategic-merge.ts'
export { type ApplyOptions, applyObject, updateObject, type UpdateOptions } from './apply/apply.ts'
export { ApplyConflict } from './apply/conflict.ts'
export {
  describeError,
  type ErrorDefinition,
  type ErrorTable,
  isMusterError,
  MusterError,
  type RetryClass,
} from './muster-error.ts'
