/**
 * An operator: a named set of controllers with declared inputs and outputs. Its caches, its RBAC role and the refusal
 * of undeclared access follow from the declaration.
 */
import { MusterError } from '../kube/errors.ts'
import { formatResource, type Resource } from '../kube/kind.ts'
import { checkDnsLabel } from '../kube/name.ts'
import type { Config } from './config.ts'
import type { Controller } from './controller.ts'
import type { Conversion } from './conversion.ts'
import { checkVersions, type Input, kindsOf, type DeclaredOutput, uniqueInputs } from './input.ts'
import type { Kind } from './kind.ts'
import type { Webhook } from './webhook.ts'

export interface OperatorOptions {
  /** A DNS label: it becomes a field manager, a finalizer, a user name. */
  readonly name: string
  readonly controllers: readonly Controller[]
  readonly config?: Config
  /** Admission webhooks. */
  readonly webhooks?: readonly Webhook[]
  /** Conversions between versions of its kinds. */
  readonly conversions?: readonly Conversion[]
}

export interface Operator {
  readonly name: string
  readonly controllers: readonly Controller[]
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

/** @throws InvalidController */
export function defineOperator(options: OperatorOptions): Operator {
  const { name, controllers, config, webhooks = [], conversions = [] } = options
  const [problem] = checkDnsLabel(name)
  if (problem !== undefined) throw new MusterError('InvalidController', `Operator "${name}": ${problem}.`)
  if (controllers.length === 0) throw new MusterError('InvalidController', `Operator ${name} has no controllers.`)
  const names = controllers.map((controller) => controller.name)
  const twice = names.find((other, at) => names.indexOf(other) < at)
  if (twice !== undefined) {
    throw new MusterError('InvalidController', `Operator ${name} has two controllers called ${twice}.`)
  }
  const kinds = controllers.map(({ kind }) => formatResource(kind))
  const second = kinds.findIndex((kind, at) => kinds.indexOf(kind) < at)
  if (second >= 0) {
    // They would share one status and one finalizer, and each would remove what the other wrote.
    const both = `${names[kinds.indexOf(kinds[second]!)]} and ${names[second]}`
    throw new MusterError(
      'InvalidController',
      `Operator ${name}: ${both} are both for ${kinds[second]}. Make them one.`,
    )
  }
  const declaredInputs = uniqueInputs(controllers.flatMap((controller) => controller.declaredInputs))
  const declaredOutputs = uniqueInputs(controllers.flatMap((controller) => controller.declaredOutputs))
  checkVersions(declaredInputs, `Operator ${name}`)
  const inputs = kindsOf(declaredInputs)
  return {
    name,
    config,
    controllers,
    webhooks,
    conversions,
    declaredInputs,
    declaredOutputs,
    inputs,
    outputs: kindsOf(declaredOutputs),
    kinds: inputs.filter(isKind),
  }
}

function isKind(resource: Resource): resource is Kind {
  return 'definition' in resource
}
