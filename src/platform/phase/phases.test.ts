import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { type HelmHook, hookOf, hooksFor } from './hook.ts'
import { hookPhases, type InstallPhase, phasesOf } from './phases.ts'

const groups: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  Job: 'batch/v1',
  CustomResourceDefinition: 'apiextensions.k8s.io/v1',
  APIService: 'apiregistration.k8s.io/v1',
  ValidatingWebhookConfiguration: 'admissionregistration.k8s.io/v1',
  ClusterRole: 'rbac.authorization.k8s.io/v1',
  Widget: 'example.com/v1',
}

function make(
  kind: string,
  name: string,
  more: Partial<KubeObject['metadata']> = {},
  apiVersion?: string,
): UntypedObject {
  return { apiVersion: apiVersion ?? groups[kind] ?? 'v1', kind, metadata: { name, ...more } }
}

const wave = (number: string | number): Partial<KubeObject['metadata']> => ({
  annotations: { 'argocd.argoproj.io/sync-wave': String(number) },
})

const widgetCrd = (more: Partial<KubeObject['metadata']> = {}): UntypedObject => ({
  ...make('CustomResourceDefinition', 'widgets.example.com', more),
  spec: { group: 'example.com', names: { kind: 'Widget' } },
})

const shown = (phases: readonly InstallPhase[]): readonly string[] =>
  phases.map(({ name, objects }) => `${name}: ${objects.map((one) => `${one.kind} ${one.metadata.name}`).join(', ')}`)

function hook(kind: string, name: string, annotations: Readonly<Record<string, string>>): HelmHook {
  const prefixed = Object.entries(annotations).map(([key, value]) => [`helm.sh/${key}`, value])
  return hookOf(make(kind, name, { annotations: Object.fromEntries(prefixed) as Record<string, string> }))!
}

describe('phases', () => {
  it('begin with definitions and end with what intercepts requests', () => {
    const objects = [
      make('Widget', 'w'),
      make('ValidatingWebhookConfiguration', 'hook'),
      make('Deployment', 'web'),
      make('APIService', 'v1.example.com'),
      make('Namespace', 'shop'),
      make('Service', 'web'),
      make('Service', 'a', {}, 'serving.knative.dev/v1'),
      make('ConfigMap', 'b'),
      make('ConfigMap', 'a'),
      widgetCrd(),
    ]
    expect(shown(phasesOf(objects))).toEqual([
      'wave 0: definitions: Namespace shop, CustomResourceDefinition widgets.example.com',
      'wave 0: objects: ConfigMap a, ConfigMap b, Service web, Deployment web, Service a, Widget w',
      'wave 0: interception: APIService v1.example.com, ValidatingWebhookConfiguration hook',
    ])
  })

  it('follow waves, ascending', () => {
    const ours = { annotations: { 'platform.muster.dev/wave': '-2', 'argocd.argoproj.io/sync-wave': '7' } }
    const objects = [
      make('ConfigMap', 'a', wave(10)),
      make('ConfigMap', 'b', wave('-1')),
      make('ConfigMap', 'c'),
      make('ConfigMap', 'd', ours),
    ]
    expect(shown(phasesOf(objects))).toEqual([
      'wave -2: objects: ConfigMap d',
      'wave -1: objects: ConfigMap b',
      'wave 0: objects: ConfigMap c',
      'wave 10: objects: ConfigMap a',
    ])
  })

  it.each(['1.5', 'first', '', '1e3', '99999999999'])('refuse a wave of "%s"', (text) => {
    expect(() => phasesOf([make('ConfigMap', 'a', { namespace: 'shop', ...wave(text) })])).toThrow(
      /ConfigMap shop\/a: the annotation argocd.argoproj.io\/sync-wave must be an integer/,
    )
  })

  it('put no object before its CRD or its Namespace', () => {
    const objects = [
      widgetCrd(wave(2)),
      make('Widget', 'w', wave(1)),
      make('Namespace', 'shop', wave(3)),
      make('ConfigMap', 'a', { namespace: 'shop' }),
      make('ConfigMap', 'b', { namespace: 'other' }),
    ]
    expect(shown(phasesOf(objects))).toEqual([
      'wave 0: objects: ConfigMap b',
      'wave 2: definitions: CustomResourceDefinition widgets.example.com',
      'wave 2: objects: Widget w',
      'wave 3: definitions: Namespace shop',
      'wave 3: objects: ConfigMap a',
    ])
  })
})

describe('hooks', () => {
  const hooks = [
    hook('Job', 'late', { hook: 'pre-install,pre-upgrade', 'hook-weight': '5' }),
    hook('Job', 'b', { hook: 'pre-install', 'hook-weight': '-1' }),
    hook('Job', 'a', { hook: 'pre-install', 'hook-weight': '-1' }),
    hook('ConfigMap', 'z', { hook: 'pre-install', 'hook-weight': '-1' }),
    hook('Job', 'after', { hook: 'post-install' }),
    hook('Job', 'clean', { hook: 'post-delete' }),
    hook('Pod', 'check', { hook: 'test-success' }),
  ]

  it('run by weight, kind and name, around the phases', () => {
    const objects = [widgetCrd(), make('ConfigMap', 'a')]
    expect(phasesOf(objects, { action: 'install', hooks }).map(({ name }) => name)).toEqual([
      'wave 0: definitions',
      'pre-install hook z',
      'pre-install hook a',
      'pre-install hook b',
      'pre-install hook late',
      'wave 0: objects',
      'post-install hook after',
    ])
    expect(phasesOf(objects, { action: 'upgrade', hooks }).map(({ name }) => name)).toEqual([
      'pre-upgrade hook late',
      'wave 0: definitions',
      'wave 0: objects',
    ])
    expect(hookPhases('post-delete', hooks).map(({ name }) => name)).toEqual(['post-delete hook clean'])
    expect(hooksFor('test', hooks).map(({ object }) => object.metadata.name)).toEqual(['check'])
  })

  it('are read from annotations', () => {
    expect(hookOf(make('Job', 'a'))).toBeUndefined()
    expect(hook('Job', 'a', { hook: 'pre-install, POST-upgrade', 'hook-weight': 'x' })).toMatchObject({
      events: ['pre-install', 'post-upgrade'],
      weight: 0,
      deletePolicies: ['before-hook-creation'],
    })
    expect(hook('Job', 'a', { hook: 'test', 'hook-delete-policy': 'hook-succeeded,other,hook-failed' })).toMatchObject({
      deletePolicies: ['hook-succeeded', 'hook-failed'],
    })
    expect(hook('Job', 'a', { hook: 'pre-install,crd-install' }).events).toEqual([])
  })
})

describe('the order of any objects', () => {
  const objects = fc.uniqueArray(
    fc
      .record({
        kind: fc.constantFrom(
          'Namespace',
          'CustomResourceDefinition',
          'Widget',
          'ConfigMap',
          'Deployment',
          'APIService',
          'Constructor',
        ),
        name: fc.constantFrom('a', 'b', 'c', 'constructor'),
        namespace: fc.constantFrom(undefined, 'a', 'b'),
        wave: fc.option(fc.integer({ min: -3, max: 3 })),
      })
      .map(({ kind, name, namespace, wave: number }) => {
        const metadata = Object.assign({}, namespace && { namespace }, number !== null && wave(number))
        const object = make(kind, name, metadata)
        return kind === 'CustomResourceDefinition' ? Object.assign(object, { spec: widgetCrd()['spec'] }) : object
      }),
    {
      selector: (object) => JSON.stringify([object.kind, object.metadata.namespace, object.metadata.name]),
      maxLength: 20,
    },
  )
  const hooks = fc.subarray([
    hook('Job', 'a', { hook: 'pre-install' }),
    hook('Job', 'b', { hook: 'pre-install,post-install', 'hook-weight': '2' }),
  ])

  it('does not depend on the order of the input', () => {
    const shuffled = fc
      .tuple(objects, hooks)
      .chain(([some, around]) =>
        fc.tuple(
          fc.constant(phasesOf(some, { action: 'install', hooks: around })),
          fc.shuffledSubarray(some, { minLength: some.length }),
          fc.shuffledSubarray(around, { minLength: around.length }),
        ),
      )
    fc.assert(
      fc.property(shuffled, ([expected, some, around]) => {
        expect(phasesOf(some, { action: 'install', hooks: around })).toEqual(expected)
      }),
    )
  })

  it('has every object once, and every CRD and Namespace before its objects', () => {
    fc.assert(
      fc.property(objects, (some) => {
        const ordered = phasesOf(some).flatMap((phase) => phase.objects)
        expect(new Set(ordered)).toEqual(new Set(some))
        expect(ordered).toHaveLength(some.length)
        const widget = ordered.findIndex(({ kind }) => kind === 'Widget')
        const crd = ordered.findLastIndex(({ kind }) => kind === 'CustomResourceDefinition')
        expect(widget < 0 || crd < widget).toBe(true)
        const early = ordered.filter(({ kind, metadata }, index) => {
          const namespace = ordered.findIndex(
            (one) => one.kind === 'Namespace' && one.metadata.name === metadata.namespace,
          )
          return kind !== 'Namespace' && kind !== 'CustomResourceDefinition' && namespace > index
        })
        expect(early).toEqual([])
      }),
    )
  })
})
