/** The watcher of kubernetes-fluent-client. See measure.mjs for the protocol. */
import { GenericKind, K8s, kind, RegisterKind } from '../../peers/node_modules/kubernetes-fluent-client/dist/index.js'
import { measure } from './measure.mjs'

await measure(async () => {
  let seen = 0
  const names = new Set()
  const watchers = []
  return {
    async follow(onObject) {
      const watcher = K8s(kind.Pod).Watch((object) => {
        seen++
        names.add(object.metadata.uid)
        onObject(object.metadata.name)
      })
      watchers.push(watcher)
      await watcher.start()
    },
    async idle(first, count) {
      for (let index = first; index < first + count; index++) {
        const Thing = { [`Thing${index}`]: class extends GenericKind {} }[`Thing${index}`]
        RegisterKind(Thing, { group: '', version: 'v1', kind: `Thing${index}`, plural: `things${index}` })
        const watcher = K8s(Thing).Watch(() => undefined)
        watchers.push(watcher)
        await watcher.start()
      }
    },
    // The watcher does not expose its cache; the received objects are the held ones.
    count: () => (seen > 0 ? names.size : 0),
  }
})
