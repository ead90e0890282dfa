import { describe, expect, it } from 'vitest'
import { harbourCoordinator, harbourOperator, Ship } from '../../../test/coordinator-operator.ts'
import { Deployment, Node, Pod } from '../../kube/kinds.ts'
import { resourceOf } from '../../kube/typed-resource.ts'
import { defineController } from '../controller.ts'
import { defineOperator } from '../operator.ts'
import { roleOf } from '../role.ts'
import { labelled } from '../view/input.ts'
import { fields } from '../view/projected-input.ts'
import { defineCoordinator } from './coordinator.ts'

const parts = { start: () => ({}), take: () => undefined, decide: () => ({ decisions: [] }) }

describe('the definition of a coordinator', () => {
  it.each([
    ['a name', { ...parts, name: 'My queue', reads: [Pod] }, /its name must consist of/],
    ['inputs', { ...parts, name: 'queue', reads: [] }, /reads nothing/],
    ['a function', { ...parts, name: 'queue', reads: [Pod], decide: undefined }, /has no function decide/],
    ['known options', { ...parts, name: 'queue', reads: [Pod], decides: 1 }, /Did you mean "decide"/],
    [
      'one version of a kind',
      {
        ...parts,
        name: 'queue',
        reads: [Deployment, resourceOf('apps/v1beta1', 'Deployment', { plural: 'deployments', namespaced: true })],
      },
      /deployments\.apps/,
    ],
  ])('needs %s', (_what, options, message) => {
    expect(() => defineCoordinator(options as never)).toThrow(message)
  })

  it('makes its inputs those of the operator: caches and the RBAC role follow, the views of its controllers do not', () => {
    const scaler = defineCoordinator({
      ...parts,
      name: 'scaler',
      reads: [fields(Node, ['spec.unschedulable']), labelled(Pod, { labels: { a: 'b' } })],
    })
    const controller = defineController({ for: Ship, coordinators: [scaler], reconcile: () => ({}) })
    const operator = defineOperator({ name: 'fleet', controllers: [controller] })
    expect(operator.coordinators).toEqual([scaler])
    expect(operator.inputs.map(({ kind }) => kind)).toEqual(['Ship', 'Node', 'Pod'])
    expect(controller.inputs.map(({ kind }) => kind)).toEqual(['Ship'])
    const watched = (roleOf(operator).rules ?? []).filter(({ verbs }) => verbs.includes('watch'))
    expect(watched.flatMap(({ resources = [] }) => resources).toSorted()).toEqual(
      ['customresourcedefinitions', 'nodes', 'pods', 'ships'].toSorted(),
    )
  })

  it('is shared by the controllers of an operator, which has one of each name and the settings that they read', () => {
    const harbour = harbourCoordinator()
    const Boat = { ...Ship, kind: 'Boat', plural: 'boats' }
    const controllers = [Ship, Boat].map((kind) =>
      defineController({ for: kind, coordinators: [harbour], reconcile: () => ({}) }),
    )
    const { config } = harbourOperator()
    expect(defineOperator({ name: 'one', controllers, config: config! }).coordinators).toEqual([harbour])
    const other = defineController({ for: Boat, coordinators: [harbourCoordinator()], reconcile: () => ({}) })
    expect(() => defineOperator({ name: 'one', controllers: [controllers[0]!, other], config: config! })).toThrow(
      /two coordinators called harbour/,
    )
    expect(() => defineOperator({ name: 'one', controllers })).toThrow(/setting "reserve"/)
  })
})
