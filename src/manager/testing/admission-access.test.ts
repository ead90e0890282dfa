import { afterEach, describe, expect, it } from 'vitest'
import { inProcessTransport } from '../../client/in-process.ts'
import { createClient } from '../../client/create-client.ts'
import { parseApiVersion } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { forbiddenValue, type Cause } from '../../kube/validation/cause.ts'
import { defineController } from '../../operator/controller.ts'
import { anything, list, string } from '../../operator/kind/field.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { type Admission, defineWebhook } from '../../operator/kind/webhook.ts'
import { defineOperator, type Operator } from '../../operator/operator.ts'
import { readConfiguration } from '../config/configuration.ts'
import { managerRules } from '../runtime/manager-role.ts'
import { describeOperator } from '../isolation/protocol/description.ts'
import { openTestEnvironment, type TestEnvironment } from './test-environment.ts'

const Wrapper = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Wrapper',
  spec: { objects: list(anything()) },
  status: { note: string() },
})

let environment: TestEnvironment | undefined
afterEach(() => environment?.close())

/** Users may wrap what they may create themselves. */
async function refusalsOf({ object, namespace, may, resourceOf }: Admission<UntypedObject>): Promise<readonly Cause[]> {
  const { objects } = object['spec'] as { readonly objects: readonly UntypedObject[] }
  const causes: Cause[] = []
  for (const [index, { apiVersion, kind }] of objects.entries()) {
    const place = `spec.objects[${index}]`
    const resource = await resourceOf({ ...parseApiVersion(apiVersion), kind })
    if (!resource) causes.push(forbiddenValue(place, `there is no kind ${kind}`))
    else if (!(await may({ verb: 'create', kind: resource, namespace })))
      causes.push(forbiddenValue(place, `you may not create ${resource.plural}`))
  }
  return causes
}

function wrapping(access: boolean, name = 'wrapping'): Operator {
  const webhook = defineWebhook({ for: Wrapper, access, validate: refusalsOf as never })
  return defineOperator({ name, controllers: [defineController({ for: Wrapper })], webhooks: [webhook] })
}

const wrapper = (name: string, kinds: readonly (readonly [string, string])[]): UntypedObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Wrapper',
  metadata: { name, namespace: 'default' },
  spec: { objects: kinds.map(([apiVersion, kind]) => ({ apiVersion, kind, metadata: { name: 'a' } })) },
})

/** As a user who may create wrappers and ConfigMaps in one namespace. */
async function open(operator: Operator) {
  environment = await openTestEnvironment(operator)
  const { client, server, clock } = environment
  const rule = (apiGroup: string, resource: string) => ({
    apiGroups: [apiGroup],
    resources: [resource],
    verbs: ['create'],
  })
  const rbac = 'rbac.authorization.k8s.io'
  const metadata = { name: 'authors', namespace: 'default' }
  const objects: UntypedObject[] = [
    {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata,
      rules: [rule('example.com', 'wrappers'), rule('', 'configmaps')],
    },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'authors' },
      subjects: [{ apiGroup: rbac, kind: 'Group', name: 'team' }],
    },
  ]
  for (const object of objects) {
    const resource = await client.discovery.resourceFor({ group: rbac, version: 'v1', kind: object.kind })
    await client.create(resource!, object)
  }
  const transport = inProcessTransport(server)
  const user = createClient({
    clock,
    transport: {
      ...transport,
      send: (request) =>
        transport.send({
          ...request,
          headers: { ...request.headers, 'impersonate-user': 'ada', 'impersonate-group': 'team' },
        }),
    },
  })
  return { user, client }
}

describe('a webhook that asks for access', () => {
  it('learns what the user of the request may do, groups included', async () => {
    const { user, client } = await open(wrapping(true))
    await user.create(Wrapper, wrapper('allowed', [['v1', 'ConfigMap']]))
    await expect(
      user.create(
        Wrapper,
        wrapper('refused', [
          ['v1', 'ConfigMap'],
          ['v1', 'Secret'],
          ['apps/v1', 'Deployment'],
          ['example.org/v1', 'Unheard'],
        ]),
      ),
    ).rejects.toThrow(
      /\[spec\.objects\[1\]: Forbidden: you may not create secrets, spec\.objects\[2\]: Forbidden: you may not create deployments, spec\.objects\[3\]: Forbidden: there is no kind Unheard\]/,
    )
    // An administrator may create anything.
    await client.create(Wrapper, wrapper('admin', [['v1', 'Secret']]))
  })

  it('must declare that, and then the manager gets the right to ask, and no other one does', async () => {
    const { user } = await open(wrapping(false))
    await expect(user.create(Wrapper, wrapper('one', [['v1', 'ConfigMap']]))).rejects.toThrow(
      /failed \(InvalidWebhook\)/,
    )
    const rightsOf = (operator: Operator): readonly string[] =>
      managerRules({ settings: readConfiguration([], [operator]).settings, operators: [operator] }).flatMap(
        ({ rules }) =>
          rules.flatMap(({ resources = [], verbs }) => resources.map((resource) => `${verbs.join()} ${resource}`)),
      )
    expect(rightsOf(wrapping(true))).toContain('create subjectaccessreviews')
    expect(rightsOf(wrapping(false)).join()).not.toContain('subjectaccessreviews')
    expect(() => describeOperator(wrapping(true))).toThrow(
      "has the webhook wrappers, which asks for access: the manager's process does that. Set isolation: inline",
    )
  })
})
