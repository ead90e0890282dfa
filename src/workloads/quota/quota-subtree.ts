/**
 * QuotaSubtree: the children of one node of a quota tree. The label `tree` says which tree; several objects build one tree, and all
 * trees are one forest. The fields are those of MCAD, so that its manifests apply unchanged.
 */
import type { Named } from '../../kube/object.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { boolean, list, map, object, optional, quantity, string } from '../../operator/kind/field.ts'
import { defineKind, type Kind, type StandardStatus } from '../../operator/kind/kind.ts'

export interface QuotaSubtreeObject extends Named {
  readonly spec: { readonly parent?: string; readonly children?: readonly QuotaSubtreeChild[] }
  readonly status?: StandardStatus
}

interface QuotaSubtreeChild {
  readonly name?: string
  readonly quotas?: {
    readonly requests?: Readonly<Record<string, string | number>>
    readonly hardLimit?: boolean
    readonly disabled?: boolean
  }
}

interface QuotaSubtreeKind extends TypedResource<QuotaSubtreeObject>, Pick<Kind, 'definition' | 'crd'> {}

const amounts = (description: string) => map(quantity(), { maxProperties: 100, description })

export const QuotaSubtree: QuotaSubtreeKind = defineKind({
  group: 'quota.codeflare.dev',
  version: 'v1alpha1',
  kind: 'QuotaSubtree',
  description: 'Children of a node in a quota tree. The label tree names the tree.',
  spec: {
    parent: optional(string({ maxLength: 253, description: 'The node whose children these are. Omitted: roots.' })),
    parentNamespace: optional(string({ description: 'Kept; without effect.' })),
    children: optional(
      list(
        object({
          name: optional(
            string({ maxLength: 253, description: 'Unique in the tree. AppWrappers name it by a label.' }),
          ),
          namespace: optional(string({ description: 'Kept; without effect.' })),
          path: optional(string({ description: 'Kept; without effect.' })),
          quotas: optional(
            object({
              requests: optional(amounts('By resource, with all that is below the node.')),
              hardLimit: optional(boolean({ description: 'It does not borrow. Omitted: it does.' })),
              disabled: optional(boolean({ description: 'Kept; without effect, as in MCAD.' })),
            }),
          ),
        }),
        { maxItems: 1000 },
      ),
    ),
  },
  columns: [
    { name: 'Tree', type: 'string', jsonPath: '.metadata.labels.tree' },
    { name: 'Parent', type: 'string', jsonPath: '.spec.parent' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason', priority: 1 },
  ],
})
