import { describe, expect, it } from 'vitest'
import { type Controller, defineController } from '../controller.ts'
import { describeInput, exactly, generated, labelled, referenced } from './input.ts'
import { ClusterRole, ConfigMap, Namespace, Node, Secret } from '../../kube/kinds.ts'
import { defineOperator } from '../operator.ts'
import { inRole, placementRoleOf } from '../placement-role.ts'
import { defineDependent } from '../dependent/dependent.ts'
import { resourceOf } from '../../kube/typed-resource.ts'

const cluster = resourceOf('config.openshift.io/v1', 'APIServer', { plural: 'apiservers', namespaced: false })

const served = referenced(Secret, {
  from: exactly(cluster, { name: 'cluster' }),
  namespace: 'openshift-config',
  namePath: '$.spec.servingCerts.namedCertificates[*].servingCertificate.name',
})

describe('an input', () => {
  it('is plain data with a one-line description', () => {
    expect(exactly(cluster, { name: 'cluster' })).toEqual({ select: 'name', resource: cluster, name: 'cluster' })
    const described = [
      exactly(ConfigMap, { name: 'foo', namespace: 'ns' }),
      generated(ClusterRole, { prefix: 'system:my-' }),
      generated(Secret, { prefix: 'my-' }),
      labelled(Secret, { namespace: 'ns', labels: { b: '2', a: '1' } }),
      labelled(Node, { labels: { a: '1' } }),
      served,
      referenced(ConfigMap, { from: served, namePath: '$.data.next', namespacePath: '$.metadata.namespace' }),
      referenced(Namespace, { from: ConfigMap, namePath: '$.data.ns' }),
    ].map(describeInput)
    expect(described).toEqual([
      'configmaps/v1 ns/foo',
      'clusterroles.rbac.authorization.k8s.io/v1 system:my-*',
      'secrets/v1 */my-*',
      'secrets/v1 ns/[a=1,b=2]',
      'nodes/v1 [a=1]',
      'secrets/v1 openshift-config/$.spec.servingCerts.namedCertificates[*].servingCertificate.name of apiservers.config.openshift.io/v1 cluster',
      `configmaps/v1 $.metadata.namespace/$.data.next of ${describeInput(served)}`,
      'namespaces/v1 $.data.ns of configmaps/v1',
    ])
    expect(JSON.parse(JSON.stringify(served))).toEqual(served)
  })

  it.each([
    [() => exactly(ConfigMap, { name: 'x' }), 'exactly(configmaps/v1): it needs a namespace'],
    [() => exactly(Node, { name: 'x', namespace: 'ns' }), 'its objects are in no namespace'],
    [() => exactly(Node, { name: '' }), 'name "" must not be empty'],
    [() => exactly(Node, { name: 'a/b' }), 'name "a/b" must not contain "/"'],
    [() => exactly(ConfigMap, { name: 'x', namespace: 'A_' }), 'exactly(configmaps/v1): namespace "A_"'],
    [() => generated(Node, { prefix: '' }), 'prefix "" must not be empty'],
    [() => labelled(Secret, { labels: {} }), 'declare the kind itself'],
    [() => labelled(Secret, { labels: { 'a b': 'c' } }), 'label a b=c'],
    [() => referenced(Secret, { from: Node, namePath: '$.x' }), 'either a namespace or a namespacePath'],
    [
      () => referenced(Secret, { from: Node, namePath: '$.x', namespace: 'a', namespacePath: '$.y' }),
      'either a namespace or a namespacePath',
    ],
    [() => referenced(Node, { from: Secret, namePath: '$.x', namespacePath: '$.y' }), 'in no namespace'],
    [() => referenced(Node, { from: Secret, namePath: '$.x[' }), 'character 5'],
  ])('is rejected where invalid, with location and reason', (make, message) => {
    expect(make).toThrow(message)
  })
})

describe('the declaration of a controller', () => {
  const config = defineDependent({ for: Namespace, kind: ConfigMap, namespace: () => 'ns' })

  it('contains its CRs, outputs and inputs, with all references', () => {
    const defined = defineController({ for: Namespace, dependents: [config], reads: [served, Node] })
    const [controller] = defineOperator({ name: 'one', controllers: [defined] }).controllers as [Controller]
    expect(controller.declaredInputs.map(describeInput)).toEqual([
      'namespaces/v1',
      'apiservers.config.openshift.io/v1 cluster',
      describeInput(served),
      'nodes/v1',
      'configmaps/v1 */[app.kubernetes.io/managed-by=one]',
    ])
    expect(controller.inputs.map(({ plural }) => plural)).toEqual([
      'namespaces',
      'apiservers',
      'secrets',
      'nodes',
      'configmaps',
    ])
    expect(controller.declaredOutputs.map(describeInput)).toEqual(['configmaps/v1'])
  })

  it('uses the names of `writes` for the outputs of a dependent', () => {
    const foo = exactly(inRole(ConfigMap, 'userWorkload'), { name: 'foo', namespace: 'ns' })
    const { declaredInputs, declaredOutputs } = defineController({
      for: Namespace,
      dependents: [config],
      writes: [foo],
    })
    expect(declaredOutputs).toEqual([foo])
    expect(declaredInputs.map(describeInput)).toEqual(['namespaces/v1', 'configmaps/v1 ns/foo'])
    expect(placementRoleOf(declaredOutputs[0]!.resource)).toBe('userWorkload')
  })

  it('may cover a single object of its kind', () => {
    const controller = defineController({ for: exactly(Namespace, { name: 'cluster' }) })
    expect(controller.kind).toBe(Namespace)
    expect(controller.name).toBe('namespace')
    expect(controller.declaredInputs.map(describeInput)).toEqual(['namespaces/v1 cluster'])
  })

  it('has one version of each kind', () => {
    const old = resourceOf('v1beta1', 'Node', { plural: 'nodes', namespaced: false })
    expect(() => defineController({ for: Namespace, reads: [Node, exactly(old, { name: 'x' })] })).toThrow(
      'Controller namespace: nodes is declared at v1 and at v1beta1. Use one of them everywhere.',
    )
    const controllers = [
      defineController({ for: Namespace, reads: [Node] }),
      defineController({ for: ConfigMap, reads: [exactly(old, { name: 'x' })] }),
    ]
    expect(() => defineOperator({ name: 'two', controllers })).toThrow('Operator two: nodes is declared at v1')
  })

  it('has the label of the operator for what it writes, unless a name is declared, or objects of others matter', () => {
    const inputsWith = (options: Partial<Parameters<typeof defineController<Namespace>>[0]>): readonly string[] => {
      const controllers = [defineController({ for: Namespace, ...options })]
      return defineOperator({ name: 'one', controllers }).declaredInputs.map(describeInput)
    }
    const own = 'configmaps/v1 */[app.kubernetes.io/managed-by=one]'
    const reconcile = (): object => ({})
    expect(inputsWith({ writes: [ConfigMap], reconcile })).toEqual(['namespaces/v1', own])
    expect(inputsWith({ writes: [generated(ConfigMap, { prefix: 'x-' })], reconcile })).toEqual(['namespaces/v1', own])
    expect(inputsWith({ writes: [exactly(ConfigMap, { namespace: 'ns', name: 'x' })], reconcile })).toEqual([
      'namespaces/v1',
      'configmaps/v1 ns/x',
    ])
    for (const policy of ['own', 'adopt'] as const) {
      const dependent = defineDependent({ for: Namespace, kind: ConfigMap, namespace: () => 'ns', policy })
      expect(inputsWith({ dependents: [dependent] })).toEqual(['namespaces/v1', own])
    }
    for (const policy of ['ignore', 'create-only'] as const) {
      const dependent = defineDependent({ for: Namespace, kind: ConfigMap, namespace: () => 'ns', policy })
      expect(inputsWith({ dependents: [dependent] })).toEqual(['namespaces/v1', 'configmaps/v1'])
    }
  })

  it('is merged in the operator, without duplicates', () => {
    const { declaredInputs, declaredOutputs } = defineOperator({
      name: 'two',
      controllers: [
        defineController({ for: Namespace, dependents: [config], reads: [served] }),
        defineController({ for: Secret, reads: [served, ConfigMap] }),
      ],
    })
    expect(declaredInputs.map(describeInput)).toEqual([
      'namespaces/v1',
      'apiservers.config.openshift.io/v1 cluster',
      describeInput(served),
      'configmaps/v1 */[app.kubernetes.io/managed-by=two]',
      'secrets/v1',
      'configmaps/v1',
    ])
    expect(declaredOutputs.map(describeInput)).toEqual(['configmaps/v1'])
  })
})
