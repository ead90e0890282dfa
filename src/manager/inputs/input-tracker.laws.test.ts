import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type App, app, App as AppKind, appOperator } from '../../../test/app-operator.ts'
import { canonicalJson } from '../../kube/apply/canonical.ts'
import { asJson } from '../../kube/json-object.ts'
import { fields } from '../../operator/view/projected-input.ts'
import { crds, embedded } from '../../../test/embedded.ts'
import { createSharedCache } from '../../cache/shared-cache.ts'
import { formatResource, type Resource } from '../../kube/kind.ts'
import { operatorErrors } from '../../operator/errors.ts'
import { isMusterError } from '../../kube/muster-error.ts'
import type { KubeObject, UntypedObject } from '../../kube/object.ts'
import { exactly, generated, type Input, labelled, referenced, whole } from '../../operator/view/input.ts'
import { ConfigMap, Secret } from '../../kube/kinds.ts'
import type { TypedResource } from '../../kube/typed-resource.ts'
import { openView, type View, type ViewSource } from '../../operator/view/view.ts'
import { hostOperator } from '../hosting/host.ts'

const here = '$.metadata.namespace'
const name = fc.constantFrom('x', 'xy', 'z')
const color = fc.constantFrom('red', 'blue')

const direct: fc.Arbitrary<Input> = fc
  .record({ kind: fc.constantFrom<TypedResource>(ConfigMap, Secret), name, color, isEverywhere: fc.boolean() })
  .chain(({ kind, name: called, color: label, isEverywhere }) => {
    const where = isEverywhere ? {} : { namespace: 'default' }
    return fc.constantFrom<Input>(
      whole(kind),
      exactly(kind, { name: called, namespace: 'default' }),
      generated(kind, { prefix: 'x', ...where }),
      labelled(kind, { labels: { color: label }, ...where }),
    )
  })

/** Some inputs read parts of their objects: so one object is often selected by inputs with different fields. */
const projected = (input: Input): fc.Arbitrary<Input> =>
  fc.constantFrom<Input>(
    input,
    fields(input, []),
    fields(input, ['data.next']),
    fields(input, ['data.other']),
    fields(input, ['data', 'immutable']),
  )

const byApp = referenced(ConfigMap, { from: AppKind, namePath: '$.spec.text', namespacePath: here })
const declarations: fc.Arbitrary<readonly Input[]> = fc.uniqueArray(
  fc
    .oneof(
      direct,
      fc.constantFrom<Input>(
        byApp,
        referenced(Secret, { from: byApp, namePath: '$.data.next', namespacePath: here }),
        referenced(Secret, { from: fields(byApp, ['data.next']), namePath: '$.data.next', namespacePath: here }),
        referenced(Secret, { from: AppKind, namePath: '$.spec.items[*]', namespace: 'default' }),
      ),
    )
    .chain(projected),
  { minLength: 1, maxLength: 4, selector: (input) => JSON.stringify(input) },
)

type Step =
  | {
      readonly put: 'ConfigMap' | 'Secret'
      readonly name: string
      readonly color: string
      readonly next: string
      readonly other: string
    }
  | { readonly drop: 'ConfigMap' | 'Secret'; readonly name: string }
  | { readonly app: 'a' | 'b'; readonly text: string; readonly items: readonly string[] }

const kind = fc.constantFrom('ConfigMap' as const, 'Secret' as const)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ put: kind, name, color, next: name, other: color }),
  fc.record({ put: kind, name, color, next: name, other: color }),
  fc.record({ drop: kind, name }),
  fc.record({
    app: fc.constantFrom('a' as const, 'b' as const),
    text: name,
    items: fc.uniqueArray(name, { maxLength: 2 }),
  }),
)

/** Everything that is shown, except what every write changes. */
function contentOf({ metadata, ...rest }: KubeObject): string {
  const { resourceVersion: _v, managedFields: _m, ...shown } = metadata
  return canonicalJson(asJson({ ...rest, metadata: shown }))
}

/** What a reconcile looks at: it depends on the CR. A refusal is an answer, too. */
function look(cr: App, view: View): string {
  const answers: unknown[] = []
  const ask = (read: () => readonly (KubeObject | undefined)[]): void => {
    try {
      answers.push(
        read()
          .map((object) => (object ? contentOf(object) : 'none'))
          .toSorted(),
      )
    } catch (error) {
      if (!isMusterError(error, operatorErrors.UndeclaredInput)) throw error
      answers.push('refused')
    }
  }
  const at = { name: cr.spec.text, namespace: 'default' }
  ask(() => [view.get(ConfigMap, at)])
  ask(() => [view.get(Secret, at)])
  // One of them looks at everything, the other at what is red.
  const selection = cr.metadata.name === 'a' ? {} : { labels: 'color=red' }
  ask(() => view.list(Secret, selection))
  for (const item of cr.spec.items ?? []) ask(() => [view.get(Secret, { name: item, namespace: 'default' })])
  return JSON.stringify(answers)
}

describe('for any declaration and any changes', () => {
  it('a key is enqueued by exactly the changes of objects it can read, and sees them', async () => {
    await fc.assert(
      fc.asyncProperty(declarations, fc.array(step, { minLength: 1, maxLength: 8 }), async (reads, steps) => {
        const { clock, client } = embedded()
        await client.create(crds, AppKind.crd() as unknown as UntypedObject)
        for (const each of ['a', 'b']) await client.create(AppKind, app(each, { text: 'x', items: ['z'] }))
        await clock.settle()
        const looked = new Map<string, string>()
        const woken: string[] = []
        const operator = appOperator({
          reads,
          check({ cr, view }) {
            woken.push(cr.metadata.name)
            looked.set(cr.metadata.name, look(cr, view))
          },
        })
        const cache = createSharedCache({ client, clock })
        const host = hostOperator({ operator, client, cache, clock })
        const until = async (promise: Promise<unknown>): Promise<void> => {
          let isDone = false
          const noting = promise.finally(() => (isDone = true))
          await clock.until(() => isDone)
          await noting
        }
        const settle = async (): Promise<void> => {
          await clock.advance(100)
          await until(host.idle())
          await clock.advance(100)
        }
        /** What there is to see now, by a view of its own. */
        const expected = async (): Promise<ReadonlyMap<string, string>> => {
          const lists = new Map<string, readonly KubeObject[]>()
          for (const resource of [ConfigMap, Secret, AppKind] as readonly Resource[]) {
            lists.set(formatResource(resource), (await client.list(resource)).items)
          }
          const all = (resource: Resource): readonly KubeObject[] => lists.get(formatResource(resource)) ?? []
          const source: ViewSource = {
            get: (resource, at) =>
              all(resource).find(({ metadata }) => metadata.name === at.name && metadata.namespace === at.namespace),
            list: (resource) => all(resource),
            byOwner: () => [],
            serves: () => true,
          }
          const { declaredInputs: inputs } = operator.controllers[0]!
          return new Map(
            all(AppKind).map((cr) => [cr.metadata.name!, look(cr as App, openView({ source, reader: 'law', inputs }))]),
          )
        }
        await until(host.start())
        await settle()
        let before = await expected()
        expect(looked).toEqual(before)
        for (const each of steps) {
          woken.length = 0
          const isOwn = await take(each)
          await settle()
          const after = await expected()
          expect(looked).toEqual(after)
          const due = [...after].filter(([key, answer]) => answer !== before.get(key)).map(([key]) => key)
          expect([...new Set(woken)].toSorted()).toEqual([...new Set([...due, ...isOwn])].toSorted())
          before = after
        }
        await until(host.stop())

        /** Names the CR that changed, if one did. */
        async function take(given: Step): Promise<readonly string[]> {
          if ('app' in given) {
            const at = { name: given.app, namespace: 'default' }
            const { metadata } = await client.get(AppKind, at)
            const patch = { spec: { text: given.text, items: given.items } }
            const { metadata: now } = await client.patch(AppKind, at, patch, { type: 'merge' })
            return metadata.resourceVersion === now.resourceVersion ? [] : [given.app]
          }
          const resource: Resource = ('put' in given ? given.put : given.drop) === 'Secret' ? Secret : ConfigMap
          const at = { name: given.name, namespace: 'default' }
          if ('drop' in given) {
            await client.delete(resource, at).catch(() => undefined)
            return []
          }
          const { next, other } = given
          const data = resource === Secret ? { next: btoa(next), other: btoa(other) } : { next, other }
          const metadata = { ...at, labels: { color: given.color } }
          const object = { apiVersion: 'v1', kind: resource.kind, metadata, data } as UntypedObject
          await client.apply(resource, object, { fieldManager: 'somebody' })
          return []
        }
      }),
      { numRuns: 30 },
    )
  }, 60_000)
})
