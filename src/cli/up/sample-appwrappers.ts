/**
 * The AppWrappers of `muster up`: one runs and succeeds, one waits since it asks for more than the simulated nodes have, and a node
 * that would be enough for it.
 */
import type { Resource } from '../../kube/kind.ts'
import type { UntypedObject } from '../../kube/object.ts'
import { AppWrapper } from '../../workloads/appwrapper/appwrapper.ts'

/** In the order in which they are created. */
export const sampleAppWrappers: readonly (readonly [Resource, UntypedObject])[] = [
  [AppWrapper, wrappedJob('training', 2)],
  [AppWrapper, wrappedJob('large', 14)],
]

/** The key of the one that waits until its user makes room. */
export const waitsForUser = 'default/large'

/** With room for what the other nodes do not take. */
export const largeNode: UntypedObject = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'large-node' },
  status: { capacity: { cpu: '8', memory: '16Gi', pods: '110' } },
}

/** A Job whose Pods ask for one CPU each. */
function wrappedJob(name: string, podCount: number): UntypedObject {
  const container = { name: 'main', image: `${name}:1`, resources: { requests: { cpu: '1' } } }
  const template = {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name },
    spec: {
      parallelism: podCount,
      completions: podCount,
      template: { spec: { restartPolicy: 'Never', containers: [container] } },
    },
  }
  return {
    apiVersion: 'workload.codeflare.dev/v1beta2',
    kind: 'AppWrapper',
    metadata: { name, namespace: 'default' },
    spec: { components: [{ template }] },
  }
}
