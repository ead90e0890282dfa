/**
 * Lost leases (Sieve: stale state): a process loses its lease during its work, and continues with outdated state. Both
 * are bare controllers: each write of the kit belongs to a term, and the kit always computes its plan from the cache.
 */
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
  removeKeepsake,
  setFinalizers,
} from './bare.ts'
import type { Specimen } from './specimen.ts'

const appOf = (bare: Bare, name: string): AppObject | undefined => bare.get(App, name) as AppObject | undefined

export const lostLeases: readonly Specimen[] = [
  {
    name: 'writes when its term is over',
    class: 'Sieve: stale state, two leaders',
    bug: 'asks whether it leads when it begins, and not again before it writes',
    law: 'terms',
    says: /process 1 sends create secrets default\/sample when its term is over/,
    shownBy: ['pause'],
    make: (isCorrect) =>
      bareSubject({
        isFenced: isCorrect,
        watches: [ConfigMap, Secret],
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          if (!bare.get(ConfigMap, name)) await create(bare, ConfigMap, configMap(cr, '', {}))
          if (!bare.get(Secret, name)) await create(bare, Secret, { ...configMap(cr, '', {}), kind: 'Secret' })
        },
      }),
  },
  {
    name: 'memory of an earlier term',
    class: 'Sieve: stale state, two leaders',
    bug: 'remembers what it has made until it deletes it itself; while it did not lead, another one did',
    law: 'same end',
    says: /configmaps default\/sample\.kept is missing/,
    shownBy: ['usurp', 'pause', 'leaders'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          const isHeld = cr.metadata.finalizers?.includes(finalizer) ?? false
          const isMade = isCorrect ? bare.get(ConfigMap, `${name}.kept`) !== undefined : bare.memory.has(name)
          if (cr.metadata.deletionTimestamp !== undefined) {
            if (!isHeld) return
            await removeKeepsake(bare, cr)
            await setFinalizers(bare, cr, [])
            bare.memory.delete(name)
            return
          }
          if (!isHeld) return await setFinalizers(bare, cr, [finalizer])
          if (isMade) return
          await create(bare, ConfigMap, keepsake(cr))
          bare.memory.set(name, true)
        },
      }),
  },
]
