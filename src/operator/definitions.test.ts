/** Definitions: what contradicts itself is refused before anything runs, and what is right has the right types. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { App } from '../../test/app-operator.ts'
import type { KubeObject } from '../kube/object.ts'
import { type ConfigOf, defineConfig } from './config.ts'
import { type Controller, defineController, type StatusReport, type StepContext } from './controller.ts'
import { integer, optional, string } from './kind/field.ts'
import { exactly, labelled } from './view/input.ts'
import { ConfigMap, Deployment, type Secret, Secret as SecretKind, Service } from '../kube/kinds.ts'
import { defineOperator } from './operator.ts'
import { defineDependent, type DependentOverlay } from './dependent/dependent.ts'
import { roleOf } from './role.ts'
import { defineTask } from './task/task.ts'
import { type ObjectOf, resourceOf } from '../kube/typed-resource.ts'
import type { View } from './view/view.ts'

const config = defineDependent({ for: App, kind: ConfigMap })

/** As in JavaScript, where no compiler finds them. */
const renamed = { resources: [] }
const misspelt = { fromCr: () => ({}) }
const misspeltTask = { timeout: 5 }

describe('a contradictory definition is rejected with its location', () => {
  const mistakes: readonly (readonly [string, () => unknown, string, RegExp])[] = [
    ['an unknown kind', () => resourceOf('example.com/v1', 'Nothing'), 'UnknownKind', /Nothing of example\.com\/v1/],
    [
      'create-only with a scope',
      () => defineDependent({ for: App, kind: ConfigMap, policy: 'create-only', scope: { data: true } }),
      'InvalidDependent',
      /Dependent configMap \(configmaps\/v1\)/,
    ],
    [
      'an empty scope',
      () => defineDependent({ for: App, kind: ConfigMap, scope: { labels: false } }),
      'InvalidDependent',
      /configMap/,
    ],
    [
      'an invalid path',
      () => defineDependent({ for: App, kind: ConfigMap, scope: { except: ['spec..x'] } }),
      'InvalidFieldPath',
      /spec\.\.x/,
    ],
    [
      'two dependents of one name',
      () => defineController({ for: App, dependents: [config, config] }),
      'InvalidController',
      /Controller app has two dependents called configMap/,
    ],
    [
      'a missing dependency',
      () =>
        defineController({
          for: App,
          dependents: [defineDependent({ for: App, kind: SecretKind, dependsOn: [config] })],
        }),
      'InvalidController',
      /secret depends on configMap/,
    ],
    [
      'cyclic dependencies',
      () => {
        const a = defineDependent({ for: App, kind: ConfigMap, id: 'a', dependsOn: [{ id: 'b' }] })
        const b = defineDependent({ for: App, kind: ConfigMap, id: 'b', dependsOn: [a] })
        return defineController({ for: App, dependents: [a, b] })
      },
      'InvalidController',
      /a → b → a wait for each other/,
    ],
    [
      'an option that was renamed',
      () => defineController({ for: App, ...renamed }),
      'InvalidController',
      /Controller app has no option "resources". Its options are for, name, config, dependents,/,
    ],
    [
      'a misspelt option of a dependent',
      () => defineDependent({ for: App, kind: ConfigMap, ...misspelt }),
      'InvalidDependent',
      /Dependent configMap .* has no option "fromCr". Did you mean "fromCR"\?/,
    ],
    [
      'a misspelt option of an operator',
      () => defineOperator({ name: 'a', controllers: [defineController({ for: App })], ...misspelt }),
      'InvalidController',
      /Operator a has no option "fromCr". Its options are name, controllers,/,
    ],
    [
      'a setting that the operator does not have',
      () => {
        const settings = defineConfig({ url: string({ default: '' }) })
        const reader = defineDependent({ for: App, kind: ConfigMap, config: settings })
        // As in JavaScript: the compiler would find it.
        const controllers: readonly Controller[] = [defineController({ for: App, dependents: [reader] })]
        return defineOperator({ name: 'a', controllers, config: defineConfig({ other: string({ default: '' }) }) })
      },
      'InvalidController',
      /Operator a: controller app reads the setting "url", which the operator's configuration does not have/,
    ],
    [
      'dependents and reconcile()',
      () => defineController({ for: App, dependents: [config], reconcile: () => ({}) }),
      'InvalidController',
      /both dependents and reconcile/,
    ],
    [
      'an unknown step',
      // @ts-expect-error: the type refuses it, too
      () => defineController({ for: App, steps: { Sing: () => undefined } }),
      'InvalidController',
      /overrides step Sing.*CRChecker/,
    ],
    [
      'no creations at all',
      () => defineController({ for: App, maxCreations: 0 }),
      'InvalidController',
      /maxCreations is 0/,
    ],
    [
      'a resync of zero',
      () => defineController({ for: App, resyncMs: Number.NaN }),
      'InvalidController',
      /resyncMs is NaN/,
    ],
    [
      'an operator without controllers',
      () => defineOperator({ name: 'x', controllers: [] }),
      'InvalidController',
      /Operator x/,
    ],
    [
      'an invalid name',
      () => defineOperator({ name: 'No Name', controllers: [defineController({ for: App })] }),
      'InvalidController',
      /"No Name"/,
    ],
    [
      'two controllers of one name',
      () =>
        defineOperator({ name: 'x', controllers: [defineController({ for: App }), defineController({ for: App })] }),
      'InvalidController',
      /two controllers called app/,
    ],
    [
      'two controllers for one kind, which would overwrite each other’s conditions and finalizer',
      () =>
        defineOperator({
          name: 'x',
          controllers: [defineController({ for: App }), defineController({ for: App, name: 'other' })],
        }),
      'InvalidController',
      /app and other are both for apps\.test\.example\.com\/v1/,
    ],
    [
      'two tasks of one name and version',
      () =>
        defineController({
          for: App,
          tasks: [defineTask({ name: 'render', run: () => 1 }), defineTask({ name: 'render', run: () => 2 })],
        }),
      'InvalidController',
      /Controller app has two tasks called render version 1/,
    ],
    [
      'a task with a name of another form',
      () => defineTask({ name: 'Render It', run: () => 1 }),
      'InvalidTask',
      /Task Render It: its name must consist of lower-case letters/,
    ],
    [
      'a task with an invalid version',
      () => defineTask({ name: 'render', version: 0.5, run: () => 1 }),
      'InvalidTask',
      /Task render: version is 0\.5; it must be an integer above 0/,
    ],
    [
      'a task with a misspelt option',
      () => defineTask({ name: 'render', run: () => 1, ...misspeltTask }),
      'InvalidTask',
      /Task render has no option "timeout"\. Did you mean "timeoutMs"\?/,
    ],
    [
      'an invalid back-off',
      () => defineController({ for: App, backOff: { firstMs: 0 } }),
      'InvalidController',
      /backOff\.firstMs is 0/,
    ],
  ]
  it.each(mistakes)('%s', (_, define, name, message) => {
    expect(define).toThrow(expect.objectContaining({ name }))
    expect(define).toThrow(message)
  })
})

describe('a configuration', () => {
  const settings = defineConfig({
    image: string({ default: 'app:1' }),
    most: integer({ default: 3, minimum: 1 }),
    note: optional(string()),
  })

  it('needs no values', () => {
    expect(settings.read({})).toEqual({ image: 'app:1', most: 3 })
  })

  it.each([
    [{ most: 0 }, /most/],
    [{ mots: 1 }, /mots: there is no such setting \(there are image, most, note\)/],
    [{ image: 5 }, /image/],
    [JSON.parse('{"__proto__": 1}'), /__proto__/],
  ])('%j is rejected by name', (given, message) => {
    expect(() => settings.read(given as never)).toThrow(message)
  })

  it('is typed', () => {
    expectTypeOf<ConfigOf<typeof settings>>().toEqualTypeOf<{
      readonly image: string
      readonly most: number
      readonly note?: string
    }>()
  })
})

describe('the role of an operator', () => {
  it('contains the declaration, and nothing else', () => {
    const operator = defineOperator({
      name: 'kit',
      controllers: [defineController({ for: App, dependents: [config], reads: [Deployment], finalize: () => 'done' })],
    })
    const { rules = [] } = roleOf(operator)
    const text = rules.map(
      ({ apiGroups = [], resources = [], verbs }) => `${apiGroups.join()} ${resources.join()}: ${verbs.join()}`,
    )
    expect(text).toEqual([
      ' configmaps: create,delete,get,list,patch,watch',
      ' events: create,get,patch',
      'apiextensions.k8s.io customresourcedefinitions: list,watch',
      'apps deployments: list,watch',
      'test.example.com apps: get,list,patch,watch',
      'test.example.com apps/finalizers: update',
      'test.example.com apps/status: patch',
    ])
  })

  it('uses resource names where nothing else is declared of the kind', () => {
    const controller = defineController({
      for: exactly(App, { name: 'only', namespace: 'a' }),
      writes: [
        exactly(ConfigMap, { name: 'foo', namespace: 'a' }),
        exactly(ConfigMap, { name: 'bar', namespace: 'b' }),
      ],
      reads: [
        exactly(Deployment, { name: 'one', namespace: 'a' }),
        exactly(SecretKind, { name: 'x', namespace: 'a' }),
        exactly(SecretKind, { name: 'y', namespace: 'a' }),
        labelled(Service, { labels: { a: 'b' } }),
      ],
      reconcile: () => ({}),
    })
    const { rules = [] } = roleOf(defineOperator({ name: 'kit', controllers: [controller] }))
    const text = rules.map(
      ({ apiGroups = [], resources = [], resourceNames = [], verbs }) =>
        `${apiGroups.join()} ${resources.join()} [${resourceNames.join()}]: ${verbs.join()}`,
    )
    expect(text).toEqual([
      ' configmaps [bar,foo]: create,delete,get,list,patch,watch',
      ' events []: create,get,patch',
      ' secrets [x,y]: list,watch',
      ' services []: list,watch',
      'apiextensions.k8s.io customresourcedefinitions []: list,watch',
      'apps deployments [one]: list,watch',
      'test.example.com apps [only]: get,list,patch,watch',
      'test.example.com apps/finalizers [only]: update',
      'test.example.com apps/status [only]: patch',
    ])
  })
})

describe('types', () => {
  it('derive from the kinds', () => {
    expectTypeOf<App['spec']['text']>().toEqualTypeOf<string>()
    expectTypeOf<App['spec']['parts']>().toEqualTypeOf<Readonly<Record<string, string>> | undefined>()
    expectTypeOf<ObjectOf<typeof Deployment>>().toEqualTypeOf<Deployment>()

    defineDependent({
      for: App,
      kind: Deployment,
      fromCR: ({ cr, key, item }) => {
        expectTypeOf(cr.spec.size).toEqualTypeOf<number>()
        expectTypeOf(key).toEqualTypeOf<string>()
        expectTypeOf(item).toEqualTypeOf<undefined>()
        return { spec: { replicas: cr.spec.size } }
      },
    })
    // @ts-expect-error: replicas is a number
    defineDependent({ for: App, kind: Deployment, fromCR: () => ({ spec: { replicas: 'three' } }) })
    // @ts-expect-error: there is no such field
    defineDependent({ for: App, kind: Deployment, initial: { spec: { replica: 3 } } })
    // @ts-expect-error: there is no such policy
    expect(() => defineDependent({ for: App, kind: Deployment, policy: 'mine' })).not.toThrow()
    // @ts-expect-error: a CR has no such field
    defineDependent({ for: App, kind: ConfigMap, name: ({ cr }) => cr.spec.nothing })
    const overlay: DependentOverlay<Secret> = { stringData: { a: 'b' }, metadata: { labels: { a: 'b' } } }
    expect(overlay).toBeDefined()
  })

  it('of N objects derive from each', () => {
    defineDependent({
      for: App,
      kind: ConfigMap,
      each: () => ({ blue: { port: 80 }, green: { port: 81 } }),
      name: ({ item }) => `app-${item.port}`,
      fromCR: ({ item }) => {
        expectTypeOf(item).toEqualTypeOf<{ port: number }>()
        return { data: { port: String(item.port) } }
      },
    })
    defineDependent({
      for: App,
      kind: ConfigMap,
      each: ({ cr }) => cr.spec.parts ?? {},
      // @ts-expect-error: an item is text
      fromCR: ({ item }) => ({ data: { port: item.port } }),
    })
  })

  it('of the status, the steps and the view derive from the kind', () => {
    expectTypeOf<StatusReport<App>['names']>().toEqualTypeOf<readonly string[] | undefined>()
    defineController({ for: App, status: () => ({ seen: 'x', names: ['a'] }) })
    // @ts-expect-error: seen is text
    defineController({ for: App, status: () => ({ seen: 5 }) })
    // @ts-expect-error: the kit's own
    defineController({ for: App, status: () => ({ observedGeneration: 5 }) })
    defineController({
      for: App,
      dependents: [config],
      status: ({ own, all, view }) => {
        expectTypeOf(own(config)).toEqualTypeOf<ConfigMap | undefined>()
        expectTypeOf(all(config)).toEqualTypeOf<readonly ConfigMap[]>()
        expectTypeOf(view.list(Deployment)).toEqualTypeOf<readonly Deployment[]>()
        return {}
      },
      steps: {
        CRChecker(context) {
          expectTypeOf(context).toEqualTypeOf<StepContext<App>>()
        },
      },
    })
    // @ts-expect-error: finalize says done, or what it waits for
    defineController({ for: App, finalize: () => true })
    const Other = resourceOf<KubeObject & { readonly spec: { readonly a: 1 } }>('x.example.com/v1', 'X', {
      plural: 'xs',
      namespaced: true,
    })
    const read = (view: View) => view.get(Other, { name: 'a' })?.spec.a
    expectTypeOf<ReturnType<typeof read>>().toEqualTypeOf<1 | undefined>()
    // @ts-expect-error: a dependent of another kind
    defineController({ for: Other, dependents: [config] })
  })
})
