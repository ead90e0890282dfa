import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { configMaps, embedded, namespaces } from '../../../test/embedded.ts'
import type { Client } from '../../client/client.ts'
import type { OperatorPlan } from '../../manager/plan/dry-run.ts'
import { planLines } from '../../manager/plan/text.ts'
import { Secret } from '../../kube/kinds.ts'
import { dryRunProgram } from './program-dry-run.ts'
import type { HostedProgram } from './program-run.ts'

const command = fileURLToPath(new URL('../../../test/contract/shell-operator.sh', import.meta.url))

async function shop(): Promise<Client> {
  const { client } = embedded()
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  const metadata = { name: 'wish', namespace: 'shop', labels: { answer: 'wanted' } }
  await client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { size: '3' } })
  return client
}

/** Reads a Secret, and repeats what it holds behind so many other characters that it is cut there. */
const teller = `
case $1 in
input-resources)
  echo 'applyConfigurationResources: {exactResources: [{group: "", version: v1, resource: secrets, namespace: shop, name: token}]}'
  exit ;;
output-resources)
  echo 'configurationResources: {exactResources: [{group: "", version: v1, resource: configmaps, namespace: shop, name: a}]}'
  exit ;;
esac
while [ $# -gt 1 ]; do [ "$1" != --output-dir ] || output=$2; shift; done
padding=$(printf '%0290d' 0)
results() { mkdir -p "$output"; printf "controllerResults:\\n- controllerName: c\\n  status: $1\\n" >"$output/controller-results.yaml"; }
case $HOW in
stderr) printf '%s %s\\n' "$padding" "$VALUE" >&2; exit 2 ;;
error) results "Failed\\n  errors: [{message: $padding $VALUE}]"; exit 1 ;;
name)
  results Succeeded
  place=$output/Configuration/Apply/namespaces/shop/core/configmaps
  mkdir -p "$place"
  echo 'kind: ConfigMap' >"$place/1234-body-a.yaml"
  printf 'action: Apply\\nname: %s/%s\\nnamespace: shop\\nresourceType: {Group: "", Resource: configmaps, Version: v1}\\n' "$padding$padding$padding" "$VALUE" >"$place/1234-metadata-a.yaml" ;;
esac
`

const plan = (client: Client, env: Readonly<Record<string, string>>, more: Partial<HostedProgram> = {}) =>
  dryRunProgram({
    name: 'shell',
    hosted: { program: { command, env }, canary: () => Promise.resolve('none'), allowNetwork: true, ...more },
    client,
    signal: new AbortController().signal,
  })

const textOf = (made: OperatorPlan): string =>
  planLines(made)
    .map(({ text }) => text)
    .join('\n')

describe('the dry run of a program', () => {
  it('shows the result of the server, and writes nothing', async () => {
    const client = await shop()
    const made = await plan(client, { WHO: 'us' })
    expect(made.changes).toMatchObject([{ action: 'create', object: { kind: 'ConfigMap', name: 'answer' } }])
    expect(textOf(made)).toContain('+++ v1/ConfigMap/shop/answer')
    await expect(client.get(configMaps, { namespace: 'shop', name: 'answer' })).rejects.toThrow(/not found/)

    const metadata = { name: 'answer', namespace: 'shop' }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { for: 'us', amount: '2' } }
    await client.apply(configMaps, object, { fieldManager: 'shell' })
    expect((await plan(client, { WHO: 'us' })).changes).toMatchObject([
      { action: 'change', fields: [{ path: 'data.amount', before: '2', after: '3' }] },
    ])
    await client.apply(
      configMaps,
      { ...object, data: { for: 'us', amount: '3' } },
      { fieldManager: 'shell', force: true },
    )
    expect(textOf(await plan(client, { WHO: 'us' }))).toBe('# shell: nothing to do for 1 CR.')
    // A deletion that is only tried takes nothing away.
    expect(textOf(await plan(client, { WHO: 'us', HOSTILE: 'trial' }))).toBe('# shell: nothing to do for 1 CR.')
  })

  it('is rejected and waits as a run does, without live calls', async () => {
    const client = await shop()
    await expect(plan(client, { HOSTILE: 'other' })).rejects.toThrow(/not among its declared outputs/)
    await expect(plan(client, { HOSTILE: 'crash' })).rejects.toThrow(/exit code 2/)
    expect((await plan(client, { READS: 'things' })).crs).toMatchObject([{ outcome: 'waiting' }])
    expect((await plan(client, { HOSTILE: 'partial' })).crs).toMatchObject([
      { outcome: 'failed', message: 'half of it' },
    ])
    await expect(plan(client, {}, { live: { allow: [] } })).rejects.toThrow(/runs live/)
  })

  it.each(['stderr', 'name', 'error'])(
    'shows no Secret that it reads, of any length, where text is truncated: %s',
    async (HOW) => {
      const client = await shop()
      const value = 's3cr3t-'.repeat(300)
      const metadata = { name: 'token', namespace: 'shop' }
      await client.create(Secret, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata,
        data: { token: Buffer.from(value).toString('base64') },
      })
      const program = { command: '/bin/sh', args: ['-c', teller, 'teller'], env: { HOW, VALUE: value } }
      const told = await plan(client, {}, { program }).then(
        JSON.stringify,
        (error: unknown) => (error as Error).message,
      )
      expect(told).toContain('(secret)')
      expect(told).not.toContain('s3cr')
    },
  )
})
