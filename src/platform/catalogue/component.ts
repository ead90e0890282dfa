/** A Component: an entry of the catalogue, published by the team that owns it. Its channels name the versions to run. */
import type { Json } from '../../kube/json.ts'
import { anything, boolean, integer, list, object, optional, string } from '../../operator/kind/field.ts'
import { defineKind, type Kind, type StandardStatus } from '../../operator/kind/kind.ts'
import type { Named } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { healthRules } from '../installation/installation.ts'
import type { HealthRule } from '../phase/health-rules.ts'

export interface ComponentObject extends Named {
  readonly spec: ComponentSpec
  readonly status?: ComponentStatus
}

interface ComponentSpec {
  readonly title?: string
  readonly description?: string
  readonly channels: readonly { readonly name: string; readonly version: string }[]
  /** Runs on every cluster, whatever the Platform lists. */
  readonly mandatory?: { readonly version: string }
  /** Platforms must ask for preview components. */
  readonly preview: boolean
  /** Components of a lower level are ready first. */
  readonly runLevel: number
  readonly preinstalled: PreinstalledComponent
}

/** An installation by other means, which the Platform leaves alone where the component is Unmanaged. */
interface PreinstalledComponent extends PreinstalledSigns {
  /** Kinds of its own objects: what they report is passed on. */
  readonly health: readonly HealthRule[]
  /** Objects that it needs, such as a default queue. Each is created once, and never changed after that. */
  readonly defaultResources: readonly Json[]
}

/** How an installation by other means looks. */
export interface PreinstalledSigns {
  /** Packages of the Operator Lifecycle Manager. */
  readonly olmPackages: readonly string[]
  /** Names of Helm releases. */
  readonly helmReleases: readonly string[]
  /** `appwrappers.workload.codeflare.dev` */
  readonly crds: readonly string[]
}

interface ComponentStatus extends StandardStatus {
  /** Versions that are published, the newest first. */
  readonly versions?: readonly string[]
}

interface ComponentKind extends TypedResource<ComponentObject>, Pick<Kind, 'definition' | 'crd'> {}

const names = (description: string, maxLength = 253) =>
  list(string({ maxLength }), { default: [], maxItems: 50, description })

export const Component: ComponentKind = defineKind({
  group: 'platform.muster.dev',
  version: 'v1alpha1',
  kind: 'Component',
  scope: 'Cluster',
  categories: ['muster'],
  description: 'A component that a Platform can switch on: its channels, and the versions in them.',
  rules: [
    {
      rule: "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$') && self.metadata.name.size() <= 40",
      message: 'the name of a Component has at most 40 lower case letters, digits and dashes, a letter first',
    },
  ],
  spec: {
    title: optional(string({ maxLength: 100 })),
    description: optional(string({ maxLength: 1000 })),
    channels: list(
      object({
        name: string({ pattern: '^[a-z][a-z0-9-]{1,31}$', maxLength: 32 }),
        version: string({ minLength: 1, maxLength: 64 }),
      }),
      { default: [], maxItems: 30, sharedBy: ['name'], description: 'the version of each channel' },
    ),
    mandatory: optional(
      object(
        { version: string({ minLength: 1, maxLength: 64 }) },
        { description: 'it runs on every cluster, in this version, whatever the Platform lists' },
      ),
    ),
    preview: boolean({ default: false, description: 'only for Platforms with spec.preview' }),
    runLevel: integer({
      default: 99,
      minimum: 0,
      maximum: 1000,
      description: 'components of a lower level are ready before it begins',
    }),
    preinstalled: object(
      {
        olmPackages: names('packages of the Operator Lifecycle Manager'),
        helmReleases: names('names of Helm releases', 53),
        crds: names('CRDs that only an installation of it has, such as queues.example.com'),
        health: healthRules(
          'kinds of its own objects: while it is Unmanaged, what their conditions (Degraded, Ready, Stalled) report is passed on, ' +
            'or what rules in CEL say',
        ),
        defaultResources: list(anything(), {
          default: [],
          maxItems: 20,
          description: 'objects that are created once while it is Unmanaged and there, and then belong to users',
        }),
      },
      { default: {}, description: 'how an installation by other means is recognised' },
    ),
  },
  status: {
    versions: optional(list(string())),
  },
  columns: [
    { name: 'Mandatory', type: 'string', jsonPath: '.spec.mandatory.version' },
    { name: 'Preview', type: 'boolean', jsonPath: '.spec.preview' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Message', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].message' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})
