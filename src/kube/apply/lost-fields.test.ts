import { describe, expect, it } from 'vitest'
import { builtinDefinitions, builtinSchema } from '../builtin.ts'
import { isJsonObject, type Json } from '../json.ts'
import { asJson, asObject } from '../json-object.ts'
import { kindOf } from '../kind.ts'
import type { KubeObject, UntypedObject } from '../object.ts'
import { applyObject, updateObject } from './apply.ts'
import { lostFields } from './lost-fields.ts'
import { formatPath } from './path-element.ts'

const meta = { name: 'web', namespace: 'shop', labels: { app: 'web' } }
const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { ...meta, annotations: { note: 'x' }, finalizers: ['a.b/c'] },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        nodeSelector: { disk: 'ssd' },
        tolerations: [{ key: 'a', operator: 'Exists' }],
        containers: [
          {
            name: 'web',
            image: 'web:1',
            args: ['--a', '--b'],
            ports: [{ containerPort: 80 }, { containerPort: 53, protocol: 'UDP' }],
            env: [
              { name: 'A', value: '1' },
              { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            ],
            resources: { limits: { cpu: '1' } },
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
        volumes: [{ name: 'data', emptyDir: {} }],
      },
    },
  },
}
const objects: readonly UntypedObject[] = [
  deployment,
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: meta, data: { a: '1', b: '2' } },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: meta,
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080, name: 'http' }] },
  },
]

const optionsFor = (object: KubeObject) => {
  const schema = builtinSchema(kindOf(object))
  return { now: 0, subresource: undefined, schema, ...(schema && { definitions: builtinDefinitions() }) }
}
const applied = (object: KubeObject): KubeObject =>
  applyObject({ ...optionsFor(object), live: undefined, manager: 'muster', applied: object, force: true })
const changed = (live: KubeObject, updated: KubeObject): KubeObject =>
  updateObject({ ...optionsFor(live), live, manager: 'kubectl-edit', updated })
const lostIn = (object: KubeObject, live: KubeObject): readonly string[] =>
  lostFields(
    asJson(object),
    live.metadata.managedFields?.find(({ manager }) => manager === 'muster')?.fieldsV1 as Json,
  ).map(formatPath)

/** Every scalar below a value, as a path of member names and indexes. */
function leavesOf(value: Json | undefined, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (Array.isArray(value)) return (value as Json[]).flatMap((item, index) => leavesOf(item, [...path, index]))
  if (isJsonObject(value)) return Object.entries(value).flatMap(([name, member]) => leavesOf(member, [...path, name]))
  return [path]
}

function edited(object: KubeObject, path: readonly (string | number)[], edit: (value: Json) => Json): UntypedObject {
  const copy = structuredClone(asJson(object))
  const above = path.slice(0, -1).reduce<Json>((at, step) => (at as Record<string | number, Json>)[step]!, copy)
  const last = path.at(-1)!
  const holder = above as Record<string | number, Json>
  holder[last] = edit(holder[last]!)
  return asObject(copy)
}

const isIdentity = (path: readonly (string | number)[]): boolean =>
  path.length === 1 || (path[0] === 'metadata' && (path[1] === 'name' || path[1] === 'namespace'))

describe('lost fields', () => {
  it.each(objects.map((object) => [object.kind, object] as const))(
    'of a %s are the fields that another manager changed, and no others',
    (_kind, object) => {
      const live = applied(object)
      expect(lostIn(object, live)).toEqual([])
      const beside = changed(live, {
        ...live,
        metadata: { ...live.metadata, labels: { ...live.metadata.labels, more: '1' } },
      })
      expect(lostIn(object, beside)).toEqual([])
      const paths = leavesOf(asJson(object)).filter((path) => !isIdentity(path))
      expect(paths.length).toBeGreaterThan(2)
      for (const path of paths) {
        const other = (value: Json): Json =>
          typeof value === 'number' ? value + 1 : typeof value === 'boolean' ? !value : `${JSON.stringify(value)}x`
        const now = changed(live, edited(live, path, other))
        expect([path, lostIn(object, now).length > 0]).toEqual([path, true])
      }
    },
  )

  it('are everything where the manager owns nothing', () => {
    expect(lostFields(asJson(objects[1]!), undefined).map(formatPath)).toEqual([
      '.metadata.labels.app',
      '.data.a',
      '.data.b',
    ])
  })

  it('have readable names', () => {
    const live = applied(deployment)
    const at = ['spec', 'template', 'spec', 'containers', 0, 'image'] as const
    expect(
      lostIn(
        deployment,
        changed(
          live,
          edited(live, at, () => 'web:2'),
        ),
      ),
    ).toEqual(['.spec.template.spec.containers[name="web"].image'])
  })
})
