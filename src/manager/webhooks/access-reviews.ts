/**
 * Access reviews for webhooks: whether the user of an admission request may do something, as the API server's authorizer says
 * (SubjectAccessReview). A webhook asks before it lets a user have objects created on their behalf, which the user may not create.
 */
import type { Client } from '../../client/client.ts'
import { clientErrors } from '../../client/errors.ts'
import { formatApiVersion, type GroupVersionKind, type Resource } from '../../kube/kind.ts'
import { MusterError } from '../../kube/muster-error.ts'
import type { KubeObject } from '../../kube/object.ts'
import { resourceOf, type TypedResource } from '../../kube/typed-resource.ts'
import type { SubjectAccessReview, SubjectAccessReviewSpec } from '../../kube/types/authorization/v1.ts'
import { operatorErrors } from '../../operator/errors.ts'
import type { AccessAttributes, AdmissionAccess, AdmissionUser, Webhook } from '../../operator/kind/webhook.ts'

/** Asks the cluster whose objects are reviewed. */
export interface AccessReviewer {
  allows(user: AdmissionUser, attributes: ResolvedAttributes): Promise<boolean>
  resourceOf(kind: GroupVersionKind): Promise<Resource | undefined>
}

type ResolvedAttributes = Omit<AccessAttributes, 'kind'> & { readonly kind: Resource }

export const accessReviews: TypedResource<SubjectAccessReview & KubeObject> = resourceOf<
  SubjectAccessReview & KubeObject
>('authorization.k8s.io/v1', 'SubjectAccessReview')

/** Different questions about one object. Equal ones are asked once. */
const mostQuestions = 256

/** Kinds are looked up in the client's discovery, which is cached, also for kinds that do not exist. */
export function createAccessReviewer(client: Pick<Client, 'create' | 'discovery'>): AccessReviewer {
  return {
    async allows(user, attributes) {
      const spec = specOf(user, attributes)
      const question: SubjectAccessReview = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        metadata: {},
        spec,
      }
      const { status } = await client.create(accessReviews, question)
      return status?.allowed === true
    },
    async resourceOf(kind) {
      const found = await client.discovery.resourceFor(kind)
      if (!found) return undefined
      const { group, version, kind: name, plural, namespaced } = found
      return { group, version, kind: name, plural, namespaced }
    },
  }
}

function specOf(
  { username, uid, groups, extra }: AdmissionUser,
  { verb, kind, namespace, name, subresource }: ResolvedAttributes,
): SubjectAccessReviewSpec {
  return {
    user: username,
    ...(uid !== '' && { uid }),
    groups,
    extra: Object.fromEntries(extra),
    resourceAttributes: {
      verb,
      group: kind.group,
      version: kind.version,
      resource: kind.plural,
      ...(kind.namespaced && namespace !== undefined && { namespace }),
      ...(name !== undefined && { name }),
      ...(subresource !== undefined && { subresource }),
    },
  }
}

/** What the functions of a webhook may ask about one object. `reviewer`: none where there is no cluster. */
export function accessFor(
  { name, access }: Pick<Webhook, 'name' | 'access'>,
  user: AdmissionUser,
  reviewer: AccessReviewer | undefined,
): AdmissionAccess {
  const known = new Map<string, Promise<boolean>>()
  const checked = (): AccessReviewer => {
    if (!access) {
      const why = `the webhook ${name} asks for access, which it does not declare. Set access: true`
      throw new MusterError(operatorErrors.InvalidWebhook, `${why}.`)
    }
    if (reviewer) return reviewer
    throw new MusterError(operatorErrors.NeedsCluster, `the webhook ${name} asks for access, and there is no cluster.`)
  }
  const resolved = async (kind: GroupVersionKind | Resource): Promise<Resource> => {
    if ('plural' in kind) return kind
    const found = await checked().resourceOf(kind)
    if (found) return found
    const what = `${kind.kind} of ${formatApiVersion(kind)}`
    throw new MusterError(
      clientErrors.KindNotServed,
      `the cluster does not serve ${what}: access to it cannot be reviewed.`,
    )
  }
  return {
    async resourceOf(kind) {
      return await checked().resourceOf(kind)
    },
    async may(attributes) {
      const asked = checked()
      const kind = await resolved(attributes.kind)
      const { verb, namespace, name: object, subresource } = attributes
      const key = JSON.stringify([verb, kind.group, kind.plural, namespace, object, subresource])
      if (!known.has(key) && known.size >= mostQuestions) {
        const why = `the webhook ${name} asks more than ${mostQuestions} questions about one object`
        throw new MusterError(operatorErrors.InvalidWebhook, `${why}.`)
      }
      const answer = known.get(key) ?? asked.allows(user, { ...attributes, kind })
      known.set(key, answer)
      return await answer
    },
  }
}
