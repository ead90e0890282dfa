import { describe, expect, it } from 'vitest'
import { App } from '../../../test/app-operator.ts'
import { ConfigMap, Deployment, Pod, Secret } from '../../kube/kinds.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { defineController } from '../controller.ts'
import { defineDependent } from '../dependent/dependent.ts'
import { defineOperator } from '../operator.ts'
import { roleOf } from '../role.ts'
import { describeInput, exactly, generated, type Input, labelled, referenced } from './input.ts'
import { fields } from './projected-input.ts'

const here = '$.metadata.namespace'
const defined = (...reads: readonly Input[]) => defineController({ for: App, reads })

describe('an input with fields', () => {
  it('is described with them', () => {
    const byApp = referenced(ConfigMap, { from: App, namePath: '$.spec.text', namespacePath: here })
    const inputs: readonly Input[] = [
      fields(Pod, ['status.phase', 'spec.nodeName', 'status.phase']),
      fields(labelled(Secret, { labels: { owner: 'helm' } }), []),
      fields(exactly(ConfigMap, { name: 'a', namespace: 'b' }), ['data']),
      fields(generated(Pod, { prefix: 'x-' }), ['spec', 'spec.nodeName']),
      fields(byApp, ['data.next']),
    ]
    expect(inputs.map(describeInput)).toEqual([
      'pods/v1 {spec.nodeName, status.phase}',
      'secrets/v1 */[owner=helm] {metadata}',
      'configmaps/v1 b/a {data}',
      'pods/v1 */x-* {spec}',
      `${describeInput(byApp)} {data.next}`,
    ])
  })

  it('has the same role as without', () => {
    const roleWith = (...reads: readonly Input[]) =>
      roleOf(defineOperator({ name: 'one', controllers: [defined(...reads)] }))
    const helm = labelled(Secret, { labels: { owner: 'helm' } })
    expect(roleWith(fields(helm, []))).toEqual(roleWith(helm))
    expect(roleWith(fields(helm, []), fields(helm, ['type']))).toEqual(roleWith(helm))
  })
})

describe('fields() refuses', () => {
  const open = resourceOf('example.com/v1', 'Other', { plural: 'others', namespaced: true })
  const other = (...paths: readonly string[]) => fields(open, paths)

  it.each<[string, () => unknown]>([
    ['fields(others.example.com/v1): "spec..a" is no path to a field: members are sep', () => other('spec..a')],
    ['fields(others.example.com/v1): "" is no path to a field', () => other('')],
    ['fields(others.example.com/v1): "$.spec" is no path to a field', () => other('$.spec')],
    ['fields(others.example.com/v1): "spec.list[0]" is no path to a field', () => other('spec.list[0]')],
    ['fields(others.example.com/v1): metadata.labels is always read; leave it out.', () => other('metadata.labels')],
    ['fields(others.example.com/v1): kind is always read; leave it out.', () => other('kind')],
    ['fields(others.example.com/v1): managedFields cannot be read.', () => other('metadata.managedFields')],
    ['fields(others.example.com/v1): a path of 501 characters is too long.', () => other('a'.repeat(501))],
    [
      'fields(others.example.com/v1): it has fields already; list all of them at once.',
      () => fields(other('spec'), ['status']),
    ],
  ])('%s', (message, define) => {
    expect(define).toThrow(message)
  })
})

describe('a controller refuses', () => {
  const apps = resourceOf(`${App.group}/${App.version}`, App.kind, App)
  const projectedApp: object = fields(exactly(apps, { name: 'a', namespace: 'default' }), [])
  const pods = resourceOf('v1', 'Pod')

  it.each<[string, () => unknown]>([
    [
      'Controller app, in fields(): Pod of v1 has no field spec.nodName. Did you mean "nodeName"?',
      () => defined(fields(pods, ['spec.nodName'])),
    ],
    [
      'Controller app, in fields(): Pod of v1 has no field spec.containers.imag. Did you mean "image"?',
      () => defined(fields(pods, ['spec.containers.imag'])),
    ],
    [
      'Controller app, in fields(): spec.nodeName: it has no members.',
      () => defined(fields(pods, ['spec.nodeName.x'])),
    ],
    [
      'Controller app: apps.test.example.com/v1 {status.seen}: apps.test.example.com/v1 is read whole, as its CRs or its outputs.',
      () => defined(fields(App, ['status.seen'])),
    ],
    [
      'Controller app: apps.test.example.com/v1 default/a {metadata}: its own CRs and its outputs are read whole.',
      () => defineController({ for: projectedApp as never }),
    ],
    [
      'Controller app: configmaps/v1 {data}: its own CRs and its outputs are read whole. Use fields() in reads only.',
      () => defineController({ for: App, writes: [fields(ConfigMap, ['data']) as never] }),
    ],
    [
      'Controller app: configmaps/v1 default/a {data}: configmaps/v1 default/a is read whole, as its CRs or its outputs.',
      () => {
        const one = exactly(ConfigMap, { name: 'a', namespace: 'default' })
        return defineController({ for: App, writes: [one], reads: [fields(one, ['data'])] })
      },
    ],
    [
      'referenced(secrets/v1): $.data.next reads data.next, but of configmaps/v1 fields() has only immutable.',
      () =>
        referenced(Secret, { from: fields(ConfigMap, ['immutable']), namePath: '$.data.next', namespacePath: here }),
    ],
    [
      'referenced(secrets/v1): $.spec.containers[*].image reads spec.containers, but of pods/v1 fields() has only spec.containers.image.',
      () =>
        referenced(Secret, {
          from: fields(Pod, ['spec.containers.image']),
          namePath: '$.spec.containers[*].image',
          namespacePath: here,
        }),
    ],
    [
      'has a filter, which may read any field: pods/v1 is read in part.',
      () =>
        referenced(Secret, {
          from: fields(Pod, ['spec']),
          namePath: '$.spec.containers[?(@.name == "a")].image',
          namespacePath: here,
        }),
    ],
  ])('%s', (message, define) => {
    expect(define).toThrow(message)
  })

  it('no field of a kind whose schema is not known', () => {
    const open = resourceOf('example.com/v1', 'Other', { plural: 'others', namespaced: true })
    expect(() => defined(fields(open, ['spec.anything']))).not.toThrow()
  })

  it('no path through lists and maps', () => {
    expect(() =>
      defined(
        fields(pods, ['spec.containers.resources.requests', 'spec.containers.image', 'spec.nodeSelector.disk']),
        fields(exactly(Secret, { name: 'a', namespace: 'b' }), ['data.password']),
      ),
    ).not.toThrow()
  })

  it('no fields of other objects of the kinds that it writes', () => {
    const dependent = defineDependent({ for: App, kind: Deployment, initial: {} })
    const reads = [fields(Deployment, ['status.readyReplicas'])]
    expect(() => defineController({ for: App, dependents: [dependent], reads })).not.toThrow()
  })
})
