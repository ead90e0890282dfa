/**
 * Events (Sieve: unobserved and stale state): delivered twice, lost, late or merged, and slow responses. All are bare
 * controllers: the kit does not act on events, and waits for its cache.
 */
import type { UntypedObject } from '../../src/kube/object.ts'
import { ConfigMap } from '../../src/kube/kinds.ts'
import type { SimulatedSubject } from '../../src/simulate/faults/subject.ts'
import { App, type AppObject, type Bare, bareSubject, configMap, create, createAnother, setStatus } from './bare.ts'
import type { Specimen } from './specimen.ts'

const appOf = (bare: Bare, name: string): AppObject | undefined => bare.get(App, name) as AppObject | undefined

const isMade = (bare: Bare, name: string): boolean =>
  bare.list(ConfigMap).some(({ metadata }) => metadata.name?.startsWith(`${name}.`))

/** Watches without a cache, and receives each new App: only from the start of the watch on. */
async function follow(bare: Bare, told: (cr: UntypedObject) => Promise<void>): Promise<void> {
  for (;;) {
    try {
      const { metadata } = await bare.client.list(App)
      for await (const event of bare.client.watch(App, { resourceVersion: metadata.resourceVersion })) {
        if (event.type === 'ERROR') break
        if (event.type === 'ADDED') await told(event.object as unknown as UntypedObject)
      }
    } catch {
      // Restarts the watch.
    }
    await bare.clock.sleep(1000)
  }
}

/** The correct version of both: reads the current state, whatever the event. */
const levelTriggered = (): SimulatedSubject =>
  bareSubject({
    async reconcile(name, bare) {
      const cr = appOf(bare, name)
      if (cr && !isMade(bare, name)) await create(bare, ConfigMap, configMap(cr, 'only', {}))
    },
  })

export const watches: readonly Specimen[] = [
  {
    name: 'events taken for changes',
    class: 'Sieve: unobserved state',
    bug: 'makes a child for each event that tells of a new CR; one event may come twice',
    law: 'same end',
    says: /configmaps default\/sample\.x-\(2\) is there, and should not be/,
    shownBy: ['repeat'],
    make: (isCorrect) =>
      isCorrect
        ? levelTriggered()
        : bareSubject({ begin: (bare) => void follow(bare, (cr) => createAnother(bare, cr)) }),
  },
  {
    name: 'watch resumed without a list',
    class: 'Sieve: unobserved state',
    bug: 'goes on from the newest version when its watch has expired, and never looks at what it missed',
    law: 'same end',
    says: /configmaps default\/sample\.only is missing/,
    shownBy: ['expire', 'lose'],
    make: (isCorrect) =>
      isCorrect
        ? levelTriggered()
        : bareSubject({
            begin: (bare) => void follow(bare, (cr) => create(bare, ConfigMap, configMap(cr, 'only', {}))),
          }),
  },
  {
    name: 'state that must be seen',
    class: 'Sieve: unobserved state',
    bug: 'makes its child when it is told of a phase that it leaves at once; who is told late is told of the next one only',
    law: 'same end',
    says: /configmaps default\/sample is missing/,
    shownBy: ['merge'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr) return
          if (isCorrect && !bare.get(ConfigMap, name)) await create(bare, ConfigMap, configMap(cr, '', {}))
          if (cr.status?.phase !== undefined) return await setStatus(bare, cr, { phase: 'Started' })
          await setStatus(bare, cr, { phase: 'Starting' })
          await setStatus(bare, cr, { phase: 'Started' })
        },
        async onEvent({ type, object }, bare) {
          if (isCorrect || type !== 'updated' || (object as AppObject).status?.phase !== 'Starting') return
          await create(bare, ConfigMap, configMap(object, '', {}))
        },
      }),
  },
  {
    name: 'cache expected to be quick',
    class: 'Sieve: stale state',
    bug: 'makes another child when its cache does not show the first one after a moment',
    law: 'same end',
    says: /configmaps default\/sample\.x-\(2\) is there, and should not be/,
    shownBy: ['delay', 'freeze'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr || isMade(bare, name)) return
          await (isCorrect ? create(bare, ConfigMap, configMap(cr, 'only', {})) : createAnother(bare, cr))
          bare.again(name, 300)
        },
      }),
  },
  {
    name: 'slow taken for failed',
    class: 'Sieve: intermediate state, wrong API assumption',
    bug: 'waits two seconds for an answer, and then says for good that it failed',
    law: 'same end',
    says: /\.status\.phase "Failed" instead of absent/,
    shownBy: ['slow', 'silent'],
    make: (isCorrect) =>
      bareSubject({
        async reconcile(name, bare) {
          const cr = appOf(bare, name)
          if (!cr || isMade(bare, name)) return
          const made = create(bare, ConfigMap, configMap(cr, 'only', {})).then(() => 'made')
          // Gives up waiting after a timeout.
          made.catch(() => undefined)
          const tooLate = bare.clock.sleep(2000).then(() => 'no answer')
          const end = await (isCorrect ? made : Promise.race([made, tooLate]))
          if (end !== 'made') await setStatus(bare, cr, { phase: 'Failed' })
        },
      }),
  },
]
