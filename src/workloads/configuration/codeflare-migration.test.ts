import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../kube/json.ts'
import { readYaml, readYamlDocuments } from '../../kube/yaml/yaml.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import { migrateCodeflare } from './codeflare-migration.ts'
import { workloadsConfig, workloadsName } from './workloads-config.ts'

const objects = readYamlDocuments(`
apiVersion: codeflare.codeflare.dev/v1alpha1
kind: MCAD
metadata: { name: mcad, namespace: opendatahub }
spec:
  enableMonitoring: true
  multiCluster: false
  dispatcherMode: true
  preemptionEnabled: true
  podCreationTimeout: -1
  controllerResources: {}
---
apiVersion: codeflare.codeflare.dev/v1alpha1
kind: InstaScale
metadata: { name: instascale, namespace: opendatahub }
spec: { maxScaleoutAllowed: 15, useMachinePools: true }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: instascale-config, namespace: kube-system }
data: { maxScaleoutAllowed: "10", useMachinePools: "no", colour: red }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: mcad-env, namespace: kube-system }
data: { QUOTA_ENABLED: "true", BACKOFFTIME: "40" }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: mcad, namespace: kube-system }
spec:
  template:
    spec:
      containers:
        - image: example.test/mcad-controller:1.34
          command: [mcad-controller]
          args: ["--kubeconfig", "/etc/kube", "--v", "4", "--nonsense"]
          envFrom: [{ configMapRef: { name: mcad-env } }]
          env:
            - { name: HEADOFLINEHOLDINGTIME, value: "6" }
            - { name: QUOTA_REST_URL, valueFrom: { secretKeyRef: { name: s, key: k } } }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: codeflare-operator-config, namespace: opendatahub }
data: { config.yaml: "instascale: { maxScaleoutAllowed: 5, enabled: true }\\nmcad: { backoffTime: 0.5 }" }
---
apiVersion: ibm.com/v1
kind: QuotaSubtree
metadata: { name: root, namespace: kube-system }
---
apiVersion: v1
kind: Service
metadata: { name: other }
`) as readonly JsonObject[]

describe('the migration from CodeFlare', () => {
  it('makes one configuration of all that there is; what counted before counts', () => {
    const { settings, sources } = migrateCodeflare(objects)
    expect(settings).toEqual({
      clientConnection: { kubeconfig: '/etc/kube' },
      logging: { level: 'debug' },
      operators: {
        workloads: {
          config: {
            mcad: { preemption: true, quotaEnabled: true, backoffTime: 40, headOfLineHoldingTime: 6 },
            instascale: {
              enabled: true,
              maxScaleoutAllowed: 5,
              ocmSecretRef: { namespace: 'opendatahub', name: 'instascale-ocm-secret' },
              inference: false,
            },
          },
        },
        instascale: { configFrom: 'workloads' },
      },
    })
    expect(sources).toEqual([
      'MCAD opendatahub/mcad',
      'InstaScale opendatahub/instascale',
      'QuotaSubtree kube-system/root',
      'ConfigMap kube-system/instascale-config',
      'Deployment kube-system/mcad',
      'ConfigMap opendatahub/codeflare-operator-config',
    ])
  })

  it('says what it could not carry over, and why', () => {
    const notes = migrateCodeflare(objects).notes.map(({ object, field, why }) => `${object}, ${field}: ${why}`)
    expect(notes.toSorted()).toEqual([
      expect.stringContaining('ConfigMap kube-system/instascale-config, data.colour: InstaScale did not read'),
      expect.stringContaining(
        'data.maxScaleoutAllowed: ConfigMap opendatahub/codeflare-operator-config, instascale.max',
      ),
      expect.stringContaining('mcad.backoffTime: its value is not valid here'),
      expect.stringContaining('Deployment kube-system/mcad, args: mcad has no flag "--nonsense"'),
      expect.stringContaining('spec.maxScaleoutAllowed: ConfigMap kube-system/instascale-config, data.max'),
      expect.stringContaining('spec.useMachinePools: it is instascale.ocmSecretRef now'),
      expect.stringContaining('MCAD opendatahub/mcad, spec.controllerResources'),
      expect.stringContaining('MCAD opendatahub/mcad, spec.dispatcherMode: one manager serves several clusters'),
      expect.stringContaining('MCAD opendatahub/mcad, spec.enableMonitoring'),
      expect.stringContaining('QuotaSubtree kube-system/root, apiVersion'),
    ])
  })

  it('takes command lines, which win over custom resources, and not over the ConfigMap of the operator', () => {
    const lines = [{ program: 'mcad' as const, argv: ['--preemption=false', '--backofftime', '9'], environment: {} }]
    const config = (given: readonly JsonObject[]) => migrateCodeflare(given, lines).settings
    expect(config(objects)).toMatchObject({ operators: { workloads: { config: { mcad: { preemption: false } } } } })
    const operatorMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'codeflare-operator-config' },
      data: { 'config.yaml': 'mcad: { backoffTime: 11 }' },
    }
    expect(config([operatorMap])).toMatchObject({ operators: { workloads: { config: { mcad: { backoffTime: 11 } } } } })
  })

  it('lets InstaScale give nodes to AppWrappers with its label only, unless its section says otherwise', () => {
    const scaling = (kind: string, spec: object) => ({
      apiVersion: 'codeflare.codeflare.dev/v1alpha1',
      kind,
      metadata: { name: 'a' },
      spec,
    })
    const configured = (text: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'codeflare-operator-config' },
      data: { 'config.yaml': text },
    })
    const of = (...given: readonly object[]) => migrateCodeflare(given as readonly JsonObject[]).settings
    const scaler = { configFrom: 'workloads' }
    expect(of(scaling('InstaScale', {}))).toEqual({
      operators: { workloads: { config: { instascale: { enabled: true, inference: false } } }, instascale: scaler },
    })
    expect(of(configured('instascale: { maxScaleoutAllowed: 4, inference: true }'))).toEqual({
      operators: {
        workloads: { config: { instascale: { maxScaleoutAllowed: 4, inference: true } } },
        instascale: scaler,
      },
    })
    expect(of(configured('instascale: { enabled: false }'))['operators']).not.toHaveProperty('instascale')
    expect(of(scaling('MCAD', { preemptionEnabled: true }))['operators']).toEqual({
      workloads: { config: { mcad: { preemption: true } } },
    })
  })

  it('finds nothing in objects that hold no configuration', () => {
    expect(migrateCodeflare([{ apiVersion: 'v1', kind: 'Service' }]).sources).toEqual([])
  })

  it('gives a valid configuration or says why not, whatever the objects hold', () => {
    const kinds = fc.constantFrom(
      ['codeflare.codeflare.dev/v1alpha1', 'MCAD', 'a'],
      ['codeflare.codeflare.dev/v1alpha1', 'InstaScale', 'a'],
      ['v1', 'ConfigMap', 'instascale-config'],
      ['v1', 'ConfigMap', 'codeflare-operator-config'],
      ['apps/v1', 'Deployment', 'mcad-controller'],
    )
    const section = fc.record({
      backoffTime: fc.jsonValue({ maxDepth: 1 }),
      faultTolerance: fc.record({ warmupGracePeriod: fc.oneof(fc.integer(), fc.string()) }),
      maxScaleoutAllowed: fc.oneof(fc.integer(), fc.string()),
    })
    const text = fc.oneof(
      fc.string(),
      fc.record({ mcad: section, instascale: section, appwrapper: section }).map((value) => JSON.stringify(value)),
    )
    const anyObject = fc.record({
      kind: kinds,
      spec: fc.oneof(section, fc.jsonValue()),
      data: fc.dictionary(fc.constant('config.yaml'), text),
    })
    fc.assert(
      fc.property(fc.array(anyObject, { maxLength: 4 }), (given) => {
        const all = given.map(
          ({ kind: [apiVersion = '', kind = '', name = ''], spec, data }) =>
            readYaml(JSON.stringify({ apiVersion, kind, metadata: { name }, spec, data })) as JsonObject,
        )
        const { settings, notes } = migrateCodeflare(all)
        const isRefused = notes.some(({ object }) => object === 'the new configuration')
        const check = (): unknown =>
          readConfiguration([{ source: 'x', value: settings }], [{ name: workloadsName, config: workloadsConfig }])
        const outcome = isRefused ? 'refused' : check()
        expect(outcome).toBeTruthy()
      }),
    )
  })
})
