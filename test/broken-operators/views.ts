/**
 * Stale and unobserved state (Sieve: 19 and 7 bugs): a cache is stale or incomplete. All are bare controllers: the kit
 * deletes by uid, does not act on events, and its cache knows its own writes.
 */
import { clientErrors } from '../../src/client/errors.ts'
import { isMusterError } from '../../src/kube/muster-error.ts'
import { ConfigMap } from '../../src/kube/kinds.ts'
import {
  App,
  type AppObject,
  type Bare,
  bareSubject,
  configMap,
  create,
  finalizer,
  keepsake,
  merge,
  removeKeepsake,
  setFinalizers,
} from './bare.ts'
import type { Specimen } from './specimen.ts'

const appOf = (bare: Bare, name: string): AppObject | undefined => bare.get(App, name) as AppObject | undefined

async function removeByName(bare: Bare, name: string): Promise<void> {
  await bare.client.delete(ConfigMap, { namespace: 'default', name }).catch((error: unknown) => {
    if (!isMusterError(error, clientErrors.NotFound)) throw error
  })
}

function arm(name: string, bare: Bare): void {
  bare.memory.set(name, 'armed')
  bare.clock.after(5000, () => {
    bare.memory.set(name, 'due')
    bare.again(name, 0)
  })
}

export const views: readonly Specimen[] = [
  {
    name: 'stale deletion timestamp',
    class: 'Sieve: stale state, data loss',
    bug: 'deletes by name what belongs to a CR that its cache shows as being deleted; the CR of that name is another one by now',
    law: 'counts',
    says: /configmaps default\/sample\.kept is (?:deleted|created) (?:twice|3 times)/,
    shownBy: ['travel'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cached = appOf(bare, name)
          if (!cached) return
          const isHeld = cached.metadata.finalizers?.includes(finalizer) ?? false
          if (cached.metadata.deletionTimestamp !== undefined) {
            if (!isHeld) return
            if (isCorrect) await removeKeepsake(bare, cached)
            else await removeByName(bare, `${name}.kept`)
            await setFinalizers(bare, cached, [])
            return
          }
          if (!isHeld) return await setFinalizers(bare, cached, [finalizer])
          if (!bare.get(ConfigMap, `${name}.kept`)) await create(bare, ConfigMap, keepsake(cached))
        },
      }),
  },
  {
    name: 'counts its children in the cache',
    class: 'Sieve: stale state',
    bug: 'makes as many children as its cache does not show, under names that the server makes up',
    law: 'counts',
    says: /configmaps sample\.x- is created (?:\d+ times|twice) instead of/,
    shownBy: ['merge', 'expire', 'delay', 'freeze'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr || cr.metadata.deletionTimestamp !== undefined) return
          const children = bare.list(ConfigMap).filter((one) => one.metadata.name?.startsWith(`${name}.`))
          if (isCorrect) {
            for (let at = 0; at < 2; at++) {
              if (!bare.get(ConfigMap, `${name}.${at}`)) await create(bare, ConfigMap, configMap(cr, String(at), {}))
            }
            return
          }
          for (let missing = 2 - children.length; missing > 0; missing--) {
            const { metadata, ...child } = configMap(cr, '', {})
            const { name: _, ...rest } = metadata
            await bare.client.create(
              ConfigMap,
              { ...child, metadata: { ...rest, generateName: `${name}.x-` } } as never,
              { fieldManager: 'broken' },
            )
          }
          for (const { metadata } of children.slice(2)) await removeByName(bare, metadata.name ?? '')
        },
      }),
  },
  {
    name: 'edge-triggered creation',
    class: 'Sieve: unobserved state',
    bug: 'creates its child when it is told of a new CR, and never looks again',
    law: 'same end',
    says: /configmaps default\/sample is missing/,
    shownBy: ['refuse', 'remove'],
    make: (isCorrect) =>
      bareSubject(
        isCorrect
          ? {
              async reconcile(name, bare) {
                const cr = appOf(bare, name)
                if (cr && !bare.get(ConfigMap, name)) await create(bare, ConfigMap, configMap(cr, '', {}))
              },
            }
          : {
              async onEvent({ type, object }, bare) {
                if (type === 'added') await create(bare, ConfigMap, configMap(object, '', {}))
              },
            },
      ),
  },
  {
    name: 'edge-triggered change',
    class: 'Sieve: unobserved state',
    bug: 'compares what a CR was with what it is, and not what there is with what there should be',
    law: 'same end',
    says: /configmaps default\/sample has \.data\.text/,
    shownBy: ['lost', 'edit'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const child = bare.get(ConfigMap, name) as { readonly data?: Readonly<Record<string, string>> } | undefined
          if (!child) return await create(bare, ConfigMap, configMap(cr, '', { text: cr.spec.text }))
          if (isCorrect && child.data?.['text'] !== cr.spec.text) {
            await merge(bare, ConfigMap, name, { data: { text: cr.spec.text } })
          }
        },
        async onEvent(event, bare) {
          if (isCorrect || event.type !== 'updated') return
          const [before, after] = [event.previous as AppObject, event.object as AppObject]
          if (before.spec.text === after.spec.text) return
          await merge(bare, ConfigMap, after.metadata.name ?? '', { data: { text: after.spec.text } })
        },
      }),
  },
  {
    name: 'absent taken for empty',
    class: 'Acto: error state, misconfiguration',
    bug: 'takes a value that was removed for the same as an empty one, and does not put it back',
    law: 'same end',
    says: /configmaps default\/sample has \.data\.empty absent instead of ""/,
    shownBy: ['drift'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const child = bare.get(ConfigMap, name) as { readonly data?: Readonly<Record<string, string>> } | undefined
          const data: Readonly<Record<string, string>> = { text: cr.spec.text, empty: '' }
          if (!child) return await create(bare, ConfigMap, configMap(cr, '', data))
          const isDesired = (key: string): boolean =>
            child.data?.[key] === data[key] || (!isCorrect && !child.data?.[key] && !data[key])
          if (!Object.keys(data).every(isDesired)) await merge(bare, ConfigMap, name, { data })
        },
      }),
  },
  {
    name: 'clean-up on the event of a deletion',
    class: 'Sieve: unobserved state, resource leak',
    bug: 'deletes its children on the deletion event of the CR; a process that was not running misses the event',
    law: 'finalizers',
    says: /configmaps default\/sample\.kept was made for a CR that is gone, and is still there/,
    shownBy: ['crash-before'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const isHeld = cr.metadata.finalizers?.includes(finalizer) ?? false
          if (isCorrect && cr.metadata.deletionTimestamp !== undefined) {
            if (!isHeld) return
            await removeKeepsake(bare, cr)
            return await setFinalizers(bare, cr, [])
          }
          if (isCorrect && !isHeld) return await setFinalizers(bare, cr, [finalizer])
          if (!bare.get(ConfigMap, `${name}.kept`)) await create(bare, ConfigMap, keepsake(cr))
        },
        async onEvent({ type, object }, bare) {
          if (!isCorrect && type === 'deleted') await removeKeepsake(bare, object)
        },
      }),
  },
  {
    name: 'missing requeue after an error',
    class: 'Sieve: unobserved state, controller malfunction',
    bug: 'swallows an error, and nothing makes it look again',
    law: 'same end',
    says: /configmaps default\/sample is missing/,
    shownBy: ['refuse', 'lost'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr || bare.get(ConfigMap, name)) return
          const made = create(bare, ConfigMap, configMap(cr, '', {}))
          await (isCorrect ? made : made.catch(() => undefined))
        },
      }),
  },
  {
    name: 'timer in memory',
    class: 'Sieve: unobserved state',
    bug: 'starts a timer for what is to be done later, and forgets it when it is restarted',
    law: 'same end',
    says: /configmaps default\/sample\.later is missing/,
    shownBy: ['crash'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          if (!bare.get(ConfigMap, name)) {
            await create(bare, ConfigMap, configMap(cr, '', {}))
            if (!isCorrect) arm(name, bare)
          }
          if (bare.get(ConfigMap, `${name}.later`)) return
          // The fixed version starts it whenever work is left.
          if (isCorrect && !bare.memory.has(name)) arm(name, bare)
          if (bare.memory.get(name) === 'due') await create(bare, ConfigMap, configMap(cr, 'later', {}))
        },
      }),
  },
]
