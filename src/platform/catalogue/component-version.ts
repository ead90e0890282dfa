/** A ComponentVersion: one immutable release of a component, published by the team that owns it. */
import type { Json } from '../../kube/json.ts'
import type { Named } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { anything, boolean, list, object, optional, string } from '../../operator/kind/field.ts'
import { defineKind, type Kind } from '../../operator/kind/kind.ts'
import { healthField, type InstallationSource, sourceField, timeoutField } from '../installation/installation.ts'
import type { HealthRule } from '../phase/health-rules.ts'

export interface ComponentVersionObject extends Named {
  readonly spec: ComponentVersionSpec
}

interface ComponentVersionSpec {
  readonly component: string
  readonly version: string
  readonly source: InstallationSource
  /** Where its objects go. */
  readonly namespace?: string
  readonly values?: Json
  /** Created once it is installed, and never changed after that. */
  readonly defaultResource?: Json
  readonly requires: readonly Requirement[]
  /** Kinds whose objects keep it from being installed. */
  readonly conflicts: readonly ComponentConflict[]
  /** Names of the CRDs that it installs. */
  readonly crds: readonly string[]
  readonly readiness: readonly HealthRule[]
  readonly requiresDowntime: boolean
  readonly acknowledgements: readonly { readonly key: string; readonly message: string }[]
  readonly serviceAccountName?: string
  readonly timeout: string
}

/** Another component, or a kind that the cluster must serve. */
export interface Requirement {
  readonly component?: string
  /** A range of versions of the component. */
  readonly version?: string
  readonly kind?: { readonly apiVersion: string; readonly kind: string; readonly providedBy?: string }
}

/** Objects of a kind that it cannot run beside. */
interface ComponentConflict {
  readonly apiVersion: string
  readonly kind: string
  /** What to do about them. */
  readonly message?: string
}

/** A ComponentVersion stays what it is only if its source does. */
const exactVersion = "matches('^v?[0-9]+[.][0-9]+[.][0-9]+([-+][0-9A-Za-z.+-]+)?$')"

interface ComponentVersionKind extends TypedResource<ComponentVersionObject>, Pick<Kind, 'definition' | 'crd'> {}

export const ComponentVersion: ComponentVersionKind = defineKind({
  group: 'platform.muster.dev',
  version: 'v1alpha1',
  kind: 'ComponentVersion',
  scope: 'Cluster',
  shortNames: ['cv'],
  categories: ['muster'],
  description: 'One release of a component. It never changes.',
  rules: [
    { rule: 'self.spec == oldSelf.spec', message: 'a ComponentVersion is immutable: publish another version' },
    {
      rule: "self.metadata.name == self.spec.component + '-' + self.spec.version.replace('+', '-').lowerAscii()",
      message: 'its name is that of the component, a dash and the version',
    },
    {
      rule: '!has(self.spec.source.interval)',
      message: 'a ComponentVersion is immutable: leave interval out of its source, and publish another version',
    },
    {
      rule:
        '!has(self.spec.source.oci) || has(self.spec.source.oci.digest) || has(self.spec.source.oci.layer) || ' +
        `(has(self.spec.source.oci.version) && self.spec.source.oci.version.${exactVersion})`,
      message: 'a ComponentVersion is immutable: its source.oci needs a digest, or an exact version such as 1.2.3',
    },
    {
      rule:
        '!has(self.spec.source.helm) || ' +
        `(has(self.spec.source.helm.version) && self.spec.source.helm.version.${exactVersion})`,
      message: 'a ComponentVersion is immutable: its source.helm needs an exact version such as 1.2.3',
    },
    {
      rule:
        '!(has(self.spec.source.manifests) && has(self.spec.source.manifests.configMapRef)) && ' +
        '!(has(self.spec.source.kustomize) && has(self.spec.source.kustomize.configMapRef))',
      message:
        'a ComponentVersion is immutable, and a ConfigMap is not: put the files into its source, or into an artifact',
    },
  ],
  spec: {
    component: string({ minLength: 1, maxLength: 40 }),
    version: string({
      pattern: String.raw`^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$`,
      maxLength: 64,
      description: 'a semantic version',
    }),
    source: sourceField,
    namespace: optional(
      string({ maxLength: 63, description: 'the namespace of its objects; that of the Platform without one' }),
    ),
    values: optional(anything({ description: 'values of the chart, under those of the Platform' })),
    defaultResource: optional(
      anything({ description: 'a custom object that is created with it, and then belongs to users' }),
    ),
    requires: list(
      object(
        {
          component: optional(string({ maxLength: 40 })),
          version: optional(string({ maxLength: 128, description: 'a range, such as >=1.2 <2' })),
          kind: optional(
            object({
              apiVersion: string({ maxLength: 253 }),
              kind: string({ maxLength: 63 }),
              providedBy: optional(string({ maxLength: 253, description: 'what to install for it' })),
            }),
          ),
        },
        { rules: [{ rule: 'has(self.component) != has(self.kind)', message: 'either component or kind' }] },
      ),
      { default: [], maxItems: 30, description: 'what must be ready before it is installed or upgraded' },
    ),
    conflicts: list(
      object({
        apiVersion: string({ maxLength: 253 }),
        kind: string({ maxLength: 63 }),
        message: optional(string({ maxLength: 1000, description: 'what to do about these objects' })),
      }),
      {
        default: [],
        maxItems: 30,
        description:
          'kinds whose objects keep it from being installed or upgraded, such as those of a component that it replaces',
      },
    ),
    crds: list(string({ maxLength: 253 }), {
      default: [],
      maxItems: 200,
      description: 'the CRDs that it installs, such as queues.example.com',
    }),
    readiness: healthField,
    requiresDowntime: boolean({ default: false, description: 'upgrades to it wait for a maintenance window' }),
    acknowledgements: list(object({ key: string({ maxLength: 100 }), message: string({ maxLength: 1000 }) }), {
      default: [],
      maxItems: 20,
      description: 'what an administrator must accept in spec.acknowledged of the Platform first',
    }),
    serviceAccountName: optional(string({ maxLength: 253, description: 'the account that writes its objects' })),
    timeout: timeoutField,
  },
  columns: [
    { name: 'Component', type: 'string', jsonPath: '.spec.component' },
    { name: 'Version', type: 'string', jsonPath: '.spec.version' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})
