/** A running program: on an embedded server, with its host alone or in a manager. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { createApiServer } from '../../src/apiserver/server/api-server.ts'
import { createSharedCache } from '../../src/cache/shared-cache.ts'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import { inProcessTransport } from '../../src/client/in-process.ts'
import { systemClock } from '../../src/clock/system-clock.ts'
import { bare } from '../../src/contract/external/load-program.ts'
import { hostProgram } from '../../src/contract/external/program-host.ts'
import type { HostedProgram } from '../../src/contract/external/program-run.ts'
import { programsFolder } from '../../src/contract/external/programs-folder.ts'
import type { JsonObject } from '../../src/kube/json.ts'
import type { UntypedObject } from '../../src/kube/object.ts'
import type { Finding } from '../../src/manager/findings/finding.ts'
import type { OperatorHost, OperatorHostOptions } from '../../src/manager/hosting/host.ts'
import {
  createManager,
  type HostedOptions,
  type Manager,
  type ManagerOptions,
} from '../../src/manager/hosting/manager.ts'
import { openGates } from '../../src/manager/gates/gate-options.ts'
import { createScheduler } from '../../src/manager/schedule/scheduler.ts'
import type { Ledger } from '../../src/operator/ledger.ts'
import { configMaps, namespaces } from '../embedded.ts'

export const shell: string = fileURLToPath(new URL('shell-operator.sh', import.meta.url))
export const hostile: string = fileURLToPath(new URL('hostile-operator.sh', import.meta.url))

export interface ProgramEnvironment {
  readonly client: Client
  readonly host: OperatorHost
  /** The input directory: known when it has started. */
  input(this: void): string
  readonly lines: readonly JsonObject[]
  readonly findings: readonly Finding[]
  /** `POST /api/v1/…`: mutating requests since the host was started. */
  readonly sent: readonly string[]
  /** The next run. */
  next(this: void): Promise<Ledger>
}

export async function openProgramEnvironment(
  env: Readonly<Record<string, string>> = {},
  hosted: Partial<HostedProgram> = {},
  options: Partial<OperatorHostOptions> = {},
): Promise<ProgramEnvironment> {
  const server = createApiServer({ clock: systemClock })
  const transport = inProcessTransport(server)
  const sent: string[] = []
  const client = createClient({
    transport: {
      ...transport,
      send(request) {
        if (request.method !== 'GET') sent.push(`${request.method} ${request.path}`)
        return transport.send(request)
      },
    },
  })
  const cache = createSharedCache({ client })
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  await client.create(configMaps, wish('3'))
  sent.length = 0
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-external-'))
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  const lines: JsonObject[] = []
  const findings: Finding[] = []
  let waiting: PromiseWithResolvers<Ledger> | undefined
  const host = hostProgram(
    {
      program: { command: shell, env },
      // Not every machine supports network isolation; tests that depend on it override this.
      allowNetwork: true,
      ...hosted,
    },
    {
      operator: bare('shell'),
      client,
      cache,
      // No debounce.
      lane: createScheduler({ clock: systemClock, concurrency: 1 }).openLane('shell', {
        ...openGates,
        concurrency: 1,
      }),
      log: (line) => void lines.push(line),
      onLedger: (ledger) => waiting?.resolve(ledger),
      onFinding: (finding) => void findings.push(finding),
      ...options,
    },
  )
  onTestFinished(async () => {
    await host.stop()
    cache.close()
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    client,
    host,
    lines,
    findings,
    sent,
    input() {
      const own = readdirSync(programsFolder()).find((name) => name.startsWith('shell-')) ?? ''
      return path.join(programsFolder(), own, 'input')
    },
    next() {
      waiting = Promise.withResolvers()
      return waiting.promise
    },
  }
}

export interface ManagedProgram {
  readonly client: Client
  readonly manager: { readonly all: Manager; add(options?: HostedOptions): Promise<void> }
  next(this: void): Promise<Ledger>
}

/** The same in a manager. */
export async function openManagedProgram(
  hosted: Partial<HostedProgram>,
  options: Partial<ManagerOptions> = {},
): Promise<ManagedProgram> {
  const client = createClient({ transport: inProcessTransport(createApiServer({ clock: systemClock })) })
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
  await client.create(configMaps, wish('3'))
  let waiting: PromiseWithResolvers<Ledger> | undefined
  const all = createManager({ client, onLedger: (ledger) => waiting?.resolve(ledger), ...options })
  onTestFinished(() => all.stop())
  const program = { command: shell }
  const host = (hosting: OperatorHostOptions): OperatorHost => hostProgram({ program, ...hosted }, hosting)
  return {
    client,
    manager: { all, add: (more) => all.add(bare('shell'), { host, ...more }) },
    next() {
      waiting = Promise.withResolvers()
      return waiting.promise
    },
  }
}

export function wish(size: string): UntypedObject {
  const metadata = { name: 'wish', namespace: 'shop', labels: { answer: 'wanted' } }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { size } }
}

export const answer = { namespace: 'shop', name: 'answer' }

/** Without the sandbox: runs are faster where it does not matter. */
export const open: Partial<HostedProgram> = { canary: () => Promise.resolve('none'), allowNetwork: true }
