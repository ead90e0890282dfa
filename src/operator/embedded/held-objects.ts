/**
 * The live objects of a holder, of any kind: their metadata with `managedFields`, and the fields that their health depends on.
 * Which kinds there are is known only at run time, so a kind is watched from the first question on; until it is loaded, the
 * question waits.
 */
import type { GroupVersionKind, Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import type { ObjectName } from '../view/view.ts'
import type { NeededFields } from './needed-fields.ts'

export interface HeldObjects {
  /** The resource of a kind; undefined if the cluster does not serve it. A change requeues the CR that asked. */
  resourceOf(kind: GroupVersionKind): Promise<Resource | undefined>
  /**
   * Which of these the cluster serves: API versions (`apps/v1`) and kinds of them (`apps/v1/Deployment`); without a list, all
   * that it serves, sorted. A CRD that changes an answer requeues the CR that asked.
   */
  served(apis?: readonly string[]): Promise<readonly string[]>
  /** The version of the API server, such as `v1.33.4`, as it was when the kinds that it serves changed last. */
  serverVersion(): Promise<string>
  /** The objects that carry the label with this value. A change of one requeues the CR that asked. */
  list(resource: Resource, holder: string, fields: NeededFields): Promise<readonly UntypedObject[]>
  /** As `list`, from the API server: a cache may be behind, and what is missed before the end of a CR stays for ever. */
  confirm(resource: Resource, holder: string): Promise<readonly UntypedObject[]>
  /** All objects of a resource, by any author: their metadata, and fields. A change of one requeues the CR that asked. */
  all(resource: Resource, options?: HeldAllOptions): Promise<readonly UntypedObject[]>
  /**
   * One object by any author, as a whole, from the API server; undefined if there is none. Nothing is watched: for a decision that
   * is made once and recorded.
   */
  read(resource: Resource, name: ObjectName, options?: HeldReadOptions): Promise<UntypedObject | undefined>
  /** As `read`, a page of all objects. */
  page(resource: Resource, options?: HeldPageOptions): Promise<HeldPage>
}

export interface HeldAllOptions {
  /** @default false */
  readonly managedFields?: boolean | undefined
  /** Paths beside the metadata, such as `spec.name`. @default none */
  readonly fields?: readonly string[] | undefined
}

export interface HeldReadOptions {
  /** The service account that reads. @default the operator's own */
  readonly as?: ObjectName | undefined
}

export interface HeldPageOptions extends HeldReadOptions {
  /** @default all of them */
  readonly namespace?: string | undefined
  /** @default 500 */
  readonly limit?: number | undefined
  /** `next` of the page before. @default the first page */
  readonly after?: string | undefined
}

export interface HeldPage {
  readonly items: readonly UntypedObject[]
  /** Undefined: it was the last one. */
  readonly next: string | undefined
}
