import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../clock/random.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { type FolderRequest, renderFolderRequest } from '../../render/worker/folder-request.ts'
import { renderSource, type SourceRequest } from './render-source.ts'

describe('the source of an Installation', () => {
  it('is rendered where the services say, also manifests and kustomizations', async () => {
    const asked: FolderRequest[] = []
    const render = async (source: SourceRequest['source']): Promise<readonly (string | undefined)[]> => {
      const request = { source, releaseName: 'web', namespace: 'default', values: {}, generated: {} }
      const { items } = await renderSource(request, {
        clock: systemClock,
        random: seededRandom(1),
        renderFolder: (folder) => (asked.push(folder), Promise.resolve(renderFolderRequest(folder))),
      })
      return items.map(({ object }) => object.metadata.name)
    }
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n'
    expect(await render({ manifests: { text } })).toEqual(['a'])
    const files = { 'a.yaml': text, 'kustomization.yaml': 'namePrefix: my-\nresources: [a.yaml]\n' }
    expect(await render({ kustomize: { files } })).toEqual(['my-a'])
    expect(asked.map(({ name }) => name)).toEqual(['web', 'web'])
  })
})
