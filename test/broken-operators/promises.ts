/**
 * State transitions and promises (Acto: 56 bugs): a changed CR ends differently than a new one, a reverted change
 * leaves a trace, a status is wrong, fields of other managers are lost. Three of them are free-style operators of the
 * kit; the kit prevents the others.
 */
import type { Operator } from '../../src/operator/operator.ts'
import { defineController } from '../../src/operator/controller.ts'
import { defineOperator } from '../../src/operator/operator.ts'
import { ConfigMap, Deployment, Namespace } from '../../src/kube/kinds.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import { roleOf } from '../../src/operator/role.ts'
import { runOn, type SimulatedSubject } from '../../src/simulate/faults/subject.ts'
import {
  App,
  type AppObject,
  type Bare,
  bareSubject,
  configMap,
  create,
  keepsake,
  merge,
  ownName,
  setStatus,
} from './bare.ts'
import type { Specimen } from './specimen.ts'

const appOf = (bare: Bare, name: string): AppObject | undefined => bare.get(App, name) as AppObject | undefined
type Child = { readonly data?: Readonly<Record<string, string>> } | undefined

/** An operator of the kit, created for each process. */
function kitSubject(load: () => Operator): SimulatedSubject {
  const first = load()
  return {
    name: first.name,
    kinds: first.kinds,
    controls: first.controllers.map(({ kind }) => kind),
    outputs: first.outputs,
    rules: roleOf(first).rules ?? [],
    spawn: () => (around) => runOn(around, load()),
  }
}

function deployment(cr: UntypedObject): UntypedObject {
  const labels = { app: cr.metadata.name ?? '' }
  return {
    ...configMap(cr, '', {}),
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    data: undefined,
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'app', image: 'app:1' }] } },
    },
  }
}

export const promises: readonly Specimen[] = [
  {
    name: 'field removed from the CR but not from the child',
    class: 'Acto: state transition',
    bug: 'writes what the CR has, and nothing about what it no longer has',
    law: 'walk',
    says: /configmaps default\/sample has \.data\.extra "walked" instead of absent/,
    shownBy: undefined,
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const { text, extra } = cr.spec
          const child = bare.get(ConfigMap, name) as Child
          const data = { text, ...(extra === undefined ? isCorrect && { extra: null } : { extra }) }
          if (!child)
            return await create(bare, ConfigMap, configMap(cr, '', extra === undefined ? { text } : { text, extra }))
          const isSame = Object.entries(data).every(([key, value]) => (child.data?.[key] ?? null) === value)
          if (!isSame) await merge(bare, ConfigMap, name, { data })
        },
      }),
  },
  {
    name: 'field only read at creation',
    class: 'Acto: state transition',
    bug: 'looks whether its child is there, and not what is in it',
    law: 'walk',
    says: /configmaps default\/sample has \.data\.text "hello" instead of "walked"/,
    shownBy: undefined,
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const child = bare.get(ConfigMap, name) as Child
          const { text } = cr.spec
          if (!child) return await create(bare, ConfigMap, configMap(cr, '', { text }))
          if (isCorrect && child.data?.['text'] !== text) await merge(bare, ConfigMap, name, { data: { text } })
        },
      }),
  },
  {
    name: 'no way back from an error',
    class: 'Acto: error state',
    bug: 'refuses a value, and goes on refusing when the value is corrected',
    law: 'walk',
    says: /apps\.broken\.example\.com default\/sample has \.status\.phase "Failed" instead of "Fine"/,
    shownBy: undefined,
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr || (!isCorrect && cr.status?.phase === 'Failed')) return
          await setStatus(bare, cr, { phase: cr.spec.text.length > 5 ? 'Failed' : 'Fine' })
        },
      }),
  },
  {
    name: 'name reuse',
    class: 'Sieve: indirect; Acto: state transition',
    bug: 'takes what is left of an earlier CR of the same name for its own work',
    law: 'walk',
    says: /configmaps default\/sample has \.data\.text "walked" instead of "hello"/,
    shownBy: undefined,
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const child = bare.get(ConfigMap, name) as Child
          const { text } = cr.spec
          // The observed generation means nothing without the uid.
          const data = isCorrect ? { text } : { text, seen: String(cr.metadata.generation) }
          if (!child) return await create(bare, ConfigMap, configMap(cr, '', data, isCorrect))
          const isSeen = isCorrect
            ? child.data?.['text'] === text
            : Number(child.data?.['seen']) >= (cr.metadata.generation ?? 0)
          if (!isSeen) await merge(bare, ConfigMap, name, { data })
        },
      }),
  },
  {
    name: 'dangling child',
    class: 'Sieve: indirect, resource leak',
    bug: 'creates a child without an owner reference, and does not delete it',
    law: 'finalizers',
    says: /configmaps default\/sample was made for a CR that is gone, and is still there/,
    shownBy: undefined,
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (cr && !bare.get(ConfigMap, name)) {
            await create(bare, ConfigMap, isCorrect ? configMap(cr, '', {}) : keepsake(cr, ''))
          }
        },
      }),
  },
  {
    name: 'ready too early',
    class: 'Acto: status condition',
    bug: 'says that it is ready when it has asked for a Deployment',
    law: 'conditions',
    says: /says it is ready, and deployments\.apps default\/sample is not/,
    shownBy: undefined,
    // Neither reads its Deployment.
    notMeantFor: /edit|drift/,
    make: (isCorrect) =>
      bareSubject({
        watches: [Deployment],
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const child = bare.get(Deployment, name) as
            | { readonly status?: { readonly readyReplicas?: number } }
            | undefined
          if (!child) await create(bare, Deployment, deployment(cr))
          const isReady = !isCorrect || child?.status?.readyReplicas === 1
          const time = '2026-01-01T00:00:00Z'
          const ready = {
            type: 'Ready',
            status: isReady ? 'True' : 'False',
            reason: 'Asked',
            message: '',
            lastTransitionTime: time,
          }
          await setStatus(bare, cr, { conditions: [ready] })
        },
      }),
  },
  {
    name: 'generation not noted',
    class: 'Acto: status condition',
    bug: 'notes the generation that it saw once, and never again',
    law: 'conditions',
    says: /is at generation 2, and says at rest that 1 was seen/,
    shownBy: undefined,
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr || (!isCorrect && cr.status?.observedGeneration !== undefined)) return
          await setStatus(bare, cr, { observedGeneration: cr.metadata.generation })
        },
      }),
  },
  {
    name: 'never rests',
    class: 'Acto: stability; Sieve: controller malfunction',
    bug: 'writes the time into its status, and is woken by that',
    law: 'rest',
    says: /it does not come to rest .*; its last writes: patch apps\/status/,
    shownBy: undefined,
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (cr) await setStatus(bare, cr, { phase: isCorrect ? 'Fine' : `Fine at ${bare.clock.now()}` })
          if (cr) bare.again(name, 1000)
        },
      }),
  },
  {
    name: 'converges too slowly',
    class: 'Acto: stability',
    bug: 'goes one step every twenty seconds, and has so many to go that a quarter of an hour is not enough',
    law: 'rest',
    says: /it does not come to rest \(4\d writes, 15 minutes at the most\)/,
    shownBy: undefined,
    // A value just within the bound exceeds it as soon as another step takes time.
    notMeantFor: /: /,
    make(isCorrect) {
      // The last step, and half a minute of quiet after it: just within the bound, and just beyond.
      const steps = isCorrect ? 44 : 45
      return bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          const done = Number(cr?.status?.phase ?? 0)
          if (!cr || done >= steps || bare.clock.now() < Number(bare.memory.get(name) ?? 0)) return
          bare.memory.set(name, bare.clock.now() + 20_000)
          await setStatus(bare, cr, { phase: String(done + 1) })
          bare.again(name, 20_000)
        },
      })
    },
  },
  {
    name: 'whole object replaced',
    class: 'Sieve: indirect, misconfiguration',
    bug: 'puts its child in place of what is there, with all that others have added',
    law: 'foreign fields',
    says: /what another client added to configmaps default\/sample is gone/,
    shownBy: ['add'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const { text } = cr.spec
          const child = bare.get(ConfigMap, name)
          if (!child) return await create(bare, ConfigMap, configMap(cr, '', { text }))
          if ((child as Child)?.data?.['text'] === text) return
          if (isCorrect) return await merge(bare, ConfigMap, name, { data: { text } })
          await bare.client.update(ConfigMap, configMap(cr, '', { text }), { fieldManager: ownName })
        },
      }),
  },
  {
    name: 'what it does not know is removed',
    class: 'Sieve: indirect, service failure',
    bug: 'takes every entry that it did not write itself for rubbish',
    law: 'foreign fields',
    says: /what another client added to configmaps default\/sample is gone/,
    shownBy: ['add'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const child = bare.get(ConfigMap, name) as Child
          if (!child) return await create(bare, ConfigMap, configMap(cr, '', {}))
          const foreign = Object.keys(child.data ?? {}).filter((key) => key !== 'text')
          if (isCorrect || foreign.length === 0) return
          await merge(bare, ConfigMap, name, { data: Object.fromEntries(foreign.map((key) => [key, null])) })
        },
      }),
  },
  {
    name: 'undeclared access',
    class: 'Sieve: security',
    bug: 'asks for more than it says it needs',
    law: 'access',
    says: /it sends list namespaces, which is not declared/,
    shownBy: undefined,
    make: (isCorrect) =>
      bareSubject({
        mayMore: isCorrect ? [{ resource: Namespace, verbs: ['list'] }] : [],
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr || bare.get(ConfigMap, name)) return
          const { items } = await bare.client.list(Namespace)
          const child = configMap(cr, '', { namespaces: String(items.length) })
          await create(bare, ConfigMap, { ...child, immutable: true })
        },
      }),
  },
  {
    name: 'age by its own clock',
    class: 'Sieve: indirect, outage',
    bug: 'renews its child when that is old, and believes its clock',
    law: 'counts',
    says: /configmaps default\/sample is (?:created|deleted)/,
    shownBy: ['jump'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const child = bare.get(ConfigMap, name)
          if (!child) return await create(bare, ConfigMap, configMap(cr, '', {}))
          const age = bare.clock.now() - Date.parse(child.metadata.creationTimestamp ?? '')
          const isOld = age > 1_800_000 && !bare.memory.has(name)
          bare.memory.set(name, true)
          if (!isCorrect && isOld) await bare.client.delete(ConfigMap, { namespace: 'default', name })
          else await setStatus(bare, cr, { phase: 'Fine' })
        },
      }),
  },
  {
    name: 'kit: decided by its memory',
    class: 'Sieve: intermediate state',
    bug: 'a free-style operator of the kit that wants its child only as long as it remembers a first time',
    law: 'same end',
    says: /configmaps default\/sample(?:\.first)? /,
    shownBy: ['crash', 'usurp'],
    make: (isCorrect) =>
      kitSubject(() => {
        let runs = 0
        return defineOperator({
          name: 'broken',
          controllers: [
            defineController({
              for: App,
              writes: [ConfigMap],
              reconcile({ cr }) {
                runs++
                const first = isCorrect ? 'always' : String(Math.min(runs, 2))
                const { ownerReferences: _, ...metadata } = configMap(cr as unknown as UntypedObject, '', {}).metadata
                const data = { first, text: (cr as unknown as AppObject).spec.text }
                return { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }] }
              },
            }),
          ],
        })
      }),
  },
  {
    name: 'kit: undeclared read',
    class: 'Sieve: security',
    bug: 'a free-style operator of the kit that reads a kind which it does not declare; the kit refuses it',
    law: 'access',
    says: /broken, controller app reads .*namespaces.*, but declares/i,
    shownBy: undefined,
    make: (isCorrect) =>
      kitSubject(() =>
        defineOperator({
          name: 'broken',
          controllers: [
            defineController({
              for: App,
              writes: [ConfigMap],
              ...(isCorrect && { reads: [Namespace] }),
              reconcile({ cr, view }) {
                const { ownerReferences: _, ...metadata } = configMap(cr as unknown as UntypedObject, '', {}).metadata
                const data = { namespaces: String(view.list(Namespace).length) }
                return { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }] }
              },
            }),
          ],
        }),
      ),
  },
  {
    name: 'kit: not a function of its inputs',
    class: 'Acto: stability',
    bug: 'a free-style operator of the kit that wants something else each time it is asked',
    law: 'rest',
    says: /it does not come to rest/,
    shownBy: undefined,
    make: (isCorrect) =>
      kitSubject(() => {
        let runs = 0
        return defineOperator({
          name: 'broken',
          controllers: [
            defineController({
              for: App,
              writes: [ConfigMap],
              reconcile({ cr }) {
                const { ownerReferences: _, ...metadata } = configMap(cr as unknown as UntypedObject, '', {}).metadata
                const data = { run: isCorrect ? 'any' : String(++runs) }
                const objects = [{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data } as UntypedObject]
                return { objects, requeueAfterMs: 5000 }
              },
            }),
          ],
        })
      }),
  },
]
