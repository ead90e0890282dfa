/**
 * An operator as data: the declarations that a guest sends, and the operator that the manager builds from them. Kinds
 * and config are rebuilt from their definitions, which are data; functions stay in the guest, and those of webhooks are
 * called there (`consultation.ts`).
 */
import { managerErrors } from '../../errors.ts'
import { operatorErrors } from '../../../operator/errors.ts'
import { MusterError } from '../../../kube/muster-error.ts'
import { isJsonObject, type JsonObject } from '../../../kube/json.ts'
import type { Resource } from '../../../kube/kind.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { defineConfig } from '../../../operator/config.ts'
import { type Controller, defineController } from '../../../operator/controller.ts'
import type { Conversion } from '../../../operator/kind/conversion.ts'
import { defaultBackOff } from '../../../operator/failure.ts'
import {
  exactly,
  type ExactName,
  generated,
  type Input,
  labelled,
  type LabelSelected,
  type DeclaredOutput,
  referenced,
  whole,
} from '../../../operator/view/input.ts'
import { fields } from '../../../operator/view/projected-input.ts'
import { defineKind, type Kind, type VersionDefinition } from '../../../operator/kind/kind.ts'
import { defineOperator, type Operator } from '../../../operator/operator.ts'
import { inRole, type PlacementRole, placementRoleOf } from '../../../operator/placement-role.ts'
import type { Dependent } from '../../../operator/dependent/dependent.ts'
import { defineWebhook, type Webhook } from '../../../operator/kind/webhook.ts'
import { askedConversion, askedWebhook, type Consult } from './consultation.ts'
import { plainResource } from './protocol.ts'
import { wireResourceOf } from './wire.ts'

export interface Description {
  readonly name: string
  readonly controllers: readonly ControllerDescription[]
  readonly configFields?: JsonObject | undefined
  readonly webhooks: readonly WebhookDescription[]
  readonly conversions: readonly { readonly for: ResourceDescription; readonly version: string }[]
}

/** A webhook without its kind and functions. */
type WebhookDescription = Omit<Webhook, 'for' | 'validate' | 'mutate' | 'access'> & {
  readonly for: ResourceDescription
  readonly validate: boolean
  readonly mutate: boolean
}

interface ControllerDescription {
  readonly name: string
  /** The input that selects its CRs. */
  readonly own: InputDescription
  readonly inputs: readonly InputDescription[]
  readonly outputs: readonly InputDescription[]
  readonly finalizes: boolean
  readonly reports: boolean
  /** Its dependents have an owner reference to their CR. */
  readonly owns: boolean
  /** It creates objects beyond its declared dependents. */
  readonly makesMore: boolean
  readonly backOff: { readonly firstMs: number; readonly mostMs: number }
  readonly timeoutMs: number
}

/** An input without its kind. */
type InputDescription = JsonObject & { readonly select: Input['select'] }

/** A kind that the operator defines, or the name of one; and its role. */
interface ResourceDescription {
  readonly resource: Resource
  readonly role: PlacementRole
  readonly definition?: JsonObject | undefined
}

/** @throws IsolationRefused for an operator with tasks, coordinators, embedded objects, or webhooks that ask for access */
export function describeOperator(operator: Operator): Description {
  const { name, controllers, config, webhooks, conversions } = operator
  refuseInlineOnly(operator)
  return {
    name,
    controllers: controllers.map(describeController),
    ...(config && { configFields: config.fields as unknown as JsonObject }),
    webhooks: webhooks.map(describeWebhook),
    conversions: conversions.map(({ for: kind, version }) => ({ for: describeResource(kind), version })),
  }
}

/**
 * Tasks are for files, the network and threads, of which a guest has none; coordinators are told each change of the shared
 * caches; embedded objects are watched when they are asked for.
 */
function refuseInlineOnly({ name, controllers, webhooks, coordinators: [coordinator] }: Operator): void {
  const [task] = controllers.flatMap(({ tasks }) => tasks)
  const isEmbedding = controllers.some(({ options }) => options.embeds)
  const asking = webhooks.find(({ access }) => access)
  if (!task && !coordinator && !asking && !isEmbedding) return
  const what = task
    ? `has the task ${task.name}: tasks run in the manager's process.`
    : coordinator
      ? `has the coordinator ${coordinator.name}: coordinators run in the manager's process.`
      : asking
        ? `has the webhook ${asking.name}, which asks for access: the manager's process does that.`
        : "embeds objects of any kind: it reads them in the manager's process."
  throw new MusterError(managerErrors.IsolationRefused, `Operator ${name} ${what} Set isolation: inline for it.`)
}

function describeWebhook({ for: kind, validate, mutate, access: _access, ...rest }: Webhook): WebhookDescription {
  return { ...rest, for: describeResource(kind), validate: validate !== undefined, mutate: mutate !== undefined }
}

function describeController(controller: Controller): ControllerDescription {
  const { name, own, declaredInputs, declaredOutputs, finalizes, reports, backOff, timeoutMs } = controller
  const { dependents, options } = controller
  return {
    name,
    own: describe(own),
    inputs: declaredInputs.map(describe),
    outputs: declaredOutputs.map(describe),
    finalizes,
    reports,
    owns: dependents.some(({ ownership }) => ownership === 'reference'),
    makesMore: options.reconcile !== undefined || (options.writes?.length ?? 0) > 0,
    backOff,
    timeoutMs,
  }
}

function describe(input: Input): InputDescription {
  const from = input.select === 'reference' ? { from: describe(input.from) } : {}
  return { ...input, ...from, resource: describeResource(input.resource) } as unknown as InputDescription
}

function describeResource(resource: Resource): ResourceDescription {
  const { definition } = resource as Partial<Kind>
  return {
    resource: plainResource(resource),
    role: placementRoleOf(resource),
    ...(definition && { definition: definition as unknown as JsonObject }),
  }
}

/** `consult` calls functions in the guest. @throws InvalidController for an invalid description */
export function operatorFrom(description: unknown, consult: Consult): Operator {
  try {
    const { name, controllers, configFields, webhooks, conversions } = record(description)
    return defineOperator({
      name: text(name),
      controllers: array(controllers).map(controllerFrom),
      webhooks: array(webhooks).map((each) => webhookFrom(each, consult)),
      conversions: array(conversions).map((each) => conversionFrom(each, consult)),
      ...(configFields !== undefined && { config: defineConfig(record(configFields) as never) }),
    })
  } catch (error) {
    throw new MusterError(
      operatorErrors.InvalidController,
      `The declarations of the operator are invalid: ${String(error)}.`,
    )
  }
}

function webhookFrom(received: unknown, consult: Consult): Webhook {
  const { for: kind, name, operations, subresources, matchConditions, ...rest } = record(received)
  const functions = askedWebhook(text(name), consult)
  return defineWebhook({
    for: resourceFrom(kind),
    name: text(name),
    operations: array(operations).map((each) => oneOf(each, ['CREATE', 'UPDATE', 'DELETE'])),
    subresources: array(subresources).map(text),
    matchConditions: array(matchConditions).map((each) => {
      const condition = record(each)
      return { name: text(condition['name']), expression: text(condition['expression']) }
    }),
    objectSelector: record(rest['objectSelector']),
    namespaceSelector: record(rest['namespaceSelector']),
    failurePolicy: oneOf(rest['failurePolicy'], ['Fail', 'Ignore']),
    sideEffects: oneOf(rest['sideEffects'], ['None', 'NoneOnDryRun']),
    timeoutSeconds: Number(rest['timeoutSeconds']),
    reinvocation: oneOf(rest['reinvocation'], ['Never', 'IfNeeded']),
    ...(rest['validate'] === true && { validate: functions.validate }),
    ...(rest['mutate'] === true && { mutate: functions.mutate }),
  })
}

function conversionFrom(received: unknown, consult: Consult): Conversion {
  const { for: kind, version } = record(received)
  const rebuilt = resourceFrom(kind) as Kind
  const others: readonly VersionDefinition[] = (rebuilt as Partial<Kind>).definition?.otherVersions ?? []
  if (!others.some((other) => other.version === version)) throw new TypeError('a version to convert is missing')
  return askedConversion({ for: rebuilt, version: text(version) }, consult)
}

function oneOf<const T extends string>(value: unknown, known: readonly T[]): T {
  const found = known.find((each) => each === value)
  if (found === undefined) throw new TypeError(`one of ${known.join(', ')} is missing`)
  return found
}

function controllerFrom(received: unknown): Controller {
  const { name, inputs, outputs, finalizes, reports, owns, makesMore, backOff, timeoutMs, ...rest } = record(received)
  const own = inputFrom(rest['own'])
  const { firstMs, mostMs } = record(backOff)
  const writes = array(outputs).map((each) => inputFrom(each) as DeclaredOutput)
  const controller: Controller = defineController<KubeObject>({
    for: own.select === 'kind' ? own.resource : (own as ExactName | LabelSelected),
    name: text(name),
    reads: array(inputs).map(inputFrom),
    writes,
    backOff: { firstMs: span(firstMs, defaultBackOff.firstMs), mostMs: span(mostMs, defaultBackOff.mostMs) },
    timeoutMs: span(timeoutMs, 30_000),
  })
  // The only property of its dependents that matters here: whether they have an owner reference.
  const owned = { id: 'owned', kind: own.resource, ownership: 'reference' } as unknown as Dependent<KubeObject>
  return {
    ...controller,
    options: { for: controller.options.for, ...(makesMore === true && { writes }) },
    dependents: owns === true ? [owned] : [],
    finalizes: finalizes === true,
    reports: reports === true,
  }
}

/** Through the author API, which rejects invalid inputs. */
function inputFrom(received: unknown): Input {
  const input = selectionFrom(received)
  const { fields: paths } = record(received)
  return paths === undefined ? input : fields(input, array(paths).map(text))
}

function selectionFrom(received: unknown): Input {
  const { select, resource: kind, from, name, namespace, prefix, labels, namePath, namespacePath } = record(received)
  const resource = resourceFrom(kind)
  const within = { ...(namespace !== undefined && { namespace: text(namespace) }) }
  switch (select) {
    case 'kind':
      return whole(resource)
    case 'name':
      return exactly(resource, { ...within, name: text(name) })
    case 'prefix':
      return generated(resource, { ...within, prefix: text(prefix) })
    case 'labels': {
      const pairs = Object.entries(record(labels)).map(([key, value]) => [key, text(value)] as const)
      return labelled(resource, { ...within, labels: Object.fromEntries(pairs) })
    }
    case 'reference': {
      const path = namespacePath === undefined ? {} : { namespacePath: text(namespacePath) }
      return referenced(resource, { ...within, ...path, from: inputFrom(from), namePath: text(namePath) })
    }
    default:
      throw new TypeError('an input is missing')
  }
}

function resourceFrom(received: unknown): Resource {
  const { resource, definition, role } = record(received)
  const isPlaced = role === 'management' || role === 'userWorkload'
  if (definition === undefined) {
    const plain = wireResourceOf(resource)
    return isPlaced ? inRole(plain, role) : plain
  }
  const kind = defineKind(record(definition) as never) as unknown as Resource
  wireResourceOf(kind)
  return isPlaced ? inRole(kind, role) : kind
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('a name is missing')
  return value
}

function array(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError('a list is missing')
  return value as readonly unknown[]
}

function record(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw new TypeError('an object is missing')
  return value
}

function span(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : otherwise
}
