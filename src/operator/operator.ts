/**
 * An operator: a named set of controllers with declared inputs and outputs. Its caches, its RBAC role and the refusal
 * of undeclared access follow from the declaration.
 */
import { operatorErrors } from './errors.ts'
import { MusterError } from '../kube/muster-error.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import { checkDnsLabel } from '../kube/meta/name.ts'
import type { Config, NeedsConfig } from './config.ts'
import { type Controller, forOperator } from './controller.ts'
import type { Coordinator } from './coordinator/coordinator.ts'
import type { Conversion } from './kind/conversion.ts'
import { checkVersions, type Input, kindsOf, type DeclaredOutput, uniqueInputs } from './view/input.ts'
import type { Fields, ReadObject } from './kind/field.ts'
import type { Kind } from './kind/kind.ts'
import { checkOptionNames, type OptionNames } from './option-names.ts'
import type { Webhook } from './kind/webhook.ts'

export interface OperatorOptions<T extends Fields = Fields> {
  /** A DNS label: it becomes a field manager, a finalizer, a user name. */
  readonly name: string
  readonly controllers: readonly (Controller & NeedsConfig<ReadObject<NoInfer<T>>>)[]
  /** Its settings; the manager's configuration sets them. */
  readonly config?: Config<T>
  /** Admission webhooks. */
  readonly webhooks?: readonly Webhook[]
  /** Conversions between versions of its kinds. */
  readonly conversions?: readonly Conversion[]
}

export interface Operator {
  readonly name: string
  readonly controllers: readonly Controller[]
  /** Those that its controllers read decisions of, each once. */
  readonly coordinators: readonly Coordinator[]
  readonly config: Config | undefined
  readonly webhooks: readonly Webhook[]
  readonly conversions: readonly Conversion[]
  /** The kinds that it reads. */
  readonly inputs: readonly Resource[]
  /** The kinds of everything that it writes, status and finalizers of its own kinds aside. */
  readonly outputs: readonly Resource[]
  /** Its declared inputs, as plain data. */
  readonly declaredInputs: readonly Input[]
  /** Its declared outputs, as plain data; `placementRoleOf(output.resource)` is the cluster to write to. */
  readonly declaredOutputs: readonly DeclaredOutput[]
  /** The custom kinds that it defines: their CRDs are installed first. */
  readonly kinds: readonly Kind[]
}

const operatorOptionNames: OptionNames<OperatorOptions> = {
  name: true,
  controllers: true,
  config: true,
  webhooks: true,
  conversions: true,
}

/** @throws InvalidController */
export function defineOperator<const T extends Fields = Fields>(options: OperatorOptions<T>): Operator {
  const { name, config, webhooks = [], conversions = [] } = options
  const [problem] = checkDnsLabel(name)
  if (problem !== undefined) throw new MusterError(operatorErrors.InvalidController, `Operator "${name}": ${problem}.`)
  checkOptionNames(options, operatorOptionNames, operatorErrors.InvalidController, `Operator ${name}`)
  const controllers = options.controllers.map((controller) => forOperator(controller, name))
  if (controllers.length === 0)
    throw new MusterError(operatorErrors.InvalidController, `Operator ${name} has no controllers.`)
  const names = controllers.map((controller) => controller.name)
  const twice = names.find((other, at) => names.indexOf(other) < at)
  if (twice !== undefined) {
    throw new MusterError(operatorErrors.InvalidController, `Operator ${name} has two controllers called ${twice}.`)
  }
  const kinds = controllers.map(({ kind }) => formatResource(kind))
  const second = kinds.findIndex((kind, at) => kinds.indexOf(kind) < at)
  if (second >= 0) {
    // They would share one status and one finalizer, and each would remove what the other wrote.
    const both = `${names[kinds.indexOf(kinds[second]!)]} and ${names[second]}`
    throw new MusterError(
      operatorErrors.InvalidController,
      `Operator ${name}: ${both} are both for ${kinds[second]}. Make them one.`,
    )
  }
  checkConfigs(controllers, config, name)
  const coordinators = coordinatorsOf(controllers, name)
  const declaredInputs = uniqueInputs([
    ...controllers.flatMap((controller) => controller.declaredInputs),
    ...coordinators.flatMap((coordinator) => coordinator.declaredInputs),
  ])
  const declaredOutputs = uniqueInputs(controllers.flatMap((controller) => controller.declaredOutputs))
  checkVersions(declaredInputs, `Operator ${name}`)
  const inputs = kindsOf(declaredInputs)
  return {
    name,
    config,
    controllers,
    coordinators,
    webhooks,
    conversions,
    declaredInputs,
    declaredOutputs,
    inputs,
    outputs: kindsOf(declaredOutputs),
    kinds: inputs.filter(isKind),
  }
}

/** @throws InvalidController for two coordinators of one name */
function coordinatorsOf(controllers: readonly Controller[], operator: string): readonly Coordinator[] {
  const all = [...new Set(controllers.flatMap(({ coordinators }) => coordinators))]
  const names = all.map(({ name }) => name)
  const twice = names.find((name, at) => names.indexOf(name) < at)
  if (twice === undefined) return all
  throw new MusterError(
    operatorErrors.InvalidController,
    `Operator ${operator} has two coordinators called ${twice}: their decisions could not be told apart.`,
  )
}

function checkConfigs(controllers: readonly Controller[], config: Config | undefined, operator: string): void {
  for (const { name, configs } of controllers) {
    const missing = configs.flatMap(({ fields }) => Object.keys(fields)).find((field) => !hasField(config, field))
    if (missing === undefined) continue
    throw new MusterError(
      operatorErrors.InvalidController,
      `Operator ${operator}: controller ${name} reads the setting "${missing}", which the operator's configuration does not have.`,
    )
  }
}

function hasField(config: Config | undefined, field: string): boolean {
  return config !== undefined && Object.hasOwn(config.fields, field)
}

function isKind(resource: Resource): resource is Kind {
  return 'definition' in resource
}
