/** What the compiler knows about `@muster-dev/muster/manager`, `contract` and `apiserver`. Compiled by the type check, never run. */
import type { Operator } from '@muster-dev/muster'
import { type ApiServer, createApiServer } from '@muster-dev/muster/apiserver'
import type { SharedCache } from '@muster-dev/muster/cache'
import type { Client } from '@muster-dev/muster/client'
import { type InputResources, inputResourcesOf, operatorMain } from '@muster-dev/muster/contract'
import { dryRun, hostOperator, type OperatorHost, type OperatorPlan } from '@muster-dev/muster/manager'
import type * as manager from '@muster-dev/muster/manager'
import type { Clock } from '@muster-dev/muster/testing'
import { expectTypeOf } from 'vitest'

declare const operator: Operator
declare const client: Client
declare const cache: SharedCache
declare const clock: Clock

expectTypeOf(hostOperator({ operator, client, cache })).toEqualTypeOf<OperatorHost>()
expectTypeOf(await dryRun({ operator, client, cache })).toEqualTypeOf<OperatorPlan>()
// @ts-expect-error: it needs a cache
hostOperator({ operator, client })
// Parts that only the manager uses are not public.
type Internal =
  | 'changesBetween'
  | 'createActivity'
  | 'createExecutor'
  | 'createRunMeter'
  | 'createTaskRunner'
  | 'healthReport'
  | 'loopMs'
  | 'openResultFolder'
  | 'runReconcile'
  | 'startRuntime'
  | 'startStatusServer'
  | 'underWay'
expectTypeOf<Extract<keyof typeof manager, Internal>>().toBeNever()

expectTypeOf(inputResourcesOf(operator)).toEqualTypeOf<InputResources>()
expectTypeOf(operatorMain).parameter(0).toExtend<Operator>()

expectTypeOf(createApiServer({ clock })).toExtend<ApiServer>()
// @ts-expect-error: a misspelt option
createApiServer({ clock, clocks: 1 })
