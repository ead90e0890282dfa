/** Words for tests of components that come with Muster. */
import { onTestFinished } from 'vitest'
import { createSharedCache } from '../src/cache/shared-cache.ts'
import type { Client } from '../src/client/client.ts'
import { createClient } from '../src/client/create-client.ts'
import { inProcessTransport } from '../src/client/in-process.ts'
import { seededRandom } from '../src/clock/random.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import type { TypedResource } from '../src/kube/typed-resource.ts'
import { hostOperator } from '../src/manager/hosting/host.ts'
import type { Operator } from '../src/operator/operator.ts'
import { Component } from '../src/platform/catalogue/component.ts'
import { ComponentVersion } from '../src/platform/catalogue/component-version.ts'
import { crds } from './embedded.ts'
import type { PlatformEnvironment } from './platform-environment.ts'

const kinds: readonly TypedResource[] = [Component, ComponentVersion]

/** As an administrator applies them. */
export async function publishBundled(env: PlatformEnvironment, objects: readonly UntypedObject[]): Promise<void> {
  for (const object of objects)
    await env.client.create(
      kinds.find(({ kind }) => kind === object.kind)!,
      object,
    )
}

/** Hosts the operator as a Pod of its component does: as its service account, whose client is returned. */
export async function hostComponent(env: PlatformEnvironment, operator: Operator, crd: string): Promise<Client> {
  const { clock, server } = env
  const random = seededRandom(2)
  const user = `system:serviceaccount:muster-system:${operator.name}`
  const transport = inProcessTransport(server)
  const client = createClient({
    transport: {
      ...transport,
      send: (request) => transport.send({ ...request, headers: { ...request.headers, 'impersonate-user': user } }),
    },
    clock,
    random,
  })
  const cache = createSharedCache({ client, clock, random })
  const host = hostOperator({ operator, client, cache, clock })
  const during = async (work: Promise<unknown>): Promise<void> => {
    let isDone = false
    const noting = work.finally(() => (isDone = true))
    await clock.until(() => isDone)
    await noting
  }
  // What a manager does before it hosts an operator with a façade or a conversion.
  await during(client.get(crds, { name: crd }))
  await during(host.start())
  onTestFinished(async () => {
    await during(host.stop())
    cache.close()
    await client.close()
  })
  return client
}
