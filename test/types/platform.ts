/** What the compiler knows about `@muster-dev/muster/platform`. Compiled by the type check, never run. */
import type { Operator } from '@muster-dev/muster'
import type { Client } from '@muster-dev/muster/client'
import {
  Installation,
  type InstallationObject,
  installationOperator,
  operator,
  Revision,
  type SourceServices,
} from '@muster-dev/muster/platform'
import { expectTypeOf } from 'vitest'

declare const client: Client
declare const services: SourceServices

expectTypeOf(operator).toEqualTypeOf<Operator>()
expectTypeOf(installationOperator(services)).toEqualTypeOf<Operator>()
const found = await client.get(Installation, { name: 'web', namespace: 'shop' })
expectTypeOf(found.spec).toEqualTypeOf<InstallationObject['spec']>()
expectTypeOf((await client.get(Revision, { name: 'web-1', namespace: 'shop' })).spec.number).toEqualTypeOf<number>()
// @ts-expect-error: the clock of the machine is not assumed
installationOperator({})
