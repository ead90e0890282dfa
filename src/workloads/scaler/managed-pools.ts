/**
 * Carries decisions out on ManagedNodePools, and keeps the pool at the cluster manager as its object says. Calls are made here, in
 * the reconcile of one pool, never where it is decided: a slow or broken manager delays its pools and nothing else.
 */
import type { UntypedObject } from '../../kube/object.ts'
import { Node, Secret } from '../../kube/kinds.ts'
import { defineController, type LiveContext } from '../../operator/controller.ts'
import { type Edit, edited } from '../../operator/edits.ts'
import { OperatorError } from '../../operator/failure.ts'
import { exactly, referenced } from '../../operator/view/input.ts'
import { fields } from '../../operator/view/projected-input.ts'
import { type InstascaleConfig, instascaleConfig } from './instascale-settings.ts'
import { nodeEdits, poolEdit, type ScalerController } from './machine-pools.ts'
import { ClusterVersion } from './machine-kinds.ts'
import { ManagedNodePool, type ManagedNodePoolObject } from './managed-node-pool.ts'
import {
  ensurePool,
  type ManagedPoolProvider,
  type ManagedPoolState,
  type WantedPool,
} from './managed-pool-provider.ts'
import { nodeScaler } from './node-scaler.ts'
import { ocmPools } from './ocm-pools.ts'
import { madeForLabel, poolLabel } from './pool-record.ts'

/** How often the manager is asked: while nodes come or go, and otherwise. */
const pollMs = 30_000
const restMs = 10 * 60_000

type PoolContext = LiveContext<ManagedNodePoolObject, InstascaleConfig>

export const managedPoolController: ScalerController<ManagedNodePoolObject> = defineController<
  ManagedNodePoolObject,
  InstascaleConfig
>({
  for: ManagedNodePool,
  config: instascaleConfig,
  coordinators: [nodeScaler],
  reads: [
    referenced(Secret, {
      from: ManagedNodePool,
      namePath: '$.spec.secretRef.name',
      namespacePath: '$.spec.secretRef.namespace',
    }),
    exactly(ClusterVersion, { name: 'version' }),
    fields(Node, ['spec.taints', 'status.allocatable']),
  ],
  edits: {
    kinds: [edited(ManagedNodePool, ['patch', 'delete']), edited(Node, ['patch'])],
    plan({ cr, view, decision }): readonly Edit[] {
      const decided = decision(nodeScaler, cr.metadata.uid ?? '')
      if (decided?.for !== 'pool') return []
      return decided.isObsolete ? [{ remove: cr }] : [poolEdit(cr, decided), ...nodeEdits(view, decided)]
    },
  },
  async reconcile(context) {
    const { cr, decision, live } = context
    if (!live.available) return {}
    const decided = decision(nodeScaler, cr.metadata.uid ?? '')
    // It is about to be edited: the manager is asked for what it should be then.
    if (decided?.for === 'pool' && (decided.isObsolete || decided.replicas !== cr.spec.replicas)) {
      const { replicas = 0, failure } = cr.status ?? {}
      return { status: { replicas, ...(failure !== undefined && { failure }) } }
    }
    const { state, failure } = await keepPool(context)
    const replicas = state?.current ?? 0
    const isAtRest = failure === undefined && replicas === context.cr.spec.replicas
    return {
      status: { replicas, ...(failure !== undefined && { failure }) },
      requeueAfterMs: isAtRest ? restMs : pollMs,
    }
  },
  async finalize(context) {
    if (!context.live.available) return 'done'
    const provider = await providerFor(context)
    const { name } = context.cr.metadata
    if (!(await provider.find(name))) return 'done'
    await provider.remove(name)
    return { waitingFor: 'the pool to be gone at the cluster manager', afterMs: pollMs }
  },
})

interface KeptPool {
  readonly state: ManagedPoolState | undefined
  readonly failure: string | undefined
}

/** A pool that the manager refuses is reported, so that the workload gets another one. */
async function keepPool(context: PoolContext): Promise<KeptPool> {
  const provider = await providerFor(context)
  try {
    const state = await ensurePool(provider, wantedPool(context.cr))
    return { state, failure: state?.failure }
  } catch (error) {
    if (error instanceof OperatorError && error.reason === 'PoolRefused')
      return { state: undefined, failure: error.message }
    throw error
  }
}

function wantedPool({ metadata, spec }: ManagedNodePoolObject): WantedPool {
  const label = metadata.labels?.[madeForLabel]
  return {
    id: metadata.name,
    instanceType: spec.instanceType,
    replicas: spec.replicas,
    labels: { [poolLabel]: metadata.name, ...(label !== undefined && { [label]: label }) },
  }
}

async function providerFor({ cr, view, live, config, now }: PoolContext): Promise<ManagedPoolProvider> {
  const { secretRef } = cr.spec
  const { url, tokenUrl, clusterId } = config.instascale.ocm
  const externalId =
    clusterId === undefined ? view.get(ClusterVersion, { name: 'version' })?.spec?.clusterID : undefined
  const http = live.http.bind(live)
  return await ocmPools({
    http,
    now,
    url,
    tokenUrl,
    token: tokenIn(view.get(Secret, secretRef), secretRef),
    clusterId,
    externalId,
  })
}

/** @throws OperatorError if there is no token */
function tokenIn(
  secret: (Pick<UntypedObject, 'metadata'> & { readonly data?: Readonly<Record<string, string>> }) | undefined,
  { namespace, name }: ManagedNodePoolObject['spec']['secretRef'],
): string {
  const place = `Secret ${namespace}/${name}`
  if (!secret) {
    throw new OperatorError(
      'NoSecret',
      `${place}, which instascale.ocmSecretRef names, does not exist. Create it with the key token.`,
      {
        retry: 'terminal',
      },
    )
  }
  const token = Buffer.from(secret.data?.['token'] ?? '', 'base64')
    .toString()
    .trim()
  if (token !== '') return token
  throw new OperatorError('NoToken', `${place} has no key token. Put the token of the cluster manager there.`, {
    retry: 'terminal',
  })
}
