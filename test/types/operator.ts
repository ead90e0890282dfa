/** What the compiler knows about `@muster-dev/muster/operator`. Compiled by the type check, never run. */
import {
  ConfigMap,
  defineApplication,
  defineConfig,
  defineController,
  defineDependent,
  defineKind,
  defineLifecycle,
  defineOperator,
  Deployment,
  exactly,
  fields,
  integer,
  labelled,
  type ObjectOf,
  Pod,
  resourceOf,
  string,
} from '@muster-dev/muster/operator'
import { expectTypeOf } from 'vitest'

const App = defineKind({ group: 'example.com', version: 'v1', kind: 'App', spec: { size: integer() } })
const Other = defineKind({ group: 'example.com', version: 'v1', kind: 'Other', spec: { text: string() } })

const settings = defineConfig({ url: string({ default: 'http://a' }), most: integer({ default: 3 }) })
const others = defineConfig({ unrelated: string({ default: '' }) })

interface Settings {
  readonly url: string
  readonly most: number
}

// Configuration reaches author code with its type.
const plain = defineDependent({
  for: App,
  kind: ConfigMap,
  fromCR({ config }) {
    expectTypeOf(config).toBeUnknown()
    return {}
  },
})
const configured = defineDependent({
  for: App,
  kind: ConfigMap,
  id: 'configured',
  config: settings,
  each: ({ config }) => ({ a: config.most }),
  name: ({ config, item, key }) => `${config.url}${item.toFixed()}${key}`,
  initial: ({ config }) => ({ data: { url: config.url } }),
  activeWhen: ({ config }) => config.most > 0,
  readyWhen(object, { config }) {
    expectTypeOf(config).toEqualTypeOf<Settings>()
    // @ts-expect-error: no such setting
    void config.uri
    return object.data?.['url'] === config.url || 'another URL'
  },
})
const lifecycle = defineLifecycle({
  name: 'App',
  config: settings,
  start: 'on',
  end: 'off',
  desiredStates: ['on', 'off'],
  defaultState: 'on',
  states: {
    on: { to: [{ state: 'off', guard: ({ config }) => config.most > 1 || 'too few' }] },
    off: { to: ['on'], action: { name: 'stop', input: ({ config }) => config.url } },
  },
})
const application = defineApplication({
  for: App,
  lifecycle,
  config: settings,
  reach({ config }) {
    expectTypeOf(config).toEqualTypeOf<Settings>()
    return { url: config.url, token: '' }
  },
})
const controller = defineController({
  for: App,
  config: settings,
  dependents: [plain, configured],
  application,
  check({ config }) {
    expectTypeOf(config).toEqualTypeOf<Settings>()
  },
  status: ({ config }) => (config.most > 1 ? {} : {}),
  steps: {
    Mutator({ config }) {
      expectTypeOf(config).toEqualTypeOf<Settings>()
    },
  },
})
// A controller without functions of its own need not repeat what its dependents read.
const implied = defineController({ for: App, dependents: [plain, configured] })

defineOperator({ name: 'a', controllers: [controller, implied], config: settings })
defineOperator({ name: 'a', controllers: [defineController({ for: App, dependents: [plain] })] })
// @ts-expect-error: the controller reads settings, and the operator has none
defineOperator({ name: 'a', controllers: [controller] })
// @ts-expect-error: the controller reads other settings
defineOperator({ name: 'a', controllers: [implied], config: others })
// @ts-expect-error: the dependent reads other settings than the controller
defineController({ for: App, config: others, dependents: [configured] })
// @ts-expect-error: the application reads other settings than the controller
defineController({ for: App, config: others, application })
// @ts-expect-error: a dependent of another kind
defineController({ for: Other, dependents: [plain] })
// @ts-expect-error: dependents were called resources
defineController({ for: App, resources: [plain] })

// What a view shows has the type of its resource, and a name.
type App = ObjectOf<typeof App>
defineController({
  for: App,
  dependents: [plain],
  status({ cr, view, own, all }) {
    expectTypeOf(cr).toEqualTypeOf<App>()
    expectTypeOf(cr.metadata.name).toEqualTypeOf<string>()
    expectTypeOf(view.get(Deployment, cr.metadata)).toEqualTypeOf<Deployment | undefined>()
    expectTypeOf(view.list(Deployment)[0]!.metadata.name).toEqualTypeOf<string>()
    expectTypeOf(view.ownedBy(Deployment, cr)).toEqualTypeOf<readonly Deployment[]>()
    expectTypeOf(own(plain)).toEqualTypeOf<ConfigMap | undefined>()
    expectTypeOf(all(plain)).toEqualTypeOf<readonly ConfigMap[]>()
    return {}
  },
})

// Projected inputs: paths are checked against the type of the kind, through lists and maps.
const anything = resourceOf('example.com/v1', 'Anything', { plural: 'anythings', namespaced: true })
const projected = [
  fields(Pod, [
    'spec.nodeName',
    'spec.containers.resources.requests.cpu',
    'status.conditions.type',
    'metadata.generation',
  ]),
  fields(labelled(Pod, { labels: { a: 'b' } }), []),
  fields(exactly(ConfigMap, { name: 'a', namespace: 'b' }), ['data.key']),
  fields(Other, ['spec.text', 'status.conditions']),
  fields(anything, ['spec.whatever']),
]
defineController({ for: App, reads: projected })
// @ts-expect-error: no such field
fields(Pod, ['spec.nodName'])
// @ts-expect-error: no such field, below one that is right
fields(Pod, ['spec.nodeName', 'spec.containers.imag'])
// @ts-expect-error: a string has no members
fields(Pod, ['spec.nodeName.x'])
// @ts-expect-error: no such field of a kind that is defined here
fields(Other, ['spec.txt'])
// @ts-expect-error: its own CRs are read whole
defineController({ for: fields(App, ['spec.size']) })
// @ts-expect-error: its own CRs are read whole
defineController({ for: fields(exactly(App, { name: 'a', namespace: 'b' }), []) })
// @ts-expect-error: its outputs are read whole
defineController({ for: App, writes: [fields(ConfigMap, ['data'])] })
