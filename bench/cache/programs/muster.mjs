/** Muster's program of the cache benchmarks, run from the build as a user would. See measure.mjs for the protocol. */
import { connect } from '../../../dist/client/index.js'
import { createSharedCache } from '../../../dist/cache/index.js'
import { measure } from './measure.mjs'

const pods = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
// `memory N PATHS`: keeps only these fields.
const [mode, , paths = ''] = process.argv.slice(2)
const detail = mode === 'memory' && paths !== '' ? paths.split(',') : 'full'
const thing = (index) => ({ group: '', version: 'v1', kind: 'Thing', plural: `things${index}`, namespaced: true })

await measure(async () => {
  const client = await connect()
  const cache = createSharedCache({ client })
  const subscriptions = []
  return {
    async follow(onObject) {
      const subscription = cache.subscribe(pods, {
        consumer: 'bench',
        detail,
        onEvent: ({ object }) => onObject(object.metadata.name),
      })
      subscriptions.push(subscription)
      await subscription.synced()
    },
    async idle(first, count) {
      // Sequentially, as the peers do.
      for (let index = first; index < first + count; index++) {
        const subscription = cache.subscribe(thing(index), { consumer: 'bench' })
        subscriptions.push(subscription)
        await subscription.synced()
      }
    },
    async join(count) {
      for (let index = 0; index < count; index++) {
        const subscription = cache.subscribe(pods, { consumer: `bench-${index}`, onEvent: () => undefined })
        subscriptions.push(subscription)
        await subscription.synced()
      }
    },
    count: () => subscriptions[0].list().length,
  }
})
