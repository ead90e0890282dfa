/**
 * Random kustomizations: few names, so that references, collisions and conflicts are frequent, and every field of the kustomization file,
 * in layers of bases and components.
 */
import { writeYaml } from '../../src/kube/yaml/yaml.ts'
import type { Json, JsonObject } from '../../src/kube/json.ts'
import { Dice } from './dice.ts'
import { kinds, type ObjectShape, randomObject } from './random-objects.ts'
import { randomPatches } from './random-patches.ts'

export interface RandomKustomization {
  readonly files: ReadonlyMap<string, string>
  readonly folder: string
}

export function randomKustomization(seed: number): RandomKustomization {
  const dice = new Dice(seed)
  const files = new Map<string, string>()
  const depth = dice.below(3)
  const objects = writeLayer(dice, files, 'base', [], [])
  let below = ['../base']
  let known = objects
  if (dice.chance(0.2)) {
    known = [...known, ...writeLayer(dice, files, 'second', [], [])]
    below.push('../second')
  }
  let folder = 'base'
  for (let layer = 0; layer < depth; layer++) {
    folder = `layer${layer}`
    known = [...known, ...writeLayer(dice, files, folder, below, known)]
    below = [`../${folder}`]
  }
  return { files, folder }
}

function writeLayer(
  dice: Dice,
  files: Map<string, string>,
  folder: string,
  below: readonly string[],
  known: readonly ObjectShape[],
  isComponent = false,
): readonly ObjectShape[] {
  const own = dice
    .times(below.length === 0 ? 5 : 2, () => randomObject(dice))
    .concat(below.length === 0 ? [randomObject(dice)] : [])
  const distinct = [...new Map(own.map((object) => [`${object.kind}/${object.name}`, object])).values()]
  const resources = [...below]
  if (distinct.length > 0) {
    resources.push('objects.yaml')
    files.set(`${folder}/objects.yaml`, distinct.map(({ object }) => withQuotes(dice, writeYaml(object))).join('---\n'))
  }
  const all = [...known, ...distinct]
  const kustomization: Record<string, Json> = { resources }
  if (isComponent) Object.assign(kustomization, { apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component' })
  else if (dice.chance(0.2)) {
    writeLayer(dice, files, `${folder}-component`, [], all, true)
    kustomization['components'] = [`../${folder}-component`]
  }
  Object.assign(kustomization, randomFields(dice, files, folder, all))
  files.set(`${folder}/kustomization.yaml`, writeYaml(kustomization))
  return distinct
}

/** Quotes around some texts that need none. */
function withQuotes(dice: Dice, yaml: string): string {
  if (dice.chance(0.6)) return yaml
  return yaml.replaceAll(/(?<=: )[a-z][a-z0-9:.-]*$/gm, (text) =>
    dice.chance(0.5) || ['null', 'true', 'false'].includes(text) ? text : `"${text}"`,
  )
}

const texts = [
  'x',
  'true',
  '1',
  '1.10',
  '',
  'a b',
  'null',
  'with: colon',
  '<&>',
  'Ünï',
  'multi\nline\n',
  '  lead',
  '0x10',
  '~',
]

function randomFields(
  dice: Dice,
  files: Map<string, string>,
  folder: string,
  known: readonly ObjectShape[],
): Readonly<Record<string, Json>> {
  const fields: Record<string, Json> = {}
  const maybe = (chance: number, name: string, value: () => Json): void => {
    if (dice.chance(chance)) fields[name] = value()
  }
  const labels = (): JsonObject => ({ [dice.pick(['app', 'tier', 'x.io/y'])]: dice.pick(texts) })
  maybe(0.3, 'namePrefix', () => dice.pick(['p-', 'q-', '1']))
  maybe(0.2, 'nameSuffix', () => dice.pick(['-s', '-t']))
  maybe(0.3, 'namespace', () => dice.pick(['ns1', 'ns2', 'default']))
  maybe(0.15, 'commonLabels', labels)
  maybe(0.15, 'commonAnnotations', labels)
  maybe(0.2, 'labels', () =>
    dice.times(3, () => ({
      pairs: labels(),
      includeSelectors: dice.chance(0.3),
      includeTemplates: dice.chance(0.3),
      includeVolumeClaimTemplates: dice.chance(0.2),
      ...(dice.chance(0.2) ? { fields: [{ path: 'spec/labels', kind: 'Thing', create: dice.chance(0.5) }] } : {}),
    })),
  )
  maybe(0.2, 'images', () =>
    dice.times(3, () => ({
      name: dice.pick(['nginx', 'redis', 'quay.io/org/app', 'ng.*']),
      ...(dice.chance(0.4) ? { newName: dice.pick(['other', 'reg:5000/x']) } : {}),
      ...(dice.chance(0.4) ? { newTag: dice.pick(['1', 'v2']) } : {}),
      ...(dice.chance(0.2) ? { digest: 'sha256:abc' } : {}),
      ...(dice.chance(0.2) ? { tagSuffix: '-x' } : {}),
    })),
  )
  const scaled = known.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
  if (scaled.length > 0) maybe(0.15, 'replicas', () => [{ name: dice.pick(scaled).name, count: dice.below(9) }])
  const generator = (): JsonObject => randomGenerator(dice, files, folder)
  maybe(0.25, 'configMapGenerator', () => dice.times(2, generator))
  maybe(0.2, 'secretGenerator', () => dice.times(2, generator))
  maybe(0.15, 'generatorOptions', () => ({
    labels: labels(),
    annotations: labels(),
    disableNameSuffixHash: dice.chance(0.5),
    immutable: dice.chance(0.2),
  }))
  maybe(0.1, 'sortOptions', () =>
    dice.chance(0.5)
      ? { order: 'fifo' }
      : {
          order: 'legacy',
          legacySortOptions: { orderFirst: [dice.pick(kinds), dice.pick(kinds)], orderLast: [dice.pick(kinds)] },
        },
  )
  maybe(0.1, 'buildMetadata', () => ['originAnnotations', 'transformerAnnotations'].filter(() => dice.chance(0.6)))
  if (known.length > 0) {
    maybe(0.35, 'patches', () => randomPatches(dice, known))
    maybe(0.2, 'replacements', () => dice.times(2, () => randomReplacement(dice, known)))
    maybe(0.05, 'vars', () => {
      const { apiVersion, kind, name } = dice.pick(known)
      return [
        {
          name: dice.pick(['A', 'B']),
          objref: { apiVersion, kind, name },
          ...(dice.chance(0.5)
            ? { fieldref: { fieldPath: dice.pick(['metadata.name', 'metadata.namespace', 'data.a', 'spec.replicas']) } }
            : {}),
        },
      ]
    })
  }
  return fields
}

function randomGenerator(dice: Dice, files: Map<string, string>, folder: string): JsonObject {
  const generator: Record<string, Json> = { name: dice.pick(['a', 'b', 'cm']) }
  if (dice.chance(0.25)) generator['behavior'] = dice.pick(['create', 'merge', 'replace'])
  if (dice.chance(0.2)) generator['namespace'] = dice.pick(['ns1', 'default'])
  if (dice.chance(0.7)) {
    const keys = ['a', 'b', 'c'].filter(() => dice.chance(0.6))
    generator['literals'] = keys.map((key) => `${key}=${dice.pick(texts)}`)
  }
  if (dice.chance(0.3)) {
    files.set(
      `${folder}/file.txt`,
      dice.pick(['one\ntwo\n', 'no newline', '', '# comment\nkey: value\n', 'a\r\nb\r\n', '\ttab']),
    )
    generator['files'] = [dice.pick(['file.txt', 'renamed=file.txt'])]
  }
  if (dice.chance(0.3)) {
    files.set(`${folder}/params.env`, dice.pick(['A=1\nB=x=y\n', '# c\n\n  K=v  \nN\n', 'Q="quoted"\r\nR=2']))
    generator['envs'] = ['params.env']
  }
  if (dice.chance(0.2)) {
    generator['options'] = {
      disableNameSuffixHash: dice.chance(0.4),
      immutable: dice.chance(0.3),
      labels: { own: dice.pick(texts) },
    }
  }
  return generator
}

const sourcePaths = [
  'metadata.name',
  'data.a',
  'spec.replicas',
  'metadata.labels.app',
  'spec.template.spec.containers',
  'spec.list.0.name',
  'metadata.labels',
]
const targetPaths = [
  'metadata.name',
  'metadata.annotations.copied',
  'metadata.labels.app',
  'metadata.labels.[x.io/y]',
  'data.a',
  'data.new',
  'spec.replicas',
  'spec.template.spec.containers.[name=web].image',
  'spec.template.spec.containers.*.image',
  'spec.template.spec.containers.0.env.[name=A].value',
  'spec.list.0.name',
  'spec.deep.er.value',
]

function randomReplacement(dice: Dice, known: readonly ObjectShape[]): JsonObject {
  const source = dice.pick(known)
  const options = (): JsonObject =>
    dice.chance(0.85)
      ? { create: true }
      : dice.chance(0.5)
        ? { delimiter: dice.pick(['-', '.', ':']), index: dice.below(4) - 1 }
        : {}
  return {
    ...(dice.chance(0.15)
      ? { sourceValue: dice.pick(['given', 'a b', 'Ünï', 'x-y', ...texts]) }
      : {
          source: {
            kind: source.kind,
            name: source.name,
            ...(dice.chance(0.3) ? { fieldPath: dice.pick(sourcePaths) } : {}),
            ...(dice.chance(0.15) ? { options: { delimiter: '-', index: 0 } } : {}),
          },
        }),
    targets: Array.from({ length: 1 + dice.below(2) }, () => {
      const target = dice.pick(known)
      return {
        select: dice.chance(0.7)
          ? { kind: target.kind, name: target.name }
          : { kind: dice.pick([target.kind, 'Depl.*']) },
        ...(dice.chance(0.2) ? { reject: [{ name: dice.pick(['a', 'w.*']) }] } : {}),
        fieldPaths: [dice.pick(targetPaths)],
        options: options(),
      }
    }),
  }
}
