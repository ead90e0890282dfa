/**
 * The queue as a coordinator: it knows all AppWrappers, nodes, pods and quota, and decides which AppWrappers start, wait or leave. It
 * writes nothing. A decision to start stands until the status of the AppWrapper says that its quota is reserved; after a restart
 * what is reserved is taken over from there.
 */
import { Node, Pod } from '../../kube/kinds.ts'
import { resourceAmounts } from '../../kube/scheduling/pod-needs.ts'
import { type Coordinator, defineCoordinator, isChangeOf } from '../../operator/coordinator/coordinator.ts'
import type { NeedsConfig } from '../../operator/config.ts'
import { fields } from '../../operator/view/projected-input.ts'
import { workloadsConfig, type WorkloadsSettings } from '../configuration/workloads-config.ts'
import type { QueueDecision } from '../core/phases/phases.ts'
import { quotaInputs } from '../quota/quota-tracker.ts'
import { AppWrapper } from './appwrapper.ts'
import { QueueBook } from './queue-book.ts'

type QueueCoordinator = Coordinator<QueueDecision> & NeedsConfig<WorkloadsSettings>

export function queueCoordinator(): QueueCoordinator {
  return defineCoordinator<QueueBook, QueueDecision, WorkloadsSettings>({
    name: 'queue',
    config: workloadsConfig,
    reads: [
      AppWrapper,
      fields(Node, ['spec.taints', 'spec.unschedulable', 'status.allocatable']),
      fields(Pod, [
        'spec.nodeName',
        'spec.overhead',
        'spec.resources',
        'spec.containers.resources',
        'spec.initContainers.resources',
        'spec.initContainers.restartPolicy',
        'status.phase',
      ]),
      ...quotaInputs,
    ],
    start: ({ config }) => new QueueBook(config),
    take(book, change) {
      if (isChangeOf(change, AppWrapper)) book.takeAppWrapper((change.object ?? change.before)!, change.object)
      else if (isChangeOf(change, Pod))
        book.takePod((change.object ?? change.before)!.metadata.uid ?? '', change.object)
      else if (isChangeOf(change, Node)) {
        const { object, before } = change
        const name = (object ?? before)!.metadata.name
        book.nodes.setNode(name, object, resourceAmounts(object?.status?.allocatable))
      } else book.quota.take(change)
    },
    decide: (book, now) => book.decide(now),
  })
}
