/**
 * A new operator project, as data: path and text of every file. One kind, one dependent, one test, in three files of a dozen
 * lines.
 */
import { ignoredByImages, projectContainerfile } from '../../deploy/image.ts'
import { pluralOf } from '../../kube/plural.ts'

interface ProjectOptions {
  /** The operator and its folder: a DNS label. */
  readonly name: string
  readonly kind: string
  readonly group: string
  readonly muster: MusterOrigin
  /** Versions of the development dependencies. */
  readonly versions: { readonly typescript: string; readonly nodeTypes: string }
}

/** Where the project gets muster from. */
export interface MusterOrigin {
  /** The specifier in package.json: a version, or `file:…`. */
  readonly spec: string
  /** A checkout, which runs from its sources. */
  readonly isCheckout: boolean
}

/** The kind that derives from a project name: `WebSite` for `web-site-operator`. */
export function kindFor(name: string): string {
  const words = name.replace(/-operator$/, '').split('-')
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

export function projectFiles(options: ProjectOptions): ReadonlyMap<string, string> {
  return new Map([
    ['.dockerignore', `${ignoredByImages.join('\n')}\n`],
    ['.gitignore', 'node_modules/\n.muster/\ntest-output/\n'],
    ['Containerfile', projectContainerfile(options.name)],
    ['Makefile', makefile],
    ['README.md', readme(options)],
    ['example.yaml', example(options)],
    ['muster.yaml', configuration(options)],
    ['package.json', manifest(options)],
    ['src/deployment.ts', dependent(options)],
    ['src/kind.ts', kind(options)],
    ['src/operator.test.ts', operatorTest(options)],
    ['src/operator.ts', operator(options)],
    [`tests/creates/input-dir/namespaces/default/${options.group}/${plural(options)}/demo.yaml`, example(options)],
    ['tests/creates/test.yaml', declarativeTest(options)],
    ['tsconfig.json', tsconfig(options)],
  ])
}

/** Followed by `muster run -f muster.yaml`, and the source of the chart. */
function configuration({ name }: ProjectOptions): string {
  return `# The configuration of the manager: npx muster config -f muster.yaml shows every setting.
operators:
  ${name}: { from: ./src/operator.ts }
`
}

function manifest({ name, muster, versions }: ProjectOptions): string {
  const value = {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    scripts: {
      start: 'muster run src/operator.ts --embedded',
      test: 'tsc && muster node --test',
      'test-operator-integration': 'muster test tests',
      'update-test-operator-integration': 'muster test tests --update',
    },
    dependencies: { '@muster-dev/muster': muster.spec },
    devDependencies: { '@types/node': versions.nodeTypes, typescript: versions.typescript },
  }
  return `${JSON.stringify(value, undefined, 2)}\n`
}

/** The target names that upstream CI systems use. */
const makefile = `MUSTER ?= npx muster
APPLY_CONFIG_INPUT_DIR ?= ./tests
ARTIFACT_DIR ?= ./test-output

test-operator-integration:
	$(MUSTER) test $(APPLY_CONFIG_INPUT_DIR) --output-dir $(ARTIFACT_DIR)

update-test-operator-integration:
	$(MUSTER) test $(APPLY_CONFIG_INPUT_DIR) --update

.PHONY: test-operator-integration update-test-operator-integration
`

function plural({ kind: ownKind }: ProjectOptions): string {
  return pluralOf(ownKind)
}

function declarativeTest({ kind: ownKind }: ProjectOptions): string {
  return `operator: ../../src/operator.ts
testName: a ${ownKind} gets a Deployment, and comes to rest
description: What is in input-dir is all there is; what the operator makes of it is expected below.
testType: ApplyConfiguration
now: 2026-01-31T12:00:00Z
until: quiet
expect:
  # With "requests: true" and "npm run update-test-operator-integration" every request is kept and compared, too.
  requests: false
  objects:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: demo, namespace: default}
    spec: {replicas: 2}
`
}

function tsconfig({ muster }: ProjectOptions): string {
  const conditions = `
    // muster is a checkout here: its sources are its types. Remove this when it is installed.
    "customConditions": ["muster-source"],`
  return `{
  "compilerOptions": {
    "target": "es2024",
    "lib": ["es2024", "esnext"],
    "module": "nodenext",
    "types": ["node"],${muster.isCheckout ? conditions : ''}
    "noEmit": true,
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "exactOptionalPropertyTypes": true,
    // Node runs the sources as they are: only what it can strip.
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "rewriteRelativeImportExtensions": true,
    "resolveJsonModule": true,
    "skipLibCheck": true
  },
  "include": ["src"]
}
`
}

function kind({ kind: name, group }: ProjectOptions): string {
  return `/** What users ask for. The TypeScript types and the CRD both come from this one definition. */
import { defineKind, integer, type ObjectOf, string } from '@muster-dev/muster/operator'

export const ${name} = defineKind({
  group: '${group}',
  version: 'v1alpha1',
  kind: '${name}',
  spec: {
    replicas: integer({ minimum: 0, default: 1, description: 'How many Pods there are.' }),
    image: string({ minLength: 1, default: 'nginx:1.29', description: 'What they run.' }),
  },
  columns: [
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
  ],
})
export type ${name} = ObjectOf<typeof ${name}>
`
}

function dependent({ name, kind: ownKind }: ProjectOptions): string {
  return `/** The Deployment that is kept for each ${ownKind}. */
import { defineDependent, Deployment } from '@muster-dev/muster/operator'
import { ${ownKind} } from './kind.ts'

export const deployment = defineDependent({
  for: ${ownKind},
  kind: Deployment,
  // The constant part.
  initial: \`
    spec:
      template:
        spec:
          containers:
            - name: ${name}
              ports: [{ name: http, containerPort: 80 }]
  \`,
  // The part that the CR determines, merged over the first: the container of the same name gets its image.
  fromCR: ({ cr }) => {
    const labels = { app: '${name}', instance: cr.metadata.name }
    return {
      spec: {
        replicas: cr.spec.replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: '${name}', image: cr.spec.image }] } },
      },
    }
  },
})
`
}

function operator({ name, kind: ownKind }: ProjectOptions): string {
  return `/** The operator: which kinds it serves, and what it keeps for each of their CRs. */
import { defineController, defineOperator } from '@muster-dev/muster/operator'
import { deployment } from './deployment.ts'
import { ${ownKind} } from './kind.ts'

const controller = defineController({ for: ${ownKind}, dependents: [deployment] })

export const operator = defineOperator({ name: '${name}', controllers: [controller] })
`
}

function operatorTest({ kind: ownKind, group }: ProjectOptions): string {
  return `/** On an embedded cluster of its own, in virtual time: nothing is mocked, and an hour takes no time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestEnvironment } from '@muster-dev/muster/testing'
import { Deployment } from '@muster-dev/muster/operator'
import { ${ownKind} } from './kind.ts'
import { operator } from './operator.ts'

const demo = { name: 'demo', namespace: 'default' }

test('each ${ownKind} gets a Deployment of its size, and then nothing is written any more', async (t) => {
  const environment = await openTestEnvironment(operator, { workloads: true })
  t.after(() => environment.close())

  await environment.create(${ownKind}, { apiVersion: '${group}/v1alpha1', kind: '${ownKind}', metadata: demo, spec: { replicas: 3 } })
  await environment.settle(60_000)

  const deployment = await environment.client.get(Deployment, demo)
  assert.equal(deployment.spec?.replicas, 3)
  const cr = await environment.client.get(${ownKind}, demo)
  assert.equal(cr.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True')

  const written = environment.writes.length
  await environment.settle(60 * 60_000)
  assert.equal(environment.writes.length, written)
})
`
}

function example({ kind: ownKind, group }: ProjectOptions): string {
  return `apiVersion: ${group}/v1alpha1
kind: ${ownKind}
metadata:
  name: demo
  namespace: default
spec:
  replicas: 2
`
}

function readme({ name, kind: ownKind, muster }: ProjectOptions): string {
  const origin = muster.isCheckout
    ? `muster is taken from the checkout that \`package.json\` names, and runs from its sources on its own Node.`
    : 'Node 24 or later is needed.'
  return `# ${name}

An operator for ${ownKind}s, made with Muster. ${origin}

    npm install
    npm test           # types, then the tests on an embedded cluster
    npm start          # an embedded cluster with the operator on it; prints how to reach it
    npx muster simulate src/operator.ts        # injected faults, in virtual time

With \`npm start\` running, in another shell:

    export KUBECONFIG=.muster/kubeconfig
    kubectl apply -f example.yaml
    kubectl get ${ownKind.toLowerCase()}s,deployments,pods

On a cluster of yours (KUBECONFIG, or the service account of the Pod):

    npx muster run src/operator.ts --install
    npx muster generate crd src/operator.ts        # the CRDs that --install installs
    npx muster generate rbac src/operator.ts       # the minimal role

In a cluster, two replicas of a manager with this operator. \`deploy/\` has a Helm chart, a kustomize base and manifests:

    podman build --tag registry.example.com/${name}:0.0.0 . && podman push registry.example.com/${name}:0.0.0
    npx muster generate deploy --image registry.example.com/${name}:0.0.0
    npx muster generate deploy --diff              # what applying it would change in the cluster
    helm install ${name} deploy/helm/${name} --namespace ${name}-system --create-namespace

| file                   | what it is                                    |
| ---------------------- | --------------------------------------------- |
| \`src/kind.ts\`          | what people ask for: fields, types, CRD       |
| \`src/deployment.ts\`    | what the operator keeps for it                |
| \`src/operator.ts\`      | both together                                 |
| \`src/operator.test.ts\` | what it promises                              |
| \`muster.yaml\`          | the configuration of the manager              |
| \`Containerfile\`        | the image: Node, muster and this project      |
| \`tests/\`               | the same as data: \`npm run test-operator-integration\` |

\`npx muster generate dependent Service\` creates the next dependent.
`
}
