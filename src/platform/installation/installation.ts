/** An Installation: a source of objects that is installed, kept as it is declared, upgraded, rolled back and removed. */
import {
  anything,
  boolean,
  type Field,
  integer,
  list,
  map,
  object,
  oneOf,
  optional,
  string,
} from '../../operator/kind/field.ts'
import { defineKind, type Kind, type StandardStatus } from '../../operator/kind/kind.ts'
import type { Json } from '../../kube/json.ts'
import type { ImageRule } from '../image/image-rules.ts'
import type { HealthRule } from '../phase/health-rules.ts'
import type { ArtifactKind } from '../../render/source/artifact-folder.ts'
import type { FixedVersion } from '../../render/source/moving-version.ts'
import type { Named } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'

export interface InstallationObject extends Named {
  readonly spec: InstallationSpec
  readonly status?: InstallationStatus
}

interface NameReference {
  readonly name: string
}

export interface InstallationSource {
  readonly oci?: {
    readonly url: string
    readonly version?: string
    readonly digest?: string
    /** The digest of the only layer that is used. */
    readonly layer?: string
    /** What the artifact is rendered as. @default 'Chart' */
    readonly kind?: ArtifactKind
    /** A folder of the artifact. @default all of it */
    readonly path?: string
    readonly secretRef?: NameReference
    readonly plainHttp?: boolean
  }
  readonly helm?: {
    readonly url: string
    readonly chart: string
    readonly version?: string
    readonly secretRef?: NameReference
  }
  readonly kustomize?: {
    readonly files: Readonly<Record<string, string>>
    readonly configMapRef?: NameReference
    readonly path?: string
  }
  readonly manifests?: { readonly text?: string; readonly configMapRef?: NameReference }
  readonly chart?: { readonly files: Readonly<Record<string, string>> }
  /** How often a version that may move is resolved anew. @default when the spec or the annotation `requestedAt` changes */
  readonly interval?: string
}

/** What a version that may move has been resolved to. */
export interface InstallationArtifact extends FixedVersion {
  /** Of the source that it was resolved for. */
  readonly source: string
}

export interface ValuesReference {
  readonly kind: 'ConfigMap' | 'Secret'
  readonly name: string
  readonly key: string
  readonly path?: string
  readonly optional: boolean
}

interface DriftRule {
  readonly paths: readonly string[]
  readonly target?: {
    readonly group?: string
    readonly kind?: string
    readonly name?: string
    readonly namespace?: string
  }
}

export interface InstallationSpec {
  readonly source: InstallationSource
  readonly releaseName?: string
  /** What the publisher calls this state of the source. */
  readonly releaseVersion?: string
  readonly targetNamespace?: string
  readonly values?: Json
  readonly valuesFrom: readonly ValuesReference[]
  /** Values are not compared with the schema of the chart. */
  readonly skipSchemaValidation: boolean
  /** Images of rendered objects, replaced by others. */
  readonly images?: readonly ImageRule[]
  readonly dependsOn: readonly { readonly name: string; readonly namespace?: string }[]
  readonly serviceAccountName?: string
  readonly timeout: string
  readonly drift: { readonly mode: 'correct' | 'warn' | 'off'; readonly ignore: readonly DriftRule[] }
  readonly remediation: {
    readonly strategy: 'rollback' | 'uninstall' | 'none'
    readonly retries: number
    readonly retryInterval: string
  }
  readonly prune: boolean
  readonly deletion: 'delete' | 'orphan'
  readonly crds: 'apply' | 'create-only' | 'skip'
  readonly health: readonly HealthRule[]
  /** Beside the objects of the source. */
  readonly extraObjects: readonly Json[]
  readonly suspend: boolean
  /** Its objects are removed, and it stays. */
  readonly uninstall: boolean
  /** Whose objects are taken over. */
  readonly adopt?: { readonly helmRelease?: string; readonly anyOwner: boolean }
  /** A pinned revision. */
  readonly revision?: number
  readonly historyLimit: number
}

/** One try to make a revision the active one. */
export interface InstallationAttempt {
  readonly revision: number
  /** Of the content of the revision. */
  readonly digest?: string
  /** Of the Installation, until it has succeeded: a changed spec starts it anew. */
  readonly observedGeneration?: number
  readonly startedAt: string
  readonly failures: number
  /** When it is repeated, after a failure. */
  readonly retryAt?: string
  readonly message?: string
  /** After a failure: the hooks of the rollback are over. */
  readonly isRemedied?: boolean
}

export interface InstallationHistoryEntry {
  readonly revision: number
  readonly version?: string
  readonly digest: string
  readonly state: 'Deployed' | 'Superseded' | 'Failed'
  readonly at: string
  readonly message?: string
}

export interface InstallationStatus extends StandardStatus {
  /** The active revision. */
  readonly revision?: number
  /** The last revision that was healthy as a whole. */
  readonly lastGood?: number
  /** `spec.releaseVersion` of the last good revision. */
  readonly releaseVersion?: string
  readonly version?: string
  readonly digest?: string
  /** With `interval`: what the source is now. */
  readonly artifact?: InstallationArtifact
  /** How many it has; they are named in the Revision. */
  readonly objects?: number
  readonly attempt?: InstallationAttempt
  /** The kinds that it has objects of. */
  readonly kinds?: readonly { readonly group: string; readonly version: string; readonly kind: string }[]
  /** The API versions that the chart asks about, and whether they are served. */
  readonly apis?: Readonly<Record<string, boolean>>
  readonly drifted?: readonly string[]
  /** Objects with the policy `create-once` that exist, or existed until users deleted them. */
  readonly createdOnce?: readonly string[]
  /** Objects that people have taken out of the protection. */
  readonly breakGlass?: readonly { readonly object: string; readonly reason: string; readonly since: string }[]
  /** Objects that are still being deleted. */
  readonly leaving?: readonly string[]
  readonly history?: readonly InstallationHistoryEntry[]
  readonly notes?: string
}

type WriteValuesReference = Pick<ValuesReference, 'kind' | 'name'> & Partial<ValuesReference>

type WriteSource = Omit<InstallationSource, 'kustomize'> & {
  readonly kustomize?: Partial<NonNullable<InstallationSource['kustomize']>>
}

interface InstallationKind extends TypedResource<InstallationObject>, Pick<Kind, 'definition' | 'crd'> {}

const durationText = { pattern: String.raw`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`, maxLength: 32 }
const duration = (description: string, value: string) => string({ description, default: value, ...durationText })
const digest = (description: string) => optional(string({ pattern: '^sha256:[0-9a-f]{64}$', description }))

const reference = (description: string) => optional(object({ name: string({ maxLength: 253 }) }, { description }))

export const sourceField: Field<InstallationSource, WriteSource, 'required'> = object(
  {
    oci: optional(
      object({
        url: string({ pattern: '^oci://', maxLength: 1024, description: 'oci://HOST/PATH/NAME' }),
        version: optional(
          string({ maxLength: 128, description: 'a version, a range or a tag; the newest release without one' }),
        ),
        digest: digest('the digest of the manifest in the registry: it wins over the version'),
        layer: digest('the digest of the only layer that is used: it wins over digest and version'),
        kind: oneOf(['Chart', 'Manifests', 'Kustomization'], {
          default: 'Chart',
          description: 'what the artifact is rendered as; a Kustomization without its file is Manifests',
        }),
        path: optional(string({ maxLength: 256, description: 'a folder of the artifact; all of it without one' })),
        secretRef: reference(
          'a Secret with username and password, or with the files of a registry login; ca.crt in it is the CA of the registry',
        ),
        plainHttp: optional(boolean({ description: 'for a registry inside of the cluster' })),
      }),
    ),
    helm: optional(
      object({
        url: string({ pattern: '^https?://', maxLength: 1024, description: 'the URL of a chart repository' }),
        chart: string({ maxLength: 128 }),
        version: optional(string({ maxLength: 128 })),
        secretRef: reference('a Secret with username and password; ca.crt in it is the CA of the server'),
      }),
    ),
    kustomize: optional(
      object({
        files: map(string(), { maxProperties: 500, description: 'the files of a kustomization, by path', default: {} }),
        configMapRef: reference('a ConfigMap whose keys are files'),
        path: optional(
          string({ maxLength: 256, description: 'the folder of the kustomization; the root without one' }),
        ),
      }),
    ),
    manifests: optional(
      object({
        text: optional(string({ description: 'YAML documents' })),
        configMapRef: reference('a ConfigMap whose values are YAML documents'),
      }),
    ),
    chart: optional(
      object(
        { files: map(string(), { maxProperties: 500 }) },
        { description: 'the files of a chart, by path: for small charts and for tests' },
      ),
    ),
    interval: optional(
      string({
        ...durationText,
        description:
          'how often a tag, a range or the index of a chart repository is resolved anew, at least 10s; without it only when ' +
          'the spec or the annotation platform.muster.dev/requestedAt changes',
      }),
    ),
  },
  {
    rules: [
      {
        rule: '[has(self.oci), has(self.helm), has(self.kustomize), has(self.manifests), has(self.chart)].filter(x, x).size() == 1',
        message: 'exactly one of oci, helm, kustomize, manifests and chart',
      },
      {
        rule: '!has(self.interval) || has(self.oci) || has(self.helm)',
        message: 'interval is for oci and helm: other sources are part of the Installation',
      },
    ],
  },
)

export const valuesFromField: Field<readonly ValuesReference[], readonly WriteValuesReference[], 'defaulted'> = list(
  object({
    kind: oneOf(['ConfigMap', 'Secret']),
    name: string({ maxLength: 253 }),
    key: string({ default: 'values.yaml', maxLength: 253 }),
    path: optional(
      string({
        maxLength: 512,
        description: 'where the value of the key is set, such as db.password; without it the key holds YAML',
      }),
    ),
    optional: boolean({ default: false }),
  }),
  { default: [], maxItems: 50, description: 'merged in order; values come last' },
)

type HealthField = Field<readonly HealthRule[], readonly HealthRule[], 'defaulted'>

export const healthField: HealthField = healthRules(
  'when objects of a kind are healthy, in CEL; others by the rules of kstatus',
)

export function healthRules(description: string): HealthField {
  const rule = object({
    apiVersion: string({ maxLength: 253 }),
    kind: string({ maxLength: 63 }),
    current: optional(string({ maxLength: 4096 })),
    failed: optional(string({ maxLength: 4096 })),
    inProgress: optional(string({ maxLength: 4096 })),
  })
  return list(rule, { default: [], maxItems: 20, description })
}

export const timeoutField: Field<string, string, 'defaulted'> = duration(
  'how long it may take until all of it is healthy',
  '5m',
)

const target = object({
  group: optional(string({ maxLength: 253 })),
  kind: optional(string({ maxLength: 63 })),
  name: optional(string({ maxLength: 253 })),
  namespace: optional(string({ maxLength: 63 })),
})

const historyEntry = object({
  revision: integer(),
  version: optional(string()),
  digest: string(),
  state: oneOf(['Deployed', 'Superseded', 'Failed']),
  at: string({ format: 'date-time' }),
  message: optional(string()),
})

export const Installation: InstallationKind = defineKind({
  group: 'platform.muster.dev',
  version: 'v1alpha1',
  kind: 'Installation',
  shortNames: ['inst'],
  categories: ['muster'],
  description: 'A chart, a kustomization or manifests, installed and kept as declared.',
  spec: {
    source: sourceField,
    releaseName: optional(
      string({ maxLength: 53, description: 'the name of the release; the name of the Installation without one' }),
    ),
    releaseVersion: optional(
      string({
        maxLength: 64,
        description: 'what the publisher calls this state of the source: in the status once all of it is healthy',
      }),
    ),
    targetNamespace: optional(
      string({ maxLength: 63, description: 'the namespace of objects that name none; its own without one' }),
    ),
    values: optional(anything({ description: 'values of a chart' })),
    valuesFrom: valuesFromField,
    skipSchemaValidation: boolean({
      default: false,
      description: 'values are not compared with values.schema.json, such as one that refers to a schema on the web',
    }),
    images: list(
      object({
        from: string({
          pattern: String.raw`^\S+$`,
          maxLength: 512,
          description: 'an image as the objects name it: NAME, NAME:TAG, or */NAME:TAG for any registry',
        }),
        to: string({
          pattern: String.raw`^\S+$`,
          maxLength: 512,
          description: 'the image to use: NAME keeps the tag, NAME:TAG and NAME@DIGEST replace it',
        }),
      }),
      { default: [], maxItems: 200, description: 'images of rendered objects, replaced by others' },
    ),
    dependsOn: list(object({ name: string({ maxLength: 253 }), namespace: optional(string({ maxLength: 63 })) }), {
      default: [],
      maxItems: 50,
      description: 'Installations that must be ready first',
    }),
    serviceAccountName: optional(
      string({ maxLength: 253, description: 'writes are made on behalf of this account, in its own namespace' }),
    ),
    timeout: timeoutField,
    drift: object(
      {
        mode: oneOf(['correct', 'warn', 'off'], {
          default: 'correct',
          description: 'objects that others changed or deleted: put right, reported with an Event, or left as they are',
        }),
        ignore: list(
          object({
            paths: list(string({ pattern: '^/', maxLength: 512 }), { maxItems: 50 }),
            target: optional(target),
          }),
          {
            default: [],
            maxItems: 50,
            description:
              'fields that are left to another manager that has taken them, as JSON pointers with * for any item',
          },
        ),
      },
      { default: {} },
    ),
    remediation: object(
      {
        strategy: oneOf(['rollback', 'uninstall', 'none'], { default: 'rollback' }),
        retries: integer({ default: 3, minimum: 0, maximum: 100 }),
        retryInterval: duration('before the first retry; doubled for each further one, up to an hour', '1m'),
      },
      { default: {} },
    ),
    prune: boolean({ default: true, description: 'objects that a new revision leaves out are deleted' }),
    deletion: oneOf(['delete', 'orphan'], {
      default: 'delete',
      description: 'what happens to the objects with the Installation',
    }),
    crds: oneOf(['apply', 'create-only', 'skip'], { default: 'apply' }),
    health: healthField,
    adopt: optional(
      object(
        {
          helmRelease: optional(
            string({ maxLength: 53, description: 'the name of a release of Helm in the target namespace' }),
          ),
          anyOwner: boolean({
            default: false,
            description: 'all of its objects that exist, but for those of another Installation',
          }),
        },
        { description: 'objects that are taken over, instead of being reported as those of another owner' },
      ),
    ),
    extraObjects: list(anything(), {
      default: [],
      maxItems: 50,
      description: 'objects beside those of the source, such as the first custom object of an operator',
    }),
    suspend: boolean({ default: false, description: 'nothing is written or deleted' }),
    uninstall: boolean({
      default: false,
      description: 'its objects are removed in order, and the Installation stays; false installs them again',
    }),
    revision: optional(
      integer({ minimum: 1, description: 'this revision, whatever the source says: a rollback that stays' }),
    ),
    historyLimit: integer({ default: 5, minimum: 1, maximum: 50 }),
  },
  status: {
    revision: optional(integer()),
    lastGood: optional(integer()),
    releaseVersion: optional(string()),
    version: optional(string()),
    digest: optional(string()),
    artifact: optional(object({ version: optional(string()), digest: optional(string()), source: string() })),
    objects: optional(
      integer({ description: 'how many there are; the Revision with the number in revision names each of them' }),
    ),
    attempt: optional(
      object({
        revision: integer(),
        digest: optional(string()),
        observedGeneration: optional(integer()),
        startedAt: string({ format: 'date-time' }),
        failures: integer(),
        retryAt: optional(string({ format: 'date-time' })),
        message: optional(string()),
        isRemedied: optional(boolean()),
      }),
    ),
    kinds: optional(list(object({ group: string(), version: string(), kind: string() }))),
    apis: optional(map(boolean())),
    drifted: optional(list(string())),
    breakGlass: optional(list(object({ object: string(), reason: string(), since: string({ format: 'date-time' }) }))),
    createdOnce: optional(list(string())),
    leaving: optional(
      list(string(), { description: 'objects that are still to be deleted, in this order; at most 50 are listed' }),
    ),
    history: optional(list(historyEntry)),
    notes: optional(string()),
  },
  columns: [
    { name: 'Revision', type: 'integer', jsonPath: '.status.revision' },
    { name: 'Version', type: 'string', jsonPath: '.status.version' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Message', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].message' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})
