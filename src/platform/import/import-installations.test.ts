import { describe, expect, it } from 'vitest'
import { readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { importInstallations } from './import-installations.ts'

/** Specs of the Installations by name, and notes as lines. */
function imported(text: string): { readonly specs: unknown; readonly notes: readonly string[] } {
  const { installations, notes } = importInstallations(readYamlDocuments(text))
  return {
    specs: Object.fromEntries(
      installations.map(({ metadata, spec }) => [`${metadata.namespace ?? ''}/${metadata.name}`, spec]),
    ),
    notes: notes.map(({ object, field, why }) => `${object} ${field}: ${why}`),
  }
}

const repository = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: { name: charts, namespace: flux-system }
spec: { interval: 1h, url: https://charts.example.com, secretRef: { name: login } }
---`
const artifact = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: { name: app, namespace: apps }
spec: { interval: 1h, url: oci://registry.example.com/app, ref: { semver: 1.x, tag: old }, verify: { provider: cosign } }
---`

describe('HelmReleases of Flux', () => {
  it('become Installations', () => {
    const { specs, notes } = imported(`${repository}
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: { name: web, namespace: apps, labels: { a: b } }
spec:
  chart:
    spec:
      chart: web
      version: 1.x
      interval: 5m
      sourceRef: { kind: HelmRepository, name: charts, namespace: flux-system }
  interval: 10m
  timeout: 3m
  targetNamespace: shop
  serviceAccountName: deployer
  dependsOn: [{ name: db }, { name: queue, namespace: infra, readyExpr: 'true' }]
  install: { remediation: { retries: 3 }, createNamespace: true }
  upgrade: { remediation: { retries: 3, strategy: uninstall }, crds: CreateReplace, force: true }
  driftDetection:
    mode: enabled
    ignore: [{ paths: [/spec/replicas], target: { kind: Deployment, version: v1 } }, { paths: [/data] }]
  valuesFrom:
    - { kind: ConfigMap, name: defaults }
    - { kind: Secret, name: password, valuesKey: pw, targetPath: auth.password, optional: true }
  values: { replicas: 2, nested: { a: null } }
  postRenderers: [{ kustomize: {} }]
  colour: red
status: { history: [] }
`)
    expect(specs).toEqual({
      'apps/web': {
        source: {
          helm: { url: 'https://charts.example.com', chart: 'web', version: '1.x', secretRef: { name: 'login' } },
          interval: '5m',
        },
        releaseName: 'shop-web',
        targetNamespace: 'shop',
        values: { replicas: 2, nested: { a: null } },
        valuesFrom: [
          { kind: 'ConfigMap', name: 'defaults' },
          { kind: 'Secret', name: 'password', key: 'pw', path: 'auth.password', optional: true },
        ],
        dependsOn: [{ name: 'db' }, { name: 'queue', namespace: 'infra' }],
        serviceAccountName: 'deployer',
        timeout: '3m',
        drift: {
          mode: 'correct',
          ignore: [{ paths: ['/spec/replicas'], target: { kind: 'Deployment' } }, { paths: ['/data'] }],
        },
        remediation: { retries: 3, strategy: 'uninstall' },
        crds: 'apply',
      },
    })
    expect(notes).toEqual([
      'HelmRepository flux-system/charts spec.secretRef: copy the Secret to the namespace apps of the Installation',
      'HelmRelease apps/web spec.dependsOn[1].readyExpr: a dependency is ready when its Installation is',
      'HelmRelease apps/web spec.driftDetection.ignore[0].target.version: kinds are compared without their version',
      'HelmRelease apps/web spec.install.createNamespace: create the namespace with the Installation',
      'HelmRelease apps/web spec.upgrade.force: Installations apply objects with server-side apply and wait for their health',
      'HelmRelease apps/web spec.postRenderers: rendered objects are not patched: use a kustomization, or values of the chart',
      'HelmRelease apps/web spec.colour: the import does not know this field',
    ])
  })

  it('keep the defaults of Flux', () => {
    const { specs, notes } = imported(`${artifact}
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: { name: web, namespace: apps }
spec: { interval: 10m, suspend: true, chartRef: { kind: OCIRepository, name: app } }
`)
    expect(specs).toEqual({
      'apps/web': {
        source: { oci: { url: 'oci://registry.example.com/app', version: '1.x', kind: 'Chart' }, interval: '1h' },
        drift: { mode: 'off' },
        remediation: { strategy: 'none' },
        suspend: true,
        crds: 'create-only',
      },
    })
    expect(notes).toEqual(['OCIRepository apps/app spec.verify: signatures are not verified: pin the digest'])
  })

  it('find charts in registries, also by a HelmChart', () => {
    const { specs } = imported(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: { name: charts, namespace: apps }
spec: { type: oci, url: oci://registry.example.com/charts, certSecretRef: { name: ca } }
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: { name: chart, namespace: apps }
spec: { chart: web, version: 2.0.0, sourceRef: { kind: HelmRepository, name: charts } }
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: { name: web, namespace: apps }
spec: { chartRef: { kind: HelmChart, name: chart } }
`)
    expect(specs).toMatchObject({
      'apps/web': {
        source: {
          oci: {
            url: 'oci://registry.example.com/charts/web',
            version: '2.0.0',
            kind: 'Chart',
            secretRef: { name: 'ca' },
          },
        },
      },
    })
  })

  it.each([
    [
      'a source that is missing',
      'chartRef: { kind: OCIRepository, name: app }',
      'spec.chartRef: OCIRepository apps/app is needed and was not given; nothing is imported',
    ],
    [
      'git',
      'chart: { spec: { chart: ./web, sourceRef: { kind: GitRepository, name: app } } }',
      'spec.chart.spec.sourceRef: a GitRepository cannot be a source of an Installation: publish it as an OCI artifact; nothing is imported',
    ],
    [
      'another cluster',
      'kubeConfig: { secretRef: { name: remote } }',
      'spec.kubeConfig: it installs on another cluster: import it there; nothing is imported',
    ],
    ['no chart', 'interval: 1m', 'spec.chart: it must name a chart; nothing is imported'],
  ])('are refused: %s', (_, spec, note) => {
    expect(
      imported(`
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: { name: web, namespace: apps }
spec: { ${spec} }`),
    ).toEqual({ specs: {}, notes: [`HelmRelease apps/web ${note}`] })
  })
})

describe('Kustomizations of Flux', () => {
  it('become Installations', () => {
    const { specs, notes } = imported(`${artifact}
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: { name: app, namespace: apps }
spec:
  interval: 10m
  path: ./deploy
  prune: true
  wait: true
  sourceRef: { kind: OCIRepository, name: app }
  healthCheckExprs: [{ apiVersion: example.com/v1, kind: Widget, current: "status.phase == 'Ready'" }]
  postBuild: { substitute: { a: b } }
  images:
    - { name: web, newName: registry.example.com/web }
    - { name: db, newTag: "2" }
    - { name: job, digest: "sha256:${'b'.repeat(64)}" }
    - { newName: nothing }
`)
    expect(specs).toEqual({
      'apps/app': {
        source: {
          oci: { url: 'oci://registry.example.com/app', version: '1.x', kind: 'Kustomization', path: 'deploy' },
          interval: '1h',
        },
        images: [
          { from: 'web', to: 'registry.example.com/web' },
          { from: 'db', to: 'db:2' },
          { from: 'job', to: `job@sha256:${'b'.repeat(64)}` },
        ],
        drift: { mode: 'correct' },
        remediation: { strategy: 'none' },
        prune: true,
        deletion: 'delete',
        crds: 'apply',
        health: [{ apiVersion: 'example.com/v1', kind: 'Widget', current: "status.phase == 'Ready'" }],
      },
    })
    expect(notes.at(-1)).toBe(
      'Kustomization apps/app spec.postBuild: variables in manifests are not replaced: use replacements of the kustomization',
    )
  })

  it('keep tags and registries without TLS', () => {
    const { specs } = imported(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: { name: app, namespace: apps }
spec: { interval: 5m, url: oci://registry.local:5000/app, insecure: true, ref: { tag: v1 } }
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: { name: app, namespace: apps }
spec: { sourceRef: { kind: OCIRepository, name: app } }`)
    expect(specs).toMatchObject({
      'apps/app': { source: { oci: { url: 'oci://registry.local:5000/app:v1', plainHttp: true }, interval: '5m' } },
    })
  })

  it.each([
    ['prune: false', 'orphan'],
    ['deletionPolicy: Delete', 'delete'],
    ['prune: true, deletionPolicy: Orphan', 'orphan'],
  ])('are removed as Flux does: %s', (fields, deletion) => {
    const { specs } = imported(`${artifact}
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: { name: app, namespace: apps }
spec: { sourceRef: { kind: OCIRepository, name: app }, ${fields} }`)
    expect(specs).toMatchObject({ 'apps/app': { deletion } })
  })
})

describe('Applications of Argo CD', () => {
  const application = (spec: string, metadata = ''): string => `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: { name: web, namespace: argocd${metadata} }
spec: ${spec}`

  it('become Installations', () => {
    const { specs, notes } = imported(
      application(
        `
  project: default
  destination: { server: https://kubernetes.default.svc, namespace: shop }
  source:
    repoURL: https://charts.example.com
    chart: web
    targetRevision: 1.2.3
    helm:
      releaseName: shop
      values: "replicas: 2\\nimage: { tag: a }"
      parameters: [{ name: image.tag, value: '7' }, { name: port, value: '80', forceString: true }, { name: 'a[0]', value: x }]
      valueFiles: [values-prod.yaml]
      skipSchemaValidation: true
      kubeVersion: 1.30.0
  syncPolicy:
    automated: { prune: true, selfHeal: true }
    syncOptions: [CreateNamespace=true, ServerSideApply=true]
    retry: { limit: 5, backoff: { duration: 5s } }
  ignoreDifferences:
    - { group: apps, kind: Deployment, jsonPointers: [/spec/replicas] }
    - { group: '*', kind: '*', jqPathExpressions: [.a] }`,
        ', finalizers: [resources-finalizer.argocd.argoproj.io]',
      ),
    )
    expect(specs).toEqual({
      'argocd/web': {
        source: { helm: { url: 'https://charts.example.com', chart: 'web', version: '1.2.3' } },
        releaseName: 'shop',
        targetNamespace: 'shop',
        values: { replicas: 2, image: { tag: 7 }, port: '80' },
        drift: {
          mode: 'correct',
          ignore: [{ paths: ['/spec/replicas'], target: { group: 'apps', kind: 'Deployment' } }],
        },
        remediation: { retries: 5, strategy: 'none' },
        prune: true,
        deletion: 'delete',
        crds: 'apply',
        skipSchemaValidation: true,
      },
    })
    expect(notes.map((line) => line.replace('Application argocd/web spec.', ''))).toEqual([
      'syncPolicy.syncOptions[0]: CreateNamespace=true: create the namespace with the Installation',
      'source.helm.parameters[2]: only plain dotted names with a text can be set: copy the value to spec.values',
      'ignoreDifferences[1].jqPathExpressions: fields are named by JSON pointers',
      'project: rights come from the service account of the Installation',
      'source.helm.valueFiles: only the values.yaml of the chart is used: copy the values to spec.values',
      'source.helm.kubeVersion: it is asked of the cluster',
      'syncPolicy.retry.backoff: retries come with growing pauses',
    ])
  })

  it('that are synced by hand are suspended, and keep their objects', () => {
    const { specs, notes } = imported(
      application('{ sources: [{ repoURL: registry.example.com/charts, chart: web, targetRevision: 1.x }] }'),
    )
    expect(specs).toEqual({
      'argocd/web': {
        source: {
          oci: { url: 'oci://registry.example.com/charts/web', version: '1.x', kind: 'Chart' },
          interval: '3m',
        },
        drift: { mode: 'warn' },
        remediation: { strategy: 'none' },
        prune: false,
        deletion: 'orphan',
        suspend: true,
        crds: 'apply',
      },
    })
    expect(notes).toHaveLength(1)
  })

  it('may be directories of an OCI artifact', () => {
    const { specs } = imported(
      application(
        '{ source: { repoURL: oci://registry.example.com/app, path: deploy, targetRevision: 1.0.0 }, syncPolicy: { automated: {} } }',
      ),
    )
    expect(specs).toMatchObject({
      'argocd/web': {
        source: {
          oci: { url: 'oci://registry.example.com/app', version: '1.0.0', kind: 'Kustomization', path: 'deploy' },
        },
      },
    })
  })

  it.each([
    ['git', '{ source: { repoURL: https://git.example.com/app.git, path: a } }', /git repository/],
    ['several sources', '{ sources: [{ repoURL: a }, { repoURL: b }] }', /one source/],
    ['another cluster', '{ destination: { name: prod }, source: { repoURL: a, chart: b } }', /another cluster/],
  ])('are refused: %s', (_, spec, note) => {
    const { specs, notes } = imported(application(spec))
    expect(specs).toEqual({})
    expect(notes.join('\n')).toMatch(note)
  })
})

describe('ModuleTemplates of Kyma', () => {
  const template = (version: string): string => `
apiVersion: operator.kyma-project.io/v1beta2
kind: ModuleTemplate
metadata: { name: serverless-${version}, namespace: kyma-system }
spec:
  moduleName: serverless
  version: ${version}
  mandatory: false
  data: { kind: Serverless }
  descriptor:
    component:
      name: kyma-project.io/module/serverless
      version: ${version}
      repositoryContexts: [{ baseUrl: 'https://registry.example.com/old' }, { baseUrl: registry.example.com/prod, type: OCIRegistry }]
      resources:
        - { name: serverless-image, access: { type: ociArtifact, imageReference: registry.example.com/prod/serverless:v1 } }
        - { name: raw-manifest, access: { type: localBlob, localReference: 'sha256:${'a'.repeat(64)}' } }
`

  it('become Installations of their raw-manifest layer', () => {
    const { specs, notes } = imported(template('1.5.0'))
    expect(specs).toEqual({
      'kyma-system/serverless': {
        source: {
          oci: {
            url: 'oci://registry.example.com/prod/component-descriptors/kyma-project.io/module/serverless',
            version: '1.5.0',
            layer: `sha256:${'a'.repeat(64)}`,
            kind: 'Manifests',
          },
        },
        images: [{ from: '*/serverless:v1', to: 'registry.example.com/prod/serverless:v1' }],
        crds: 'apply',
      },
    })
    expect(notes).toEqual([
      'ModuleTemplate kyma-system/serverless-1.5.0 spec.mandatory: write the Installation for every cluster that needs it',
      'ModuleTemplate kyma-system/serverless-1.5.0 spec.data: the default CR is no part of the manifests: apply it when the Installation is ready',
    ])
  })

  it('of one module give one Installation', () => {
    const { specs, notes } = imported(`${template('1.5.0')}---${template('1.6.0')}`)
    expect(Object.keys(specs as object)).toEqual(['kyma-system/serverless'])
    expect(notes.join('\n')).toMatch(/serverless-1.6.0 : another object gives the Installation serverless/)
  })
})

describe('an import', () => {
  it('notes objects of other kinds, and sources that nothing uses', () => {
    const { notes } = imported(`${repository}\n{ apiVersion: v1, kind: ConfigMap, metadata: { name: a } }`)
    expect(notes).toEqual([
      'HelmRepository flux-system/charts : no object that is imported uses it',
      'ConfigMap a : objects of this kind cannot be imported',
    ])
  })
})
