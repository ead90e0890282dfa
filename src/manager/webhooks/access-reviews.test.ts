import { describe, expect, it } from 'vitest'
import { embedded } from '../../../test/embedded.ts'
import { Namespace, Secret } from '../../kube/kinds.ts'
import { clientErrors } from '../../client/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { AdmissionUser } from '../../operator/kind/webhook.ts'
import { accessFor, createAccessReviewer } from './access-reviews.ts'

const user: AdmissionUser = {
  username: 'ada',
  uid: 'u-1',
  groups: ['team', 'system:authenticated'],
  extra: new Map([['example.com/scope', ['read', 'write']]]),
}
const webhook = { name: 'wrappers', access: true }

describe('an access review', () => {
  it('names the user as the request did, and what is asked', async () => {
    const asked: unknown[] = []
    const reviewer = createAccessReviewer({
      discovery: embedded().client.discovery,
      create: (_resource, object) => {
        asked.push((object as unknown as { readonly spec: unknown }).spec)
        return Promise.resolve({ ...object, status: { allowed: asked.length === 1 } } as never)
      },
    })
    const { may } = accessFor(webhook, user, reviewer)
    const question = {
      verb: 'create',
      kind: { group: '', version: 'v1', kind: 'Secret' },
      namespace: 'n',
      subresource: 's',
    }
    // Equal questions are asked once.
    expect(await Promise.all([may(question), may({ ...question, kind: Secret })])).toEqual([true, true])
    expect(await may({ verb: 'delete', kind: Namespace, namespace: 'ignored', name: 'n' })).toBe(false)
    const identity = { user: 'ada', uid: 'u-1', groups: user.groups, extra: { 'example.com/scope': ['read', 'write'] } }
    expect(asked).toEqual([
      {
        ...identity,
        resourceAttributes: {
          verb: 'create',
          group: '',
          version: 'v1',
          resource: 'secrets',
          namespace: 'n',
          subresource: 's',
        },
      },
      {
        ...identity,
        resourceAttributes: { verb: 'delete', group: '', version: 'v1', resource: 'namespaces', name: 'n' },
      },
    ])
  })

  it('is not made for a kind that is not served, without a cluster, or without end', async () => {
    const { client } = embedded()
    const { may, resourceOf } = accessFor(webhook, user, createAccessReviewer(client))
    const kind = { group: 'example.org', version: 'v1', kind: 'Unheard' }
    expect(await resourceOf(kind)).toBeUndefined()
    const error: unknown = await may({ verb: 'create', kind }).catch((thrown: unknown) => thrown)
    expect(isMusterError(error, clientErrors.KindNotServed)).toBe(true)
    const ask = (index: number): Promise<boolean> => may({ verb: 'create', kind: Secret, namespace: `n-${index}` })
    const answers = await Promise.all(Array.from({ length: 256 }, (_, index) => ask(index)))
    expect(new Set(answers)).toEqual(new Set([false]))
    await expect(ask(256)).rejects.toThrow('asks more than 256 questions about one object')
    expect(await ask(0)).toBe(false)
    await expect(accessFor(webhook, user, undefined).may({ verb: 'get', kind: Secret })).rejects.toThrow(
      'there is no cluster',
    )
    const silent = accessFor({ ...webhook, access: false }, user, createAccessReviewer(client))
    await expect(silent.may({ verb: 'get', kind: Secret })).rejects.toThrow('Set access: true')
  })
})
