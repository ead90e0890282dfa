/**
 * Stock kubectl cannot tell the embedded server from the real one: the same commands show the same, on both.
 */
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createApiServer } from '../../src/apiserver/api-server.ts'
import { type Listener, startListener } from '../../src/apiserver/listener.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { type Kubectl, type Step, kubectlFor } from './kubectl/kubectl.ts'
import { scripts } from './kubectl/scripts.ts'

const access = inject('cluster')

describe('kubectl sees the same on both servers', () => {
  let listener: Listener
  let embedded: Kubectl
  let real: Kubectl
  beforeAll(async () => {
    const server = createApiServer({ clock: systemClock, access: { strangers: 'anonymous' } })
    listener = await startListener(server, { clock: systemClock })
    const admin = listener.clientCertificate({ commonName: 'admin', organizations: ['system:masters'] })
    embedded = await kubectlFor({ server: listener.url, ca: listener.ca, admin })
    real = await kubectlFor(access)
  })
  afterAll(async () => {
    await Promise.all([embedded.close(), real.close()])
    await listener.close()
  })

  for (const [name, script] of Object.entries(scripts))
    it(
      name,
      async () => {
        // Names are the same on both, so that columns are as wide.
        const id = randomInt(10_000, 99_999)
        const steps = filled(script, `kubectl-${id}`, id)
        const whole = [`create namespace kubectl-${id}`, ...steps]
        const [here, there] = await Promise.all([embedded.transcript(whole), real.transcript(whole)])
        await real.transcript([`delete namespace kubectl-${id} --wait=false`])
        expect(here).toEqual(there)
      },
      300_000,
    )
})

function filled(steps: readonly Step[], namespace: string, id: number): readonly Step[] {
  const fill = (text: string): string => text.replaceAll('NS', namespace).replaceAll('ID', String(id))
  return steps.map((step) =>
    typeof step === 'string'
      ? fill(step)
      : {
          ...step,
          run: fill(step.run),
          ...(step.stdin !== undefined && { stdin: fill(step.stdin) }),
          ...(step.meanwhile && { meanwhile: filled(step.meanwhile, namespace, id) }),
        },
  )
}
