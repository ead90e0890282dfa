/** Random patches: strategic merge patches with directives and nulls, and JSON patches. */
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { writeYaml } from '../../src/kube/yaml/yaml.ts'
import type { Dice } from './dice.ts'
import type { ObjectShape } from './random-objects.ts'

export function randomPatches(dice: Dice, known: readonly ObjectShape[]): readonly Json[] {
  return dice.times(3, () => {
    const { kind, name, apiVersion } = dice.pick(known)
    const target: JsonObject = dice.chance(0.7)
      ? { kind, name }
      : dice.pick<JsonObject>([
          { kind },
          { name: 'w.*' },
          { labelSelector: 'app=x' },
          { annotationSelector: 'note' },
          { namespace: 'ns1' },
          { group: 'apps' },
        ])
    if (dice.chance(0.35)) return { target, patch: writeYaml(jsonPatch(dice)) }
    const patch = { apiVersion, kind, metadata: { name, ...metadata(dice) }, ...change(dice, kind) }
    const options = { allowNameChange: dice.chance(0.5), allowKindChange: dice.chance(0.3) }
    return {
      patch: writeYaml(dice.chance(0.05) ? { ...patch, $patch: 'delete' } : patch),
      ...(dice.chance(0.4) ? { target } : {}),
      ...(dice.chance(0.1) ? { options } : {}),
    }
  })
}

function metadata(dice: Dice): JsonObject {
  if (dice.chance(0.6)) return {}
  return dice.pick<JsonObject>([
    { labels: { added: '1', app: null } },
    { labels: null },
    { annotations: { patched: 'yes', note: null } },
    { labels: { $patch: 'replace', only: 'this' } },
    { finalizers: ['a', 'b'] },
    { namespace: 'ns1' },
  ])
}

function change(dice: Dice, kind: string): JsonObject {
  if (kind === 'ConfigMap') return { data: { a: dice.pick<Json>([null, 'patched']), new: 'x' } }
  if (kind === 'Thing')
    return { spec: { list: [{ name: 'y' }], flag: null, deep: { a: null, b: 1 }, nothing: dice.pick<Json>([null, 1]) } }
  if (kind === 'Service')
    return {
      spec: {
        ports: [
          { port: 443, name: 's' },
          { port: 9, $patch: dice.pick(['delete', 'merge']) },
        ],
      },
    }
  if (kind === 'CronJob') return { spec: { jobTemplate: { spec: { template: { spec: podPatch(dice) } } } } }
  if (kind === 'Pod') return { spec: podPatch(dice) }
  if (['Deployment', 'StatefulSet', 'DaemonSet', 'Job'].includes(kind)) {
    return {
      spec: {
        ...(dice.chance(0.3) ? { replicas: dice.pick<Json>([null, 4]) } : {}),
        template: { spec: podPatch(dice) },
      },
    }
  }
  return dice.chance(0.5) ? {} : { spec: { extra: 1 } }
}

function podPatch(dice: Dice): JsonObject {
  const items: JsonObject[] = [
    { name: 'web', image: 'patched', env: envPatch(dice) },
    { name: 'side', $patch: 'delete' },
    { name: 'new', image: 'new', args: ['x', null].filter((one) => one !== null) },
    { name: 'web', ports: portPatch(dice) },
    { name: 'init', image: null },
  ].filter(() => dice.chance(0.4))
  return {
    ...(items.length > 0 ? { containers: items } : {}),
    ...(dice.chance(0.3)
      ? {
          initContainers: [
            { name: 'init', image: 'i' },
            { name: 'more', command: ['c'] },
          ],
        }
      : {}),
    ...(dice.chance(0.3) ? { volumes: volumePatch(dice) } : {}),
    ...(dice.chance(0.2) ? { tolerations: [{ key: 'other' }] } : {}),
    ...(dice.chance(0.2)
      ? { nodeSelector: dice.pick<Json>([null, { disk: null, zone: 'a' }, { $patch: 'delete' }]) }
      : {}),
  }
}

function envPatch(dice: Dice): Json {
  return dice.pick<Json>([
    [{ name: 'A', value: 'p' }],
    [{ name: 'B', $patch: 'delete' }],
    [
      { name: 'Z', value: 'z' },
      { name: 'A', value: null },
    ],
    [{ $patch: 'replace' }, { name: 'Q', value: 'q' }],
    [{ $patch: 'delete' }],
    null,
    [],
  ])
}

function portPatch(dice: Dice): Json {
  return dice.pick<Json>([
    [{ containerPort: 80, name: 'h' }],
    [{ containerPort: 80, protocol: 'UDP', name: 'u' }],
    [{ containerPort: 82, protocol: 'TCP' }],
    [{ containerPort: 81, $patch: 'delete' }],
    [{ containerPort: 80, protocol: 'TCP', hostPort: 1 }, { containerPort: 90 }],
  ])
}

function volumePatch(dice: Dice): Json {
  return dice.pick<Json>([
    [{ name: 'v', emptyDir: {}, configMap: null }],
    [{ name: 'n', emptyDir: {} }],
    [{ name: 'w', $patch: 'delete' }],
    [{ $patch: 'replace' }, { name: 'o', secret: { secretName: 'a' } }],
  ])
}

function jsonPatch(dice: Dice): Json {
  return Array.from({ length: 1 + dice.below(2) }, () =>
    dice.pick<Json>([
      { op: 'add', path: '/metadata/labels', value: { json: 'yes' } },
      { op: 'add', path: '/metadata/annotations/x~1y', value: 'z' },
      { op: 'replace', path: '/metadata/name', value: 'renamed' },
      { op: 'remove', path: '/metadata/labels' },
      { op: 'add', path: '/spec/replicas', value: 3 },
      { op: 'test', path: '/kind', value: 'Deployment' },
      { op: 'add', path: '/spec/template/spec/containers/-', value: { name: 'json', image: 'nginx' } },
      { op: 'replace', path: '/spec/template/spec/containers/0/image', value: 'redis' },
      { op: 'copy', from: '/metadata/name', path: '/metadata/copied' },
      { op: 'move', from: '/spec', path: '/moved' },
    ]),
  )
}
