/**
 * The registrations of an operator's webhooks: a ValidatingWebhookConfiguration, a MutatingWebhookConfiguration, and
 * the conversion of each CRD. As data to be applied; and whether a live object matches.
 *
 * All fields are explicit, defaults included, so that live and desired objects can be compared.
 */
import { createHash } from 'node:crypto'
import { equalJson, type Json, type JsonObject } from '../../kube/json.ts'
import { formatApiVersion, formatResource, type Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type {
  MutatingWebhook,
  ValidatingWebhook,
  WebhookClientConfig,
} from '../../kube/types/admissionregistration/v1.ts'
import type { CustomResourceConversion, CustomResourceDefinitionSpec } from '../../kube/types/apiextensions/v1.ts'
import { conversionName } from '../../operator/kind/conversion.ts'
import { Secret } from '../../kube/kinds.ts'
import type { AdmissionOperation, Webhook } from '../../operator/kind/webhook.ts'
import { managedBy, type SecretName } from './certificate-secret.ts'
import { type OperatorWebhooks, type WebhookAct, type WebhookAddress, webhookPath } from './webhook-host.ts'

const admissionGroup = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false } as const

export const validatingConfigurations: Resource = {
  ...admissionGroup,
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
}
export const mutatingConfigurations: Resource = {
  ...admissionGroup,
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
}
export const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

const operatorLabel = 'muster.dev/operator'
/** The certificates that a registration trusts: two managers in one cluster have a Secret each. */
export const certificatesLabel = 'muster.dev/certificates'

/** A Secret as a label value, which is limited in length. */
export function certificatesId({ namespace, name }: SecretName): string {
  return createHash('sha256').update(`${namespace}/${name}`).digest('hex').slice(0, 16)
}

export interface Registration {
  /** Identifies it in maps and reports. */
  readonly key: string
  readonly resource: Resource
  /** Our part of the object. */
  readonly object: UntypedObject
  /** Whether we may create the object, or only patch an existing one: a CRD is more than its conversion. */
  readonly isWhole: boolean
  /** Whether the live object matches, without further entries of ours. */
  isCurrent(live: UntypedObject): boolean
}

interface RegistrationContext {
  readonly address: WebhookAddress
  /** PEM. */
  readonly bundle: string
  /**
   * The Secret of the certificates, which is exempt from all webhooks: it could not be fixed while its webhook fails.
   */
  readonly secret: SecretName
}

/** The name of an operator's webhook configurations. */
export function configurationName(operator: string): string {
  return `muster-${operator}`
}

export function registrationsOf(
  operator: string,
  { webhooks = [], conversions = [] }: OperatorWebhooks,
  context: RegistrationContext,
): readonly Registration[] {
  const validating = webhooks.filter(({ validate }) => validate).map((one) => validatingWebhook(operator, one, context))
  const mutating = webhooks.filter(({ mutate }) => mutate).map((one) => mutatingWebhook(operator, one, context))
  const kinds = Map.groupBy(conversions, conversionName)
  return [
    ...(validating.length > 0 ? [configuration(operator, validatingConfigurations, validating, context)] : []),
    ...(mutating.length > 0 ? [configuration(operator, mutatingConfigurations, mutating, context)] : []),
    ...kinds.keys().map((name) => convertedBy(operator, name, context)),
  ]
}

/** DNS names and IP addresses in the serving certificate. */
export function registrationNames(address: WebhookAddress): readonly string[] {
  if ('url' in address) return [new URL(address.url).hostname.replaceAll(/^\[|\]$/g, '')]
  const { name, namespace } = address.service
  return [`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`]
}

function clientFor(
  { address, bundle }: RegistrationContext,
  operator: string,
  act: WebhookAct,
  name: string,
): WebhookClientConfig {
  const caBundle = Buffer.from(bundle).toString('base64')
  const path = webhookPath(operator, act, name)
  if ('url' in address) return { url: `${address.url}${path}`, caBundle }
  const { port = 443, ...service } = address.service
  return { service: { namespace: service.namespace, name: service.name, path, port }, caBundle }
}

function validatingWebhook(operator: string, webhook: Webhook, context: RegistrationContext): ValidatingWebhook {
  const { name, operations } = webhook
  return {
    ...common(operator, webhook, operations, context),
    clientConfig: clientFor(context, operator, 'validate', name),
  }
}

function mutatingWebhook(operator: string, webhook: Webhook, context: RegistrationContext): MutatingWebhook {
  const { name, operations, reinvocation } = webhook
  const asked = operations.filter((operation) => operation !== 'DELETE')
  return {
    ...common(operator, webhook, asked, context),
    clientConfig: clientFor(context, operator, 'mutate', name),
    reinvocationPolicy: reinvocation,
  }
}

function common(
  operator: string,
  webhook: Webhook,
  operations: readonly AdmissionOperation[],
  { secret }: RegistrationContext,
): Omit<ValidatingWebhook, 'clientConfig'> {
  const { for: own, name, subresources, namespaceSelector, objectSelector, failurePolicy, sideEffects } = webhook
  const matchConditions = [...webhook.matchConditions, ...(isSecret(own) ? [notOurSecret(secret)] : [])]
  return {
    name: fullName(operator, name),
    admissionReviewVersions: ['v1'],
    rules: [
      {
        apiGroups: [own.group],
        apiVersions: [own.version],
        resources: [own.plural, ...subresources.map((subresource) => `${own.plural}/${subresource}`)],
        operations,
        scope: '*',
      },
    ],
    // Other versions of the kind are converted to this one first.
    matchPolicy: 'Equivalent',
    namespaceSelector,
    objectSelector,
    failurePolicy,
    sideEffects,
    timeoutSeconds: webhook.timeoutSeconds,
    ...(matchConditions.length > 0 && { matchConditions }),
  }
}

/** A webhook's name is a domain; users see it in refusals. */
function fullName(operator: string, name: string): string {
  return `${name}.${operator}.muster.dev`
}

function isSecret({ group, plural }: Resource): boolean {
  return group === Secret.group && plural === Secret.plural
}

function notOurSecret({ namespace, name }: SecretName): { readonly name: string; readonly expression: string } {
  const [space, own] = [JSON.stringify(namespace), JSON.stringify(name)]
  return {
    name: 'not-the-certificates-of-webhooks',
    expression: `request.namespace != ${space} || request.name != ${own}`,
  }
}

function configuration(
  operator: string,
  resource: Resource,
  webhooks: readonly (ValidatingWebhook | MutatingWebhook)[],
  { secret }: RegistrationContext,
): Registration {
  const name = configurationName(operator)
  const labels = { ...managedBy, [operatorLabel]: operator, [certificatesLabel]: certificatesId(secret) }
  return {
    key: `${formatResource(resource)} ${name}`,
    resource,
    object: { ...head(resource, name, labels), webhooks },
    isWhole: true,
    isCurrent(live) {
      // Entries that others add to our configuration are left alone. Entries of ours that are no longer desired are
      // removed.
      const named = ours(live, operator)
      const wanted = new Map(webhooks.map((webhook) => [webhook.name, webhook]))
      return (
        hasLabels(live, labels) &&
        named.length === wanted.size &&
        named.every((webhook) => equal(webhook, wanted.get(webhook.name)))
      )
    },
  }
}

function convertedBy(operator: string, name: string, context: RegistrationContext): Registration {
  const labels = { [certificatesLabel]: certificatesId(context.secret) }
  const wanted = {
    strategy: 'Webhook',
    webhook: {
      clientConfig: clientFor(context, operator, 'convert', name),
      conversionReviewVersions: ['v1'],
    },
  }
  return {
    key: `${formatResource(definitions)} ${name}`,
    resource: definitions,
    object: { ...head(definitions, name, labels), spec: { conversion: wanted } },
    isWhole: false,
    isCurrent: (live) => hasLabels(live, labels) && equal(conversionIn(live), wanted),
  }
}

/**
 * A registration of another replica or manager with the same certificates, with this bundle. Its own manager may be
 * down, and an authority must be trusted everywhere before it signs: so every replica that sees it publishes the
 * bundle.
 */
export function withBundle(resource: Resource, live: UntypedObject, bundle: string): Registration {
  const caBundle = Buffer.from(bundle).toString('base64')
  const { name = '', labels = {} } = live.metadata
  const own = { key: `${formatResource(resource)} ${name}`, resource, isWhole: false }
  const kept = Object.fromEntries(
    [...Object.keys(managedBy), operatorLabel, certificatesLabel]
      .filter((label) => labels[label] !== undefined)
      .map((label) => [label, labels[label]!]),
  )
  if (resource === definitions) {
    const { webhook, ...conversion } = conversionIn(live) ?? {}
    const clientConfig = { ...webhook?.clientConfig, caBundle }
    const wanted = { ...conversion, webhook: { ...webhook, clientConfig } }
    return {
      ...own,
      object: { ...head(resource, name, kept), spec: { conversion: wanted } },
      // A CRD that no longer has our conversion is left alone.
      isCurrent: (now) => (conversionIn(now)?.webhook?.clientConfig?.caBundle ?? caBundle) === caBundle,
    }
  }
  const operator = labels[operatorLabel] ?? ''
  const trusting = (one: ValidatingWebhook): ValidatingWebhook => ({
    ...one,
    clientConfig: { ...one.clientConfig, caBundle },
  })
  const webhooks = ours(live, operator).map(trusting)
  return {
    ...own,
    object: { ...head(resource, name, kept), webhooks },
    isCurrent: (now) => ours(now, operator).every(({ clientConfig: { caBundle: known } }) => known === caBundle),
  }
}

function ours(live: UntypedObject, operator: string): readonly ValidatingWebhook[] {
  const webhooks = (live['webhooks'] ?? []) as readonly ValidatingWebhook[]
  return webhooks.filter((webhook) => webhook.name.endsWith(`.${operator}.muster.dev`))
}

function conversionIn(live: UntypedObject): Partial<CustomResourceConversion> | undefined {
  return (live['spec'] as Partial<CustomResourceDefinitionSpec> | undefined)?.conversion
}

function hasLabels({ metadata }: UntypedObject, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value)
}

function head(resource: Resource, name: string, labels?: Readonly<Record<string, string>>): UntypedObject {
  return {
    apiVersion: formatApiVersion(resource),
    kind: resource.kind,
    metadata: { name, ...(labels && { labels }) },
  }
}

function equal(a: unknown, b: unknown): boolean {
  return equalJson(a as Json | undefined, b as JsonObject | undefined)
}
