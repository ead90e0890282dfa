/** The author kit; README.md beside this file explains how to use it. */
export {
  anything,
  boolean,
  type Field,
  type FieldOptions,
  type Fields,
  integer,
  intOrString,
  list,
  type ListFieldOptions,
  map,
  number,
  type NumberOptions,
  object,
  oneOf,
  optional,
  quantity,
  schemaField,
  string,
  type StringOptions,
} from './field.ts'
export { describeKind } from './kind-docs.ts'
export { sampleOf } from './kind-sample.ts'
export { defineKind, type DraftOf, type Kind, type KindOptions, type VersionDefinition } from './kind.ts'
export { type ObjectOf, resourceOf, type TypedResource } from './typed-resource.ts'
export { inRole, type PlacementRole, placementRoleOf } from './placement-role.ts'
export * from './kinds.ts'
export { type Config, type ConfigOf, defineConfig } from './config.ts'
export {
  type Controller,
  type ControllerOptions,
  defineController,
  type Finalization,
  type LiveContext,
  type StatusReport,
  type ReportContext,
  type StepContext,
  type StepOverride,
  type DesiredChild,
} from './controller.ts'
export { type BackOffOptions, fail, giveUp, OperatorError, tryLater } from './failure.ts'
export { eventsOf, type Ledger, type LedgerEntry, logLine, type Operation, operationCounts } from './ledger.ts'
export type { LiveCommandOptions, CommandResult, HttpAnswer, HttpCall, Live } from './live.ts'
export {
  describeInput,
  type ExactName,
  exactly,
  generated,
  type GeneratedName,
  type Input,
  labelled,
  type LabelSelected,
  type DeclaredOutput,
  type Reference,
  referenced,
  type ReferenceOptions,
  type WholeKind,
} from './input.ts'
export { defineOperator, type Operator, type OperatorOptions } from './operator.ts'
export { isReady, isRunning, podsOf, readyPodCount, runningPodCount, type Workload } from './pods.ts'
export type { Apply, Delete, Mutation, MutationOutcome, SetFinalizers, Wave, WriteStatus } from './plan.ts'
export { reconcile } from './reconcile.ts'
export { type Conclusion, type Memory, noMemory, type ReconcileSituation } from './reconcile/situation.ts'
export {
  type Context,
  defineDependent,
  type ItemContext,
  type DependentOverlay,
  type Policy,
  type Dependent,
  type DependentOptions,
  type Verdict,
} from './dependent.ts'
export { roleOf } from './role.ts'
export type { HashScope } from './scope.ts'
export { drawSteps, standardSteps, type StepGraph, type StepName } from './step-graph.ts'
export { type ObjectName, openView, type ViewSelection, type View, type ViewSource } from './view.ts'
export { type Application, type ApplicationOptions, defineApplication, type Reach } from './lifecycle/application.ts'
export { drawLifecycle } from './lifecycle/draw.ts'
export { defineLifecycle, type Lifecycle, type LifecycleOptions, type StateOf } from './lifecycle/lifecycle.ts'
export {
  type Conversion,
  type ConversionFunctions,
  type Converted,
  defineConversion,
  lostInRoundTrip,
} from './conversion.ts'
export {
  type Admission,
  type AdmissionOperation,
  type AdmissionUser,
  type AdmissionVerdict,
  defineWebhook,
  type Webhook,
  type WebhookOptions,
} from './webhook.ts'
