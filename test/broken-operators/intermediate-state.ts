/**
 * Intermediate state (Sieve: 11 bugs): a crash between two writes leaves incomplete state, which the next process does
 * not recognise. All are bare controllers: the kit compares live and desired objects, and has no place for such
 * assumptions.
 */
import { clientErrors } from '../../src/client/errors.ts'
import { isMusterError } from '../../src/kube/muster-error.ts'
import { ConfigMap, Secret } from '../../src/kube/kinds.ts'
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
  setStatus,
} from './bare.ts'
import type { Specimen } from './specimen.ts'

const appOf = (bare: Bare, name: string): AppObject | undefined => bare.get(App, name) as AppObject | undefined

export const intermediateState: readonly Specimen[] = [
  {
    name: 'second child only with the first',
    class: 'Sieve: intermediate state',
    bug: 'creates its Secret only in the run in which it created its ConfigMap',
    law: 'same end',
    says: /secrets default\/sample is missing/,
    shownBy: ['crash-before', 'crash', 'crash-after'],
    make: (isCorrect) =>
      bareSubject({
        watches: [ConfigMap, Secret],
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const secret = { ...configMap(cr, '', {}), kind: 'Secret' }
          if (bare.get(ConfigMap, name)) {
            if (isCorrect && !bare.get(Secret, name)) await create(bare, Secret, secret)
            return
          }
          await create(bare, ConfigMap, configMap(cr, '', {}))
          await create(bare, Secret, secret)
        },
      }),
  },
  {
    name: 'non-idempotent create',
    class: 'Sieve: intermediate state',
    bug: 'remembers in its memory that it has created its child, under a name that the server makes up',
    law: 'same end',
    says: /configmaps default\/sample\.x-\(2\) is there, and should not be/,
    shownBy: ['crash', 'unheard', 'silent', 'travel', 'lapse'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const isMade = isCorrect ? bare.get(ConfigMap, `${name}.only`) : bare.memory.get(name)
          if (isMade) return
          const { metadata, ...child } = configMap(cr, 'only', {})
          const { name: _, ...rest } = metadata
          if (isCorrect) await create(bare, ConfigMap, { ...child, metadata })
          else
            await bare.client.create(
              ConfigMap,
              { ...child, metadata: { ...rest, generateName: `${name}.x-` } } as never,
              { fieldManager: 'broken' },
            )
          bare.memory.set(name, true)
        },
      }),
  },
  {
    name: 'progress noted before it is made',
    class: 'Sieve: intermediate state',
    bug: 'says in the status that its child was created, and then creates it',
    law: 'same end',
    says: /configmaps default\/sample is missing/,
    shownBy: ['crash', 'lost'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          if (isCorrect) {
            if (!bare.get(ConfigMap, name)) await create(bare, ConfigMap, configMap(cr, '', {}))
            await setStatus(bare, cr, { phase: 'Created' })
            return
          }
          if (cr.status?.phase === 'Created') return
          await setStatus(bare, cr, { phase: 'Created' })
          await create(bare, ConfigMap, configMap(cr, '', {}))
        },
      }),
  },
  {
    name: 'finalizer added late',
    class: 'Sieve: intermediate state, resource leak',
    bug: 'makes what only it can undo before it holds its CR',
    law: 'finalizers',
    says: /configmaps default\/sample\.kept was made for a CR that is gone, and is still there/,
    shownBy: ['hurry', 'remove'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const isHeld = cr.metadata.finalizers?.includes(finalizer) ?? false
          if (cr.metadata.deletionTimestamp !== undefined) {
            if (!isHeld) return
            await removeKeepsake(bare, cr)
            await setFinalizers(bare, cr, [])
            return
          }
          // The fixed version continues when it finds that it holds the CR.
          if (isCorrect && !isHeld) return await setFinalizers(bare, cr, [finalizer])
          if (!bare.get(ConfigMap, `${name}.kept`)) await create(bare, ConfigMap, keepsake(cr))
          if (!isHeld) await setFinalizers(bare, cr, [finalizer])
        },
      }),
  },
  {
    name: 'finalizer removed early',
    class: 'Sieve: intermediate state, resource leak',
    bug: 'lets its CR go, and then deletes what it made for it',
    law: 'finalizers',
    says: /was deleted before configmaps default\/sample\.kept was: its finalizer was removed too early/,
    shownBy: undefined,
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const isHeld = cr.metadata.finalizers?.includes(finalizer) ?? false
          if (cr.metadata.deletionTimestamp !== undefined) {
            if (!isHeld) return
            if (isCorrect) await removeKeepsake(bare, cr)
            await setFinalizers(bare, cr, [])
            if (!isCorrect) await removeKeepsake(bare, cr)
            return
          }
          if (!isHeld) return await setFinalizers(bare, cr, [finalizer])
          if (!bare.get(ConfigMap, `${name}.kept`)) await create(bare, ConfigMap, keepsake(cr))
        },
      }),
  },
  {
    name: 'finalizer never removed',
    class: 'Sieve: intermediate state, controller malfunction',
    bug: 'takes it for an error that what it wants to delete is gone already',
    law: 'finalizers',
    says: /apps\.broken\.example\.com default\/sample is being deleted, and broken\.example\.com\/clean-up still holds it/,
    shownBy: ['crash', 'unheard'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const isHeld = cr.metadata.finalizers?.includes(finalizer) ?? false
          if (cr.metadata.deletionTimestamp !== undefined) {
            if (!isHeld) return
            if (isCorrect) await removeKeepsake(bare, cr)
            else await bare.client.delete(ConfigMap, { namespace: 'default', name: `${name}.kept` })
            await setFinalizers(bare, cr, [])
            return
          }
          if (!isHeld) return await setFinalizers(bare, cr, [finalizer])
          if (!bare.get(ConfigMap, `${name}.kept`)) await create(bare, ConfigMap, keepsake(cr))
        },
      }),
  },
  {
    name: 'outside resource made twice',
    class: 'Sieve: intermediate state, resource leak',
    bug: 'orders something outside the cluster, and notes its number afterwards',
    law: 'same end',
    says: /outside the cluster it is .*order-2/,
    shownBy: ['crash-before', 'refuse', 'lost'],
    outside(state) {
      const orders: string[] = [...((state?.['orders'] as readonly string[] | undefined) ?? [])]
      return {
        live: {
          available: true,
          exec: () => Promise.reject(new Error('nobody runs commands here')),
          http({ method, body }) {
            const key = (body as { readonly key?: string } | undefined)?.key
            const id = key ?? `order-${orders.length + 1}`
            if (method === 'POST' && !orders.includes(id)) orders.push(id)
            return Promise.resolve({ status: 200, headers: {}, body: id, json: () => id })
          },
        },
        state: () => ({ orders: [...orders] }),
      }
    },
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr || cr.status?.id !== undefined) return
          // With its own key an order can be repeated.
          const body = isCorrect ? { key: `order-of-${name}` } : {}
          const { body: id } = await bare.live.http({ method: 'POST', url: 'https://orders.example.com', body })
          await setStatus(bare, cr, { id })
        },
      }),
  },
  {
    name: 'answer taken for a failure',
    class: 'Sieve: intermediate state, wrong API assumption',
    bug: 'gives up for good when what it creates exists, though it was it that created it',
    law: 'same end',
    says: /\.status\.phase "Failed" instead of absent/,
    shownBy: ['travel', 'lose', 'delay'],
    make: (isCorrect) =>
      bareSubject({
        watches: [ConfigMap, Secret],
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr || cr.status?.phase === 'Failed') return
          try {
            if (!bare.get(ConfigMap, name))
              await bare.client.create(ConfigMap, configMap(cr, '', {}), { fieldManager: 'broken' })
          } catch (error) {
            if (!isMusterError(error, clientErrors.AlreadyExists)) throw error
            if (!isCorrect) return await setStatus(bare, cr, { phase: 'Failed' })
          }
          if (!bare.get(Secret, name)) await create(bare, Secret, { ...configMap(cr, '', {}), kind: 'Secret' })
        },
      }),
  },
  {
    name: 'counts on',
    class: 'Sieve: intermediate state, misconfiguration',
    bug: 'adds one to a number that it keeps in its child, and cannot know whether it has done so already',
    law: 'same end',
    says: /configmaps default\/sample has \.data\.revision/,
    shownBy: ['crash', 'unheard', 'leaders'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const { generation = 0 } = cr.metadata
          const { text } = cr.spec
          const child = bare.get(ConfigMap, name) as { readonly data?: Readonly<Record<string, string>> } | undefined
          if (!child) return await create(bare, ConfigMap, configMap(cr, '', { revision: isCorrect ? text : '1' }))
          if (isCorrect) {
            if (child.data?.['revision'] !== text) await merge(bare, ConfigMap, name, { data: { revision: text } })
            return await setStatus(bare, cr, { observedGeneration: generation })
          }
          if (cr.status?.observedGeneration === generation) return
          if (generation > 1)
            await merge(bare, ConfigMap, name, { data: { revision: String(Number(child.data?.['revision']) + 1) } })
          await setStatus(bare, cr, { observedGeneration: generation })
        },
      }),
  },
]
