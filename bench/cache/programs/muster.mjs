/** Muster's part of the cache benchmarks, run from the build as a user would. See measure.mjs for the protocol. */
import { connect } from '../../../dist/client/index.js'
import { createSharedCache } from '../../../dist/cache/index.js'
import { measure } from './measure.mjs'

const pods = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true }
const thing = (index) => ({ group: '', version: 'v1', kind: 'Thing', plural: `things${index}`, namespaced: true })

await measure(async () => {
  const client = await connect()
  const cache = createSharedCache({ client })
  const subscriptions = []
  return {
    async follow(onObject) {
      const subscription = cache.subscribe(pods, {
        consumer: 'bench',
        onEvent: ({ object }) => onObject(object.metadata.name),
      })
      subscriptions.push(subscription)
      await subscription.synced()
    },
    async idle(first, count) {
      // One after the other, as the peers have to.
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
