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
import { Kyma, type KymaObject, operator as kyma } from '@muster-dev/muster/platform/kyma'
import {
  DataScienceCluster,
  type DataScienceClusterObject,
  operator as openDataHub,
} from '@muster-dev/muster/platform/open-data-hub'
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

// The façades are operators of their own, with the kinds that their users know.
expectTypeOf(kyma).toEqualTypeOf<Operator>()
expectTypeOf(openDataHub).toEqualTypeOf<Operator>()
expectTypeOf((await client.get(Kyma, { name: 'default', namespace: 'kyma-system' })).spec).toEqualTypeOf<
  KymaObject['spec']
>()
expectTypeOf((await client.get(DataScienceCluster, { name: 'default' })).spec).toEqualTypeOf<
  DataScienceClusterObject['spec']
>()
