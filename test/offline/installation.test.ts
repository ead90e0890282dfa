/** The stories of Installations on the embedded server; `test/real/installation.test.ts` has the same ones on kube-apiserver. */
import { describe, it } from 'vitest'
import { installationCases } from '../installation-cases.ts'
import { opened } from '../installation-environment.ts'

describe('on the embedded server', () => {
  it.each(installationCases)('$title', async ({ expectStory }) => {
    const testEnv = await opened(true)
    const { client } = testEnv
    await expectStory({
      client,
      namespace: 'default',
      async eventually(assertion) {
        await testEnv.settle(60_000)
        await assertion()
      },
    })
  })
})
