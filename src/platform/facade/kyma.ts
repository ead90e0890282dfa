/** The kind Kyma, as a façade: the modules of a cluster. */
import type { Named } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { anything, boolean, list, object, oneOf, optional, string } from '../../operator/kind/field.ts'
import { defineKind, type Kind, type StandardStatus } from '../../operator/kind/kind.ts'
import type { PlatformState } from '../components/platform.ts'
import { facadeAnnotation } from './facade-names.ts'

export interface KymaObject extends Named {
  readonly spec: KymaSpec
  readonly status?: KymaStatus
}

interface KymaSpec {
  readonly channel: string
  readonly skipMaintenanceWindows?: boolean
  readonly modules: readonly KymaModule[]
}

interface KymaModule {
  readonly name: string
  readonly channel?: string
  readonly version?: string
  readonly controller?: string
  readonly customResourcePolicy: 'CreateAndDelete' | 'Ignore'
  readonly managed: boolean
  readonly remoteModuleTemplateRef?: string
}

interface KymaStatus extends StandardStatus {
  readonly state?: PlatformState
  readonly activeChannel?: string
  readonly modules?: readonly ModuleStatus[]
  readonly lastOperation?: { readonly operation: string; readonly lastUpdateTime: string }
}

export interface ModuleStatus {
  readonly name: string
  readonly channel?: string
  readonly version?: string
  readonly state: PlatformState | 'Unmanaged'
  readonly message?: string
  readonly maintenance?: boolean
}

interface KymaKind extends TypedResource<KymaObject>, Pick<Kind, 'definition' | 'crd'> {}

const channel = string({ pattern: '^[a-z]+$', minLength: 3, maxLength: 32 })
const states = ['Ready', 'Processing', 'Warning', 'Error', 'Deleting'] as const

export const Kyma: KymaKind = defineKind({
  group: 'operator.kyma-project.io',
  version: 'v1beta2',
  kind: 'Kyma',
  annotations: { [facadeAnnotation]: 'kyma' },
  description: 'Modules of Kyma, mapped onto Platform default.',
  spec: {
    channel,
    skipMaintenanceWindows: optional(boolean()),
    modules: list(
      object({
        name: string({ minLength: 1, maxLength: 253 }),
        channel: optional(channel),
        version: optional(string({ maxLength: 64 })),
        controller: optional(string({ maxLength: 253 })),
        customResourcePolicy: oneOf(['CreateAndDelete', 'Ignore'], { default: 'CreateAndDelete' }),
        managed: boolean({ default: true }),
        remoteModuleTemplateRef: optional(string({ maxLength: 253 })),
      }),
      { default: [], maxItems: 200, sharedBy: ['name'] },
    ),
    sync: optional(anything({ description: 'of earlier versions: without effect' })),
  },
  status: {
    state: optional(oneOf(states)),
    activeChannel: optional(string()),
    modules: optional(
      list(
        object({
          name: string(),
          channel: optional(string()),
          version: optional(string()),
          state: oneOf([...states, 'Unmanaged']),
          message: optional(string()),
          maintenance: optional(boolean()),
        }),
        { sharedBy: ['name'] },
      ),
    ),
    lastOperation: optional(object({ operation: string(), lastUpdateTime: string({ format: 'date-time' }) })),
  },
  columns: [{ name: 'State', type: 'string', jsonPath: '.status.state' }],
})
