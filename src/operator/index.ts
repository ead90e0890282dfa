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
} from './kind/field.ts'
export {
  type GeneratedCertificate,
  type GeneratedCertificateOptions,
  generateCertificate,
  generatePassword,
  isExpiring,
  type PasswordOptions,
} from './dependent/generated-values.ts'
export { checkKind } from './kind/kind-check.ts'
export { type Cause, forbiddenValue, invalidValue, requiredValue } from '../kube/validation/cause.ts'
export { describeKind } from './kind/kind-docs.ts'
export { sampleOf } from './kind/kind-sample.ts'
export { defineKind, type DraftOf, type Kind, type KindOptions, type VersionDefinition } from './kind/kind.ts'
export { type ObjectOf, resourceOf, type TypedResource } from '../kube/typed-resource.ts'
export { inRole, type PlacementRole, placementRoleOf } from './placement-role.ts'
export * from '../kube/kinds.ts'
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
export { type Edit, edited, type Edits } from './edits.ts'
export type {
  EmbeddedObject,
  EmbeddedPhase,
  EmbeddedPhaseReport,
  EmbeddedReference,
  EmbeddedReport,
  EmbeddedSet,
  EmbeddedState,
  Embedding,
  EmbeddingContext,
  Pruning,
} from './embedded/embedded-set.ts'
export type {
  HeldAllOptions,
  HeldObjects,
  HeldPage,
  HeldPageOptions,
  HeldReadOptions,
} from './embedded/held-objects.ts'
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
  type EditedKind,
  type EditVerb,
  type Reference,
  referenced,
  type ReferenceOptions,
  type Unprojected,
  type WholeKind,
} from './view/input.ts'
export { fields, type FieldPaths, type Projected } from './view/projected-input.ts'
export { defineOperator, type Operator, type OperatorOptions } from './operator.ts'
export { isReady, isRunning, podsOf, readyPodCount, runningPodCount, type Workload } from './view/pods.ts'
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
} from './dependent/dependent.ts'
export { roleOf } from './role.ts'
export type { HashScope } from './dependent/scope.ts'
export type { StepName } from './step-graph.ts'
export { defineTask, type Task, type TaskContext, type TaskOptions, type TaskSecrets } from './task/task.ts'
export { type ResultOptions, type TaskResults } from './task/task-results.ts'
export { Suspended } from './suspended.ts'
export {
  type Coordinator,
  type CoordinatorChange,
  type CoordinatorOptions,
  type DecisionBatch,
  defineCoordinator,
  isChangeOf,
} from './coordinator/coordinator.ts'
export type { Decisions } from './coordinator/decisions.ts'
export { type ObjectName, openView, type ViewSelection, type View, type ViewSource } from './view/view.ts'
export {
  type Application,
  type ApplicationContext,
  type ApplicationOptions,
  defineApplication,
  type Reach,
} from './lifecycle/application.ts'
export type { ActionReport, LifecycleAct, Observed } from './lifecycle/observation.ts'
export { drawLifecycle } from './lifecycle/draw.ts'
export { defineLifecycle, type Lifecycle, type LifecycleOptions, type StateOf } from './lifecycle/lifecycle.ts'
export {
  type Conversion,
  type ConversionFunctions,
  type Converted,
  defineConversion,
  lostInRoundTrip,
} from './kind/conversion.ts'
export {
  type AccessAttributes,
  type Admission,
  type AdmissionAccess,
  type AdmissionOperation,
  type AdmissionUser,
  type AdmissionVerdict,
  defineWebhook,
  type Webhook,
  type WebhookOptions,
} from './kind/webhook.ts'
