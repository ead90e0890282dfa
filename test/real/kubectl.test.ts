/** Stock kubectl cannot tell the embedded server from the real one: the same commands show the same, on both. */
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createApiServer } from '../../src/apiserver/server/api-server.ts'
import { type ServerListener, startListener } from '../../src/apiserver/http/listener.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { type Kubectl, kubectlFor, type Step } from './kubectl/kubectl.ts'
import { scripts } from './kubectl/scripts.ts'

const access = inject('cluster')

let listener: ServerListener
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

describe('kubectl has the same output on both servers', () => {
  // Names are the same on both, so that columns are as wide; no two topics share one, since the real server never
  // finishes deleting a namespace.
  const first = randomInt(10_000, 90_000)
  for (const [index, [topic, script]] of Object.entries(scripts).entries())
    it(`for ${topic}`, { timeout: 300_000 }, async () => {
      const id = first + index
      const namespace = `kubectl-${id}`
      const steps = [`create namespace ${namespace}`, ...filled(script, namespace, id)]
      const [here, there] = await Promise.all([embedded.transcript(steps), real.transcript(steps)])
      await real.transcript([`delete namespace ${namespace} --wait=false`])
      expect(here).toEqual(there)
    })
})

describe('kubectl with controllers, which the real server here lacks', () => {
  it('a namespace is deleted with its content', async () => {
    const seen = await embedded.transcript([
      'create namespace gone',
      'create deployment web -n gone --image=image',
      'delete namespace gone --timeout=20s',
      'get namespace gone',
      'get deployments -n gone',
    ])
    expect(seen.slice(2)).toEqual([
      '$ kubectl delete namespace gone --timeout=20s\nnamespace "gone" deleted\n',
      '$ kubectl get namespace gone\nError from server (NotFound): namespaces "gone" not found\n[1]\n',
      '$ kubectl get deployments -n gone\nNo resources found in gone namespace.\n',
    ])
  })

  it.each([
    ['background', false],
    ['foreground', false],
    ['orphan', true],
  ])('dependents are collected or orphaned: --cascade=%s', async (cascade, isLeft) => {
    const namespace = `cascade-${cascade}`
    const seen = await embedded.transcript([
      `create namespace ${namespace}`,
      `create cronjob owner -n ${namespace} --image=image --schedule=@daily`,
      `create job owned -n ${namespace} --from=cronjob/owner`,
      `delete cronjob owner -n ${namespace} --cascade=${cascade} --timeout=20s`,
      `wait job/owned -n ${namespace} --for=delete --timeout=${isLeft ? 1 : 20}s`,
      `get job owned -n ${namespace} -o jsonpath='{.metadata.ownerReferences}'`,
    ])
    expect(seen[3]).toContain('deleted')
    expect(seen[4]?.includes('timed out')).toBe(isLeft)
    expect(seen[5]?.includes('not found')).toBe(!isLeft)
    expect(seen[5]).not.toContain('CronJob')
  })
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
