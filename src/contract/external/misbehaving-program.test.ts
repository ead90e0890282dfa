/** Programs that hang, crash, want too much, or leave an output that is meant to harm: nothing of that is applied. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  answer,
  hostile,
  open,
  shell,
  openProgramEnvironment,
  wish,
} from '../../../test/contract/program-environment.ts'
import { configMaps } from '../../../test/embedded.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { describeError } from '../../kube/muster-error.ts'
import { readConfiguration } from '../../manager/config/configuration.ts'
import { describeFinding, type Finding } from '../../manager/findings/finding.ts'
import type { Ledger } from '../../operator/ledger.ts'
import { programOf } from './load-program.ts'
import { checkSandbox } from './program.ts'

describe('a program that misbehaves', () => {
  it('is not started where the self-check finds that its sandbox leaks', async () => {
    // As it would be, if namespaces were made and led out all the same.
    const canary = (): Promise<string | undefined> => checkSandbox(systemClock, 'open')
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-program-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const program = { command: '/bin/sh', args: ['-c', `touch ${folder}/started`] }
    const { host } = await openProgramEnvironment({}, { canary, program, allowNetwork: false })
    const refusal = await host.start().then(() => 'started', describeError)
    expect(refusal).toMatch(/MUS2004 NetworkNotCut: shell: the sandbox leaks: files \(.*signals, network, sockets\. /)
    expect(refusal).toContain('With allowUnenforced: true it would be run all the same')
    expect(readdirSync(folder)).toEqual([])
  })

  it('is rejected where its network cannot be isolated, unless allowed', async () => {
    const canary = (): Promise<string> => Promise.resolve('there are no namespaces')
    const refused = await openProgramEnvironment({}, { canary, allowNetwork: false })
    await expect(refused.host.start()).rejects.toThrow(expect.objectContaining({ code: 'MUS2004' }) as Error)
    const allowed = await openProgramEnvironment({}, { canary, allowNetwork: true })
    const run = allowed.next()
    await allowed.host.start()
    expect((await run).failure).toBeUndefined()
  })

  it.each([
    ['hang', /did not end within 700 ms/, { limits: { timeoutMs: 700 } }],
    ['crash', /exit code 2/, {}],
    ['silent', /left no results/, {}],
  ])('changes nothing when it misbehaves: %s', async (HOSTILE, why, options) => {
    const { host, next, findings, sent } = await openProgramEnvironment({ HOSTILE }, { ...open, ...options })
    const run = next()
    await host.start()
    const { failure, entries } = await run
    expect(failure?.message).toMatch(why)
    expect([entries, findings, sent]).toEqual([[], [], []])
  })

  it('has nothing applied of a hostile output, not even its valid parts; a finding names file and cause', async () => {
    const bad = 'Configuration/Apply/namespaces/shop/core/configmaps/bad'
    const cases: readonly (readonly [how: string, kind: Finding['kind'], why: string])[] = [
      ['escaping-name', 'refusedOutput', `${bad}-body-x.yaml: its name "../../../secrets/other" must not contain "/".`],
      ['absolute-name', 'refusedOutput', `${bad}-body-x.yaml: its name "/etc/passwd" must not contain "/".`],
      [
        'escaping-namespace',
        'refusedOutput',
        `${bad}-body-x.yaml lies in Apply/namespaces/shop/core/configmaps, but is about Apply/kube-system/core/configmaps by its metadata.`,
      ],
      ['escaping-subresource', 'refusedOutput', `${bad}-body-x.yaml: "../../secrets/other" is no subresource.`],
      ['escaping-order', 'refusedOutput', 'Configuration/order.yaml names ../../outside.yaml, which is not below it.'],
      ['link', 'refusedOutput', 'Configuration/link.yaml is neither a file nor a folder.'],
      ['bomb-in-body', 'refusedOutput', `${bad}-body-x.yaml: its aliases stand for too many values.`],
      ['bomb-in-metadata', 'refusedOutput', `${bad}-metadata-x.yaml: its aliases stand for too many values.`],
      ['bomb-in-options', 'refusedOutput', `${bad}-options-x.yaml: its aliases stand for too many values.`],
      ['bomb-in-order', 'refusedOutput', 'Configuration/order.yaml: its aliases stand for too many values.'],
      ['bomb-in-results', 'refusedOutput', 'controller-results.yaml: its aliases stand for too many values.'],
      ['long-bomb-in-body', 'refusedOutput', `${bad}-body-x.yaml: its aliases stand for more than 3145728 bytes.`],
      [
        'long-bomb-in-results',
        'refusedOutput',
        'controller-results.yaml: its aliases stand for more than 3145728 bytes.',
      ],
      ['large-body', 'refusedOutput', `${bad}-body-x.yaml is larger than 3145728 bytes.`],
      ['other-kind', 'refusedOutput', `${bad}-body-x.yaml holds a Secret, and configmaps are of kind ConfigMap.`],
      ['other-group', 'refusedOutput', `${bad}-body-x.yaml: its group is "apps", by its metadata "".`],
      [
        'other-in-body',
        'refusedOutput',
        `${bad}-body-x.yaml: its name is "kube-root-ca.crt", by its metadata "answer".`,
      ],
      [
        'other-manager',
        'refusedOutput',
        `${bad}-body-x.yaml: it would be written as "neighbour", a field manager that belongs to the operator of that name.`,
      ],
      [
        'other-name',
        'undeclaredWrite',
        `${bad}-body-x.yaml: Apply-ConfigMap.v1./kube-root-ca.crt[shop] is not among its declared outputs for Configuration.`,
      ],
      [
        'other-namespace',
        'undeclaredWrite',
        `${bad.replace('shop', 'kube-system')}-body-x.yaml: Apply-ConfigMap.v1./answer[kube-system] is not among its declared outputs for Configuration.`,
      ],
    ]
    const others = (): readonly string[] => ['shell', 'neighbour']
    const { host, client, next, findings, sent } = await openProgramEnvironment(
      {},
      { ...open, others, program: { command: hostile } },
    )
    const found: (readonly [string, string, string])[] = []
    for (const [index, [how]] of cases.entries()) {
      // What it does beside, it does as the wish says.
      await client.apply(configMaps, wish(how), { fieldManager: 'person', force: true })
      const run = next()
      if (index === 0) await host.start()
      const { failure, entries } = await run
      const finding = findings.at(-1)!
      found.push([how, finding.kind, failure!.message])
      expect(describeFinding(finding)).toContain(failure!.message)
      expect([findings.length, entries]).toEqual([index + 1, []])
    }
    expect(found).toEqual(cases)
    expect(sent.filter((each) => !each.includes('/configmaps/wish?'))).toEqual([])
    const { items } = await client.list(configMaps)
    expect(items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(['shop/wish'])
  })

  it('gets the memory of program.memory, and a message names the setting when that is not enough', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'muster-program-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    // It has begun by then, and tail keeps all that it is given until a line ends.
    const greedy = `touch "${folder}/started"; head -c 150000000 /dev/zero | tail >/dev/null\n  results\n  [`
    const text = readFileSync(shell, 'utf8').replace('results\n  [', greedy)
    writeFileSync(path.join(folder, 'greedy.sh'), text, { mode: 0o755 })
    const withMemory = async (memory: string): Promise<Ledger> => {
      const value = { operators: { shell: { program: { command: './greedy.sh', memory } } } }
      const section = readConfiguration([{ source: 'test', value }]).settings.operators['shell']!
      const hosted = await programOf({ ...section, program: section.program! }, folder)
      const { host, next } = await openProgramEnvironment({}, { ...hosted, ...open })
      const run = next()
      await host.start()
      return await run
    }
    expect((await withMemory('1Gi')).failure).toBeUndefined()
    rmSync(path.join(folder, 'started'))
    expect((await withMemory('64Mi')).failure?.message).toMatch(
      /^shell: it ran out of memory, and may have 64 MiB for each process \(program\.memory\): .*memory exhausted/,
    )
    expect(existsSync(path.join(folder, 'started'))).toBe(true)
  })

  it('is killed while it writes a file beyond the size limit: nothing is applied', async () => {
    const misled = { ...open, program: { command: hostile, env: { HOSTILE: 'gigabyte-body' } } }
    const { host, next, sent } = await openProgramEnvironment({}, misled)
    const run = next()
    await host.start()
    expect((await run).failure?.message).toMatch(/^shell: it wrote a file of more than 268435456 bytes, and was ended/)
    expect(sent).toEqual([])
  })

  it('has the rest applied of an output with its own list of undeclared writes; that is a finding', async () => {
    const honest = { ...open, program: { command: hostile, env: { HOSTILE: 'unspecified' } } }
    const { host, client, next, findings, sent } = await openProgramEnvironment({}, honest)
    const run = next()
    await host.start()
    expect(await run).toMatchObject({ entries: [{ operation: 'created', name: answer }] })
    expect(findings.map(describeFinding)).toEqual([
      expect.stringMatching(/it writes without a declaration: Unspecified\/Apply\/.*-body-answer\.yaml$/),
    ])
    expect(sent).toHaveLength(1)
    expect(await client.get(configMaps, answer)).toMatchObject({ data: { amount: '3' } })
  })

  it('may have its own field managers, and none of another operator', async () => {
    const others = (): readonly string[] => ['shell', 'neighbour']
    const copy = path.join(mkdtempSync(path.join(tmpdir(), 'muster-program-')), 'operator.sh')
    const text = readFileSync(shell, 'utf8').replaceAll('fieldManager: shell', 'fieldManager: ConfigObserver')
    writeFileSync(copy, text, { mode: 0o755 })
    onTestFinished(() => rmSync(path.dirname(copy), { recursive: true, force: true }))
    const { host, client, next } = await openProgramEnvironment({}, { ...open, others, program: { command: copy } })
    const run = next()
    await host.start()
    expect((await run).failure).toBeUndefined()
    const { metadata } = await client.get(configMaps, answer)
    expect(metadata.managedFields).toMatchObject([{ manager: 'ConfigObserver', operation: 'Apply' }])
  })
})
