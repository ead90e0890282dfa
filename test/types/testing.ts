/** What the compiler knows about `@muster-dev/muster/testing`. Compiled by the type check, never run. */
import type { Client } from '@muster-dev/muster/client'
import type { Live, Operator } from '@muster-dev/muster'
import {
  type Clock,
  fakeSidecar,
  openTestEnvironment,
  startTestControlPlane,
  type TestEnvironment,
  virtualClock,
} from '@muster-dev/muster/testing'
import { expectTypeOf } from 'vitest'

declare const operator: Operator

const sidecar = fakeSidecar({ state: 'running', onAction: (_, own) => own.finish() })
expectTypeOf(sidecar).toExtend<Live>()
// @ts-expect-error: it has a first state
fakeSidecar({})

const environment = await openTestEnvironment(operator, { live: sidecar, workloads: true })
expectTypeOf(environment).toEqualTypeOf<TestEnvironment>()
expectTypeOf(environment.client).toEqualTypeOf<Client>()
expectTypeOf(environment.clock).toExtend<Clock>()
expectTypeOf(virtualClock()).toExtend<Clock>()
// @ts-expect-error: a misspelt option
await openTestEnvironment(operator, { workload: true })

expectTypeOf((await startTestControlPlane()).kubeconfig).toBeString()
