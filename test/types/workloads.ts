/** What the compiler knows about `@muster-dev/muster/workloads` and the node scaler. Compiled by the type check, never run. */
import type { Operator } from '@muster-dev/muster'
import type { Client } from '@muster-dev/muster/client'
import { operator, QuotaSubtree, workloadsConfig, type WorkloadsSettings } from '@muster-dev/muster/workloads'
import { ManagedNodePool, operator as nodeScaler } from '@muster-dev/muster/workloads/instascale'
import { expectTypeOf } from 'vitest'

declare const client: Client

expectTypeOf(operator).toEqualTypeOf<Operator>()
expectTypeOf(workloadsConfig.read({}).mcad).toEqualTypeOf<WorkloadsSettings['mcad']>()
const { spec } = await client.get(QuotaSubtree, { name: 'root', namespace: 'kube-system' })
expectTypeOf(spec.parent).toEqualTypeOf<string | undefined>()
expectTypeOf(nodeScaler).toEqualTypeOf<Operator>()
const pool = await client.get(ManagedNodePool, { name: 'gpu' })
expectTypeOf(pool.spec.replicas).toEqualTypeOf<number>()
