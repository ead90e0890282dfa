/** What the compiler knows about `@muster-dev/muster/sidecar`. Compiled by the type check, never run. */
import {
  type ActionRecord,
  loadConfig,
  type Sidecar,
  sidecarClient,
  type SidecarClientOptions,
  type SidecarConfig,
  type SidecarState,
  startSidecar,
} from '@muster-dev/muster/sidecar'
import type { Clock } from '@muster-dev/muster/testing'
import { expectTypeOf } from 'vitest'

declare const clock: Clock
declare const options: SidecarClientOptions

const config = await loadConfig('sidecar.yaml')
expectTypeOf(config).toEqualTypeOf<SidecarConfig>()
expectTypeOf(await startSidecar({ clock, config })).toEqualTypeOf<Sidecar>()
// @ts-expect-error: it needs its configuration
await startSidecar({ clock })

const client = sidecarClient(options)
expectTypeOf(await client.state()).toEqualTypeOf<SidecarState>()
expectTypeOf(await client.start({ key: 'k', name: 'backup', input: { target: 'a' } })).toEqualTypeOf<ActionRecord>()
// An unknown key is no error.
expectTypeOf(await client.action('k')).toEqualTypeOf<ActionRecord | undefined>()
expectTypeOf(await client.cancel('k')).toEqualTypeOf<ActionRecord | undefined>()
// @ts-expect-error: an action has a key, so that it starts once
await client.start({ name: 'backup' })
// @ts-expect-error: it needs a token
sidecarClient({ ...options, token: undefined })
