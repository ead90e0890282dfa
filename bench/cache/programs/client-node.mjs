/** The informer of @kubernetes/client-node. See measure.mjs for the protocol. */
import { CoreV1Api, KubeConfig, makeInformer } from '../../peers/node_modules/@kubernetes/client-node/dist/index.js'
import { measure } from './measure.mjs'

await measure(async () => {
  const config = new KubeConfig()
  config.loadFromDefault()
  const core = config.makeApiClient(CoreV1Api)
  const informers = []
  return {
    async follow(onObject) {
      const informer = makeInformer(config, '/api/v1/pods', () => core.listPodForAllNamespaces())
      informers.push(informer)
      for (const event of ['add', 'update']) informer.on(event, (object) => onObject(object.metadata.name))
      informer.on('error', (error) => console.error('client-node', error))
      await informer.start()
    },
    async idle(first, count) {
      const empty = async () => ({ kind: 'ThingList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] })
      for (let index = first; index < first + count; index++) {
        const informer = makeInformer(config, `/api/v1/things${index}`, empty)
        informers.push(informer)
        informer.on('error', (error) => console.error('client-node', error))
        await informer.start()
      }
    },
    count: () => informers[0].list().length,
  }
})
