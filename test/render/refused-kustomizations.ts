/** Kustomizations that cannot be built, and the error of each: cause and place. */

export interface RefusedKustomization {
  readonly name: string
  readonly files: Readonly<Record<string, string>>
  /** @default the root of the files */
  readonly folder?: string
  /** The name of the error. */
  readonly error: string
  /** A part of its message. */
  readonly message: string
  /** Kustomize itself would fetch or run something, or is more lenient. */
  readonly isStricter?: boolean
}

const configMap = (name: string, rest = ''): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n${rest}`
const web = 'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n'

export const refusedKustomizations: readonly RefusedKustomization[] = [
  {
    name: 'no kustomization file',
    files: { 'a.yaml': configMap('a') },
    error: 'KustomizationFileMissing',
    message: 'the folder has none of kustomization.yaml',
  },
  {
    name: 'two kustomization files',
    files: { 'kustomization.yaml': 'namePrefix: a', 'kustomization.yml': 'namePrefix: b' },
    error: 'KustomizationInvalid',
    message: 'there are several of kustomization.yaml',
  },
  {
    name: 'an empty kustomization',
    files: { 'kustomization.yaml': '# nothing\n' },
    error: 'KustomizationInvalid',
    message: 'kustomization.yaml: the file is empty',
  },
  {
    name: 'an unknown field',
    files: { 'kustomization.yaml': 'resource: [a.yaml]' },
    error: 'KustomizationInvalid',
    message: 'unknown field "resource" at resource. Did you mean "resources"?',
  },
  {
    name: 'an unknown field of a patch',
    files: { 'kustomization.yaml': 'patches: [{targets: x}]' },
    error: 'KustomizationInvalid',
    message: 'unknown field "targets" at patches[0].targets. Did you mean "target"?',
  },
  {
    name: 'a number where a text belongs',
    files: { 'kustomization.yaml': 'images: [{name: nginx, newTag: 1.10}]' },
    error: 'KustomizationInvalid',
    message: 'images[0].newTag must be a text; write it in quotes',
  },
  {
    name: 'another kind',
    files: { 'kustomization.yaml': 'kind: Deployment\nnamePrefix: a' },
    error: 'KustomizationInvalid',
    message: 'kind must be Kustomization or Component',
  },
  {
    name: 'a missing resource',
    files: { 'kustomization.yaml': 'resources: [a.yaml, nowhere.yaml]', 'a.yaml': configMap('a') },
    error: 'KustomizationFileMissing',
    message: 'kustomization.yaml: resources[1]: there is no file or folder nowhere.yaml',
  },
  {
    name: 'a folder without a kustomization',
    files: { 'kustomization.yaml': 'resources: [base]', 'base/a.yaml': configMap('a') },
    error: 'KustomizationFileMissing',
    message: 'resources[0]: the folder base has no kustomization.yaml',
  },
  {
    name: 'a path out of the files',
    files: { 'kustomization.yaml': 'resources: [../../etc/passwd]' },
    error: 'KustomizationPathRefused',
    message: 'resources[0]: the folder ../../etc/passwd is outside of the files',
  },
  {
    name: 'a file outside of the folder',
    files: {
      'overlay/kustomization.yaml': 'configMapGenerator: [{name: a, files: [../secret.txt]}]',
      'secret.txt': 'hidden',
    },
    folder: 'overlay',
    error: 'KustomizationPathRefused',
    message: 'configMapGenerator[0].files: the file ../secret.txt is not in the folder overlay',
  },
  {
    name: 'an absolute path',
    files: { 'kustomization.yaml': 'patches: [{path: /etc/passwd}]' },
    error: 'KustomizationPathRefused',
    message: 'patches[0]: the file /etc/passwd is not in the folder',
  },
  {
    name: 'a cycle of bases',
    files: { 'a/kustomization.yaml': 'resources: [../b]', 'b/kustomization.yaml': 'resources: [../a]' },
    folder: 'a',
    error: 'KustomizationPathRefused',
    message: 'b/kustomization.yaml: resources[0]: a cycle: a contains a, which uses it',
  },
  {
    name: 'a base that contains the kustomization',
    files: { 'a/b/kustomization.yaml': 'resources: [..]', 'a/kustomization.yaml': 'namePrefix: x' },
    folder: 'a/b',
    error: 'KustomizationPathRefused',
    message: 'a cycle: a contains a/b',
  },
  {
    name: 'a remote resource',
    files: { 'kustomization.yaml': 'resources: ["https://example.invalid/a.yaml"]' },
    error: 'KustomizationUnsupported',
    message: 'resources[0]: https://example.invalid/a.yaml is not in the files: nothing is fetched',
    isStricter: true,
  },
  {
    name: 'a remote base',
    files: { 'kustomization.yaml': 'resources: ["github.com/org/repository//config?ref=main"]' },
    error: 'KustomizationUnsupported',
    message: 'nothing is fetched',
    isStricter: true,
  },
  {
    name: 'a chart',
    files: { 'kustomization.yaml': 'helmCharts: [{name: redis}]' },
    error: 'KustomizationUnsupported',
    message: 'helmCharts: charts are not inflated inside of a kustomization. Render the chart on its own',
  },
  {
    name: 'a plugin',
    files: { 'kustomization.yaml': 'transformers: [plugin.yaml]' },
    error: 'KustomizationUnsupported',
    message: 'transformers: plugins do not run here',
  },
  {
    name: 'a component among the resources',
    files: {
      'kustomization.yaml': 'resources: [c]',
      'c/kustomization.yaml': 'kind: Component\nnamePrefix: x',
    },
    error: 'KustomizationInvalid',
    message: 'resources[0]: c/kustomization.yaml is a Component: name it in components',
  },
  {
    name: 'a kustomization among the components',
    files: { 'kustomization.yaml': 'components: [c]', 'c/kustomization.yaml': 'namePrefix: x' },
    error: 'KustomizationInvalid',
    message: 'components[0]: c/kustomization.yaml is a Kustomization: name it in resources',
  },
  {
    name: 'an object without a name',
    files: { 'kustomization.yaml': 'resources: [a.yaml]', 'a.yaml': 'apiVersion: v1\nkind: Pod\n' },
    error: 'KustomizationResourceInvalid',
    message: 'a.yaml: an object of kind Pod has no metadata.name',
  },
  {
    name: 'invalid YAML',
    files: { 'kustomization.yaml': 'resources: [a.yaml]', 'a.yaml': 'kind: [unclosed\n' },
    error: 'KustomizationResourceInvalid',
    message: 'a.yaml:',
  },
  {
    name: 'a duplicate key',
    files: { 'kustomization.yaml': 'resources: [a.yaml]', 'a.yaml': configMap('a', 'data: {}\ndata: {}\n') },
    error: 'KustomizationResourceInvalid',
    message: 'a.yaml:',
  },
  {
    name: 'a bomb of aliases',
    files: {
      'kustomization.yaml': 'resources: [a.yaml]',
      'a.yaml': configMap(
        'a',
        ['a: &a0 [x, x, x, x, x, x, x, x, x, x]']
          .concat(
            Array.from(
              { length: 9 },
              (_, level) => `b${level}: &a${level + 1} [${Array.from({ length: 10 }, () => `*a${level}`).join(', ')}]`,
            ),
          )
          .join('\n'),
      ),
    },
    error: 'KustomizationResourceInvalid',
    message: 'its aliases stand for too many values',
    isStricter: true,
  },
  {
    name: 'two objects with one id',
    files: { 'kustomization.yaml': 'resources: [a.yaml, b.yaml]', 'a.yaml': configMap('a'), 'b.yaml': configMap('a') },
    error: 'KustomizationConflict',
    message: 'there is already a v1 ConfigMap "a"',
  },
  {
    name: 'a generator for an object that is there',
    files: {
      'kustomization.yaml': 'resources: [a.yaml]\nconfigMapGenerator: [{name: a}]',
      'a.yaml': configMap('a'),
    },
    error: 'KustomizationConflict',
    message: 'set its behavior to merge or replace',
  },
  {
    name: 'a generator that merges nothing',
    files: { 'kustomization.yaml': 'configMapGenerator: [{name: a, behavior: merge}]' },
    error: 'KustomizationInvalid',
    message: 'configMapGenerator[0]: there is no v1 ConfigMap "a" to merge',
  },
  {
    name: 'a key that is there twice',
    files: { 'kustomization.yaml': 'configMapGenerator: [{name: a, literals: [k=1, k=2]}]' },
    error: 'KustomizationInvalid',
    message: 'configMapGenerator[0]: the key k is there twice',
  },
  {
    name: 'a patch without an object',
    files: {
      'kustomization.yaml': `resources: [a.yaml]\npatches: [{path: b.yaml}]`,
      'a.yaml': configMap('a'),
      'b.yaml': web,
    },
    error: 'KustomizationPatchFailed',
    message: 'patches[0]: no object matches the patch of apps/v1 Deployment "web"',
  },
  {
    name: 'a patch that fits two objects',
    files: {
      'kustomization.yaml': 'resources: [a, b]\npatches: [{path: c.yaml}]',
      'a/kustomization.yaml': 'resources: [o.yaml]\nnamePrefix: a-',
      'a/o.yaml': configMap('x'),
      'b/kustomization.yaml': 'resources: [o.yaml]\nnamePrefix: b-',
      'b/o.yaml': configMap('x'),
      'c.yaml': configMap('x'),
    },
    error: 'KustomizationPatchFailed',
    message: '2 objects match the patch of v1 ConfigMap "x"',
  },
  {
    name: 'a JSON patch without a target',
    files: {
      'kustomization.yaml': `resources: [a.yaml]\npatches: [{patch: '[{"op":"remove","path":"/data"}]'}]`,
      'a.yaml': configMap('a'),
    },
    error: 'KustomizationPatchFailed',
    message: 'patches[0]: a JSON patch needs a target',
  },
  {
    name: 'a JSON patch that does not fit',
    files: {
      'kustomization.yaml': `resources: [a.yaml]\npatches: [{target: {kind: ConfigMap}, patch: '[{"op":"remove","path":"/data"}]'}]`,
      'a.yaml': configMap('a'),
    },
    error: 'KustomizationPatchFailed',
    message: 'patches[0] for v1 ConfigMap "a": operation 0 of the JSON patch',
  },
  {
    name: 'a merge patch that does not fit',
    files: {
      'kustomization.yaml': 'resources: [a.yaml]\npatches: [{path: b.yaml}]',
      'a.yaml': configMap('a', 'data: {k: v}\n'),
      'b.yaml': configMap('a', 'data: [list]\n'),
    },
    error: 'KustomizationPatchFailed',
    message: 'the patch does not fit: data is a mapping on one side only',
  },
  {
    name: 'a patch that is none',
    files: { 'kustomization.yaml': 'resources: [a.yaml]\npatches: [{patch: "just text"}]', 'a.yaml': configMap('a') },
    error: 'KustomizationPatchFailed',
    message: 'is neither an object with kind and metadata.name nor a list of JSON patch operations',
  },
  {
    name: 'an invalid regular expression',
    files: {
      'kustomization.yaml': `resources: [a.yaml]\npatches: [{target: {name: "("}, patch: '[{"op":"test","path":"/kind","value":"x"}]'}]`,
      'a.yaml': configMap('a'),
    },
    error: 'KustomizationInvalid',
    message: 'patches[0].target.name: not a regular expression',
  },
  {
    name: 'replicas of nothing',
    files: { 'kustomization.yaml': 'resources: [a.yaml]\nreplicas: [{name: web, count: 1}]', 'a.yaml': configMap('a') },
    error: 'KustomizationTransformFailed',
    message: 'replicas[0]: there is no object "web" of kind Deployment',
  },
  {
    name: 'a replacement without its source',
    files: {
      'kustomization.yaml':
        'resources: [a.yaml]\nreplacements: [{source: {kind: Service}, targets: [{select: {kind: ConfigMap}}]}]',
      'a.yaml': configMap('a'),
    },
    error: 'KustomizationTransformFailed',
    message: 'replacements[0].source: no object matches Service',
  },
  {
    name: 'a replacement without its field',
    files: {
      'kustomization.yaml':
        'resources: [a.yaml]\nreplacements: [{source: {kind: ConfigMap}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.k]}]}]',
      'a.yaml': configMap('a'),
    },
    error: 'KustomizationTransformFailed',
    message: 'there is no field data.k; options.create would add it',
  },
  {
    name: 'a var without its object',
    files: {
      'kustomization.yaml': 'resources: [a.yaml]\nvars: [{name: V, objref: {kind: Service, name: x}}]',
      'a.yaml': configMap('a'),
    },
    error: 'KustomizationTransformFailed',
    message: 'vars: no object fits the objref of the var V',
  },
  {
    name: 'two objects that a component makes one, although a prefix follows',
    files: {
      'kustomization.yaml': 'resources: [a.yaml, b.yaml]\ncomponents: [part]\nnamePrefix: x-',
      'a.yaml': configMap('a'),
      'b.yaml': configMap('b'),
      'part/kustomization.yaml':
        'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nreplacements:\n' +
        '- sourceValue: a\n  targets: [{select: {name: b}, fieldPaths: [metadata.name]}]\n',
    },
    error: 'KustomizationConflict',
    message: 'there is already a v1 ConfigMap "a"',
  },
  {
    name: 'two objects that a namespace makes one',
    files: {
      'kustomization.yaml': 'resources: [a.yaml, b.yaml]\nnamespace: z',
      'a.yaml': configMap('a', '  namespace: x\n'),
      'b.yaml': configMap('a', '  namespace: y\n'),
    },
    error: 'KustomizationConflict',
    message: 'there is already a v1 ConfigMap "a" in namespace z',
  },
  {
    name: 'an order that is none',
    files: { 'kustomization.yaml': 'resources: [a.yaml]\nsortOptions: {order: random}', 'a.yaml': configMap('a') },
    error: 'KustomizationInvalid',
    message: 'sortOptions.order must be legacy or fifo',
  },
]
