import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { emptyFolder } from '../../../test/project.ts'
import { builtinResources } from '../../kube/builtin.ts'
import { readYaml } from '../../kube/yaml/yaml.ts'
import type { JsonObject } from '../../kube/json.ts'
import { ClusterRole, ConfigMap } from '../../kube/kinds.ts'
import { defineController } from '../../operator/controller.ts'
import { defineKind } from '../../operator/kind/kind.ts'
import { defineOperator } from '../../operator/operator.ts'
import { defineDependent } from '../../operator/dependent/dependent.ts'
import command from './generate.ts'
import { builtinKind, readKindName } from './dependent-kind.ts'
import { initialData } from './manifest.ts'
import { accessObjects, rbacFiles } from './rbac.ts'

const ignore = (): void => undefined

async function generate(words: readonly string[], flags: Readonly<Record<string, string>> = {}): Promise<number> {
  return await command.run({
    flags,
    positionals: words,
    out: ignore,
    err: ignore,
    signal: new AbortController().signal,
  })
}

describe('muster generate', () => {
  it.each([
    [[], {}, 'say what to generate: crd, types, docs, rbac, deploy, dependent.'],
    [
      ['dependant'],
      {},
      'nothing called "dependant" is generated: crd, types, docs, rbac, deploy, dependent. Did you mean "dependent"?',
    ],
    [['__proto__', 'x'], {}, 'nothing called "__proto__" is generated'],
    [['crd'], {}, 'generate crd takes one MODULE.'],
    [['crd', 'a', 'b'], {}, 'generate crd takes one MODULE.'],
    [['crd', 'a'], { from: 'b' }, 'generate crd has no --from.'],
    [['types', 'none.yaml'], {}, 'none.yaml cannot be read.'],
    [['dependent', 'Service'], {}, 'say whose CRs the dependent is kept for: --for MODULE#KIND.'],
  ] as const)('explains %j %j', async (words, flags, message) => {
    await expect(generate(words, flags)).rejects.toMatchObject({
      name: 'InvalidFlag',
      message: expect.stringContaining(message),
    })
  })

  it('reports what a manifest contains instead', async () => {
    const folder = await emptyFolder()
    const kind = path.join(folder, 'kind.mjs')
    const from = path.join(folder, 'all.yaml')
    await writeFile(kind, `export const A = { kind: 'A', definition: {}, crd: () => ({}) }`)
    await writeFile(from, 'apiVersion: v1\nkind: Pod\n---\nkind: 5\n---\nplain\n')
    await expect(generate(['dependent', 'svc'], { for: kind, from })).rejects.toThrow('holds no svc; it holds Pod.')
  })
})

describe('kind documentation', () => {
  it('describes fields and the life cycle of a kind', async () => {
    const folder = await emptyFolder()
    await generate(['docs', 'examples/database/operator.ts'], { out: folder })
    const page = readFileSync(path.join(folder, 'databases.db.example.com.md'), 'utf8')
    expect(page).toContain('| `tokenFrom` | text | required | A Secret whose `token` opens the sidecar. |')
    expect(page).toContain('stateDiagram-v2')
    expect(page).toContain('| servicing | transient, can be requested | backup | running |')
  })
})

describe('the kind of a dependent', () => {
  const find = (text: string): string => builtinKind(readKindName(text)).apiVersion

  it('is found by any of its names, at its preferred version', () => {
    expect(['Deployment', 'deployment', 'deploy', 'deployments'].map(find)).toEqual(Array(4).fill('apps/v1'))
    expect(find('hpa')).toBe('autoscaling/v2')
    expect(find('autoscaling/v1/hpa')).toBe('autoscaling/v1')
    expect(find('v1/Event')).toBe('v1')
  })

  it.each([
    ['Event', 'InvalidFlag', 'say v1/Event or events.k8s.io/v1/Event'],
    ['Deploment', 'UnknownKind', 'Did you mean "Deployment"?'],
    ['apps/v2/Deployment', 'UnknownKind', 'there is no built-in kind "Deployment" in apps/v2.'],
    ['TokenReview', 'UnknownKind', 'is no kind whose objects could be kept'],
    ['__proto__', 'UnknownKind', 'there is no built-in kind "__proto__"'],
  ])('is explained when missing: %s', (text, name, message) => {
    expect(() => find(text)).toThrow(expect.objectContaining({ name, message: expect.stringContaining(message) }))
  })

  it('has its types in the package, whichever it is', () => {
    for (const { group, version, kind, verbs } of builtinResources()) {
      if (!['create', 'delete', 'list', 'patch', 'watch'].every((verb) => verbs.includes(verb))) continue
      const apiVersion = group === '' ? version : `${group}/${version}`
      const { imports, expression } = builtinKind({ word: kind, apiVersion })
      const [, place] = /from '@muster-dev\/muster\/(.+)'/.exec(imports[0] ?? '') ?? []
      const file = place === undefined ? undefined : new URL(`../../${place}.ts`, import.meta.url)
      const hasType = file ? existsSync(file) && readFileSync(file, 'utf8').includes(`interface ${kind} `) : true
      expect({ kind, apiVersion, hasType }).toEqual({ kind, apiVersion, hasType: true })
      expect(expression).toContain(kind)
    }
  })
})

describe('the initial data of a dependent', () => {
  const read = (yaml: string): JsonObject => initialData(readYaml(yaml) as JsonObject).data

  it("is the author's part of a manifest", () => {
    const service = `{ apiVersion: v1, kind: Service, metadata: { name: a, namespace: b, uid: c, resourceVersion: '1',
      creationTimestamp: x, managedFields: [], ownerReferences: [], finalizers: [], generation: 1, selfLink: y,
      labels: {}, annotations: { kubectl.kubernetes.io/last-applied-configuration: z } },
      spec: { clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ports: [{ port: 80, name: null }] }, status: { loadBalancer: {} } }`
    expect(read(service)).toEqual({ spec: { ports: [{ port: 80 }] } })
    expect(read('{ kind: Service, spec: { clusterIP: None } }')).toEqual({ spec: { clusterIP: 'None' } })
    expect(read('{ kind: ConfigMap, data: { a: b }, metadata: { labels: { c: d } } }')).toEqual({
      metadata: { labels: { c: 'd' } },
      data: { a: 'b' },
    })
  })

  it('contains no values of a Secret', () => {
    const secret = readYaml('{ kind: Secret, type: Opaque, data: { a: c2VjcmV0 }, stringData: { b: secret } }')
    expect(initialData(secret as JsonObject)).toEqual({ data: { type: 'Opaque' }, hasSecrets: true })
  })
})

describe('the access of an operator', () => {
  const Tenant = defineKind({ group: 'example.com', version: 'v1', kind: 'Tenant', scope: 'Cluster', spec: {} })
  const config = defineDependent({ for: Tenant, kind: ConfigMap, namespace: () => 'a' })
  const tenants = defineController({ for: Tenant, dependents: [config], reads: [ClusterRole] })
  const operator = defineOperator({ name: 'tenants', controllers: [tenants] })

  it('is a service account, a role and its binding', () => {
    const objects = accessObjects(operator, { name: 'other', account: 'ops' })
    expect(objects.map(({ kind, metadata }) => [kind, metadata.name, metadata.namespace])).toEqual([
      ['ServiceAccount', 'other', 'ops'],
      ['ClusterRole', 'other', undefined],
      ['ClusterRoleBinding', 'other', undefined],
    ])
    expect(objects[2]).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: 'other' },
      subjects: [{ kind: 'ServiceAccount', name: 'other', namespace: 'ops' }],
    })
  })

  it('has cluster-scoped resources in a ClusterRole, and the rest in a Role for each namespace', () => {
    const objects = accessObjects(operator, { namespaces: ['a', 'b'] })
    const resources = (kind: string): readonly string[] =>
      objects
        .filter((object) => object.kind === kind)
        .flatMap((object) => (object as ClusterRole).rules ?? [])
        .flatMap((rule) => rule.resources ?? [])
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}`)).toEqual([
      'ServiceAccount a',
      'ClusterRole ',
      'ClusterRoleBinding ',
      'Role a',
      'RoleBinding a',
      'Role b',
      'RoleBinding b',
    ])
    expect(new Set(resources('Role'))).toEqual(new Set(['configmaps', 'events']))
    expect(new Set(resources('ClusterRole'))).toEqual(
      new Set(['customresourcedefinitions', 'tenants', 'tenants/status', 'tenants/finalizers', 'clusterroles']),
    )
  })

  it('includes the role of the manager: it may lead unless the settings say otherwise', async () => {
    const file = fileURLToPath(new URL('../../../examples/memcached/operator.ts', import.meta.url))
    const leases = async (flags: Parameters<typeof rbacFiles>[1]): Promise<readonly string[]> => {
      const [made] = await rbacFiles(file, flags)
      return made!.text.split('---\n').filter((document) => document.includes('- leases'))
    }
    const [role] = await leases({})
    expect(role).toMatch(/kind: Role\nmetadata:\n {2}name: memcached-manager\n {2}namespace: default\n/)
    expect(await leases({ set: ['leaderElection.leaderElect=false'] })).toEqual([])
    const [shared] = await leases({ set: ['sharding.enabled=true', 'sharding.namespace=ops'] })
    expect(shared).toMatch(/namespace: ops\n[^]*- watch/)
  })

  it('has valid names', () => {
    expect(() => accessObjects(operator, { name: 'A b' })).toThrow('--name "A b"')
    expect(() => accessObjects(operator, { account: '' })).toThrow('--account ""')
  })
})
