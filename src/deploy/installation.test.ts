import { describe, expect, it } from 'vitest'
import { describeInstallation, wholeInstallation } from '../../test/installation.ts'
import { isJsonObject, type Json, type JsonObject } from '../kube/json.ts'
import { readYaml, readYamlDocuments } from '../kube/yaml/yaml.ts'
import { installationFiles } from './files.ts'
import { installationObjects, resolvedObjects, releaseScope } from './installation.ts'
import { plainObjects } from './kustomize.ts'
import { defaultValues, valuesSchema, valueTable, withValue } from './values.ts'

const whole = wholeInstallation()
const table = valueTable(whole)
const defaults = defaultValues(table)
const set = (...pairs: readonly (readonly [string, Json])[]): JsonObject =>
  pairs.reduce((values, [path, value]) => withValue(values, path.split('.'), value), defaults)
const objectsWith = (values: JsonObject, release = { name: 'town', namespace: 'town-system' }): readonly JsonObject[] =>
  resolvedObjects(installationObjects(whole), releaseScope(values, release))
const nameOf = (object: JsonObject): string => {
  const { kind, metadata } = object as { readonly kind: string; readonly metadata: Record<string, string> }
  return `${kind} ${metadata['namespace'] ?? ''}/${metadata['name']}`
}
const find = (objects: readonly JsonObject[], name: string): JsonObject => objects.find((one) => nameOf(one) === name)!

describe('an installation', () => {
  it('has the objects that an administrator expects', () => {
    expect(objectsWith(defaults).map(nameOf)).toEqual([
      'CustomResourceDefinition /gates.install.example.com',
      'CustomResourceDefinition /roads.install.example.com',
      'ServiceAccount town-system/town',
      'ServiceAccount town-system/gate-keeper',
      'ClusterRole /town',
      'ClusterRoleBinding /town',
      'Role town-system/town',
      'RoleBinding town-system/town',
      'Role town-system/town-leases',
      'RoleBinding town-system/town-leases',
      'ClusterRole /town-gate-keeper',
      'ClusterRoleBinding /town-gate-keeper',
      'ClusterRole /town-gate-keeper-reads',
      'ClusterRoleBinding /town-gate-keeper-reads',
      'ClusterRole /town-roads',
      'ClusterRoleBinding /town-roads',
      'Role north/town-roads',
      'RoleBinding north/town-roads',
      'Role south/town-roads',
      'RoleBinding south/town-roads',
      'ConfigMap town-system/town',
      'Lease town-system/town',
      'ConfigMap town-system/town-quarantine',
      'Secret town-system/town-webhook-certificates',
      'ValidatingWebhookConfiguration /muster-gate-keeper',
      'MutatingWebhookConfiguration /muster-gate-keeper',
      'Service town-system/town-metrics',
      'Service town-system/town-webhooks',
      'Deployment town-system/town',
      'PodDisruptionBudget town-system/town',
      'NetworkPolicy town-system/town',
    ])
  })

  it('has no name twice, and the labels of its installation everywhere but on CRDs', () => {
    const objects = objectsWith(
      set(['serviceMonitor.enabled', true], ['prometheusRule.enabled', true], ['dashboard.enabled', true]),
    )
    expect(new Set(objects.map(nameOf)).size).toBe(objects.length)
    for (const object of objects) {
      if (object['kind'] === 'CustomResourceDefinition') continue
      expect(object).toMatchObject({ metadata: { labels: { 'app.kubernetes.io/instance': 'town' } } })
    }
  })

  it('moves to another name and namespace as a whole', () => {
    const text = JSON.stringify(
      objectsWith(defaults, { name: 'city', namespace: 'city-ops' }).filter((one) => one['kind'] !== 'ConfigMap'),
    )
    expect(text).not.toContain('town-system')
    expect(text.replaceAll('"app.kubernetes.io/name":"town"', '').replaceAll('town/operators', '')).not.toContain(
      'town',
    )
    // Kubernetes expands it.
    expect(text).toContain('"$(POD_NAMESPACE)/gate-keeper"')
    expect(text).toContain('"MUSTER__clusters__west__secret","value":"$(POD_NAMESPACE)/west"')
  })

  it('runs without privileges, on a read-only root', () => {
    expect(find(objectsWith(defaults), 'Deployment town-system/town')).toMatchObject({
      spec: {
        replicas: 2,
        template: {
          spec: {
            securityContext: { runAsNonRoot: true, runAsUser: 65_532, seccompProfile: { type: 'RuntimeDefault' } },
            containers: [
              {
                image: 'town/operators:1.2.3',
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { drop: ['ALL'] },
                },
                resources: { limits: { memory: '512Mi' } },
                livenessProbe: { httpGet: { path: '/healthz' } },
                readinessProbe: { httpGet: { path: '/readyz' } },
              },
            ],
          },
        },
      },
    })
  })

  it('grants each operator what it declares: writes to its own account, reads to the manager that caches for all', () => {
    const objects = objectsWith(defaults)
    const verbs = (name: string): readonly string[] => {
      const { rules } = find(objects, name) as unknown as {
        readonly rules: readonly { readonly verbs: readonly string[] }[]
      }
      return [...new Set(rules.flatMap((rule) => rule.verbs))].toSorted()
    }
    expect(verbs('ClusterRole /town-gate-keeper-reads')).toEqual(['list', 'watch'])
    expect(verbs('ClusterRole /town-gate-keeper')).toEqual(['create', 'delete', 'get', 'patch', 'update'])
    const subject = (name: string): Json => (find(objects, name)['subjects'] as readonly Json[])[0]!
    expect(subject('ClusterRoleBinding /town-gate-keeper')).toMatchObject({ name: 'gate-keeper' })
    expect(subject('ClusterRoleBinding /town-gate-keeper-reads')).toMatchObject({ name: 'town' })
    expect(subject('RoleBinding north/town-roads')).toMatchObject({ name: 'town', namespace: 'town-system' })
  })

  it('states on the roles that watch what is watched of the kinds that they may list', () => {
    const annotated = objectsWith(defaults).flatMap((object) => {
      const { annotations = {} } = object['metadata'] as { readonly annotations?: Readonly<Record<string, string>> }
      return 'muster.dev/watches' in annotations ? [[nameOf(object), annotations['muster.dev/watches']]] : []
    })
    const roads = 'configmaps/v1 */[app.kubernetes.io/managed-by=roads]; roads.install.example.com/v1'
    expect(annotated).toEqual([
      [
        'ClusterRole /town-gate-keeper-reads',
        'configmaps/v1 */[app.kubernetes.io/managed-by=gate-keeper]; gates.install.example.com/v1',
      ],
      ['Role north/town-roads', roads],
      ['Role south/town-roads', roads],
    ])
  })

  it('elects a leader by one Lease, or shares the work by a Lease for each replica', () => {
    const sharded = objectsWith(set(['sharding', true]))
    expect(sharded.map(nameOf)).not.toContain('Lease town-system/town')
    const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] }
    expect(find(sharded, 'Role town-system/town-leases')['rules']).toEqual([
      { ...leases, verbs: ['create', 'delete', 'get', 'list', 'update', 'watch'] },
    ])
    expect(find(objectsWith(defaults), 'Role town-system/town-leases')['rules']).toEqual([
      { ...leases, verbs: ['create'] },
      { ...leases, resourceNames: ['town'], verbs: ['get', 'update'] },
    ])
  })

  it.each(['podDisruptionBudget', 'networkPolicy', 'webhooks'])('has no %s that is switched off', (part) => {
    const kinds = {
      podDisruptionBudget: 'PodDisruptionBudget',
      networkPolicy: 'NetworkPolicy',
      webhooks: 'Service town-system/town-webhooks',
    }
    const kind = kinds[part as keyof typeof kinds]
    const names = objectsWith(set([`${part}.enabled`, false])).map(nameOf)
    expect(names.filter((name) => name.startsWith(kind))).toEqual([])
  })

  it('lets its Pods reach API servers, name servers and what its operators call', () => {
    const policy = find(objectsWith(defaults), 'NetworkPolicy town-system/town')
    const ports = JSON.stringify(policy['spec']).match(/"port":(\d+)/g)
    expect(ports).toEqual([53, 53, 443, 4318, 6443, 8443, 8444, 16_443].map((port) => `"port":${port}`))
  })

  it('has no CRDs, webhooks and roles without operators', () => {
    const files = installationFiles(describeInstallation([]))
    expect([...files.keys()].filter((name) => name.includes('crds'))).toEqual([])
    expect(
      readYamlDocuments(files.get('manifests/install.yaml')!).map((one) => (one as JsonObject)['kind']),
    ).not.toContain('ClusterRole')
  })
})

describe('the values', () => {
  it('are all used, and nothing else is', () => {
    const text =
      JSON.stringify(installationObjects(whole)) +
      [...installationFiles(whole)]
        .filter(([name]) => name.includes('/templates/'))
        .map(([, one]) => one)
        .join('')
    const used = new Set([...text.matchAll(/\.Values\.([A-Za-z.]+)/g)].map(([, path]) => path!))
    expect([...used].toSorted()).toEqual(table.map(({ path }) => path).toSorted())
  })

  it('are in values.yaml as in the table, and valid by values.schema.json', () => {
    expect(readYaml(installationFiles(whole).get('helm/town/values.yaml')!)).toEqual(defaults)
    expect(typesIn(valuesSchema(table))).toEqual({ ...typesOf(defaults), global: 'object' })
  })
})

/** The types that a schema requires, by path; those of the content of maps and lists are free. */
function typesIn(schema: JsonObject): JsonObject {
  const members = Object.entries(schema['properties'] as Readonly<Record<string, JsonObject>>)
  return Object.fromEntries(
    members.map(([name, its]) => [name, isJsonObject(its['properties']) ? typesIn(its) : its['type']!]),
  )
}

function typesOf(values: JsonObject): JsonObject {
  const sections = new Set(table.flatMap(({ path }) => (path.includes('.') ? [path.split('.')[0]!] : [])))
  const typeOf = (value: Json): string =>
    Array.isArray(value) ? 'array' : typeof value === 'number' ? 'integer' : typeof value
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      sections.has(name) ? typesOf(value as JsonObject) : typeOf(value!),
    ]),
  )
}

describe('kustomize base and manifests', () => {
  const files = installationFiles(whole)
  const read = (name: string): readonly Json[] => readYamlDocuments(files.get(name)!)

  it('are the same objects', () => {
    const kustomization = readYaml(files.get('kustomize/base/kustomization.yaml')!) as {
      readonly resources: readonly string[]
    }
    const base = kustomization.resources.flatMap((file) => read(`kustomize/base/${file}`))
    expect(base).toEqual(read('manifests/install.yaml'))
    expect(read('kustomize/crds/crds.yaml')).toEqual(read('manifests/crds.yaml'))
    expect(read('kustomize/monitoring/monitoring.yaml')).toEqual(read('manifests/monitoring.yaml'))
  })

  it('are those of the chart, and a namespace', () => {
    const plain = [...plainObjects(whole, 'manager').values()].flat()
    const chart = objectsWith(set(['crds.install', false]))
    expect(plain.slice(1)).toEqual(chart)
    expect(plain[0]).toMatchObject({ kind: 'Namespace', metadata: { name: 'town-system' } })
  })

  it('contain the configuration as it was written', () => {
    const configuration = read('manifests/install.yaml').find(
      (one) => nameOf(one as JsonObject) === 'ConfigMap town-system/town',
    )
    const { data } = configuration as { readonly data: Record<string, string> }
    expect(readYaml(data['muster.yaml']!)).toEqual(whole.config)
  })
})
