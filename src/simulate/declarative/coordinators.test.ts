import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { harbourOperator, pier, ship } from '../../../test/coordinator-operator.ts'
import { systemClock } from '../../clock/system-clock.ts'
import { runTest } from './run-test.ts'

const shipIs = (name: string, status: string): string =>
  `        - { apiVersion: harbour.example.com/v1, kind: Ship, metadata: { name: ${name}, namespace: default }, status: ${status} }\n`

const test = `operator: harbour
testName: ships dock when there is room
description: decisions follow the objects of each step
now: 2026-01-31T12:00:00Z
expect: { requests: false }
steps:
  - name: full
    apply: objects.yaml
    until: quiet
    expect:
      requests: false
      objects:
${shipIs('a', '{ isDocked: true }')}${shipIs('b', '{ isDocked: false, ahead: 0 }')}
  - name: left
    delete: [{ apiVersion: harbour.example.com/v1, kind: Ship, namespace: default, name: a }]
    until: quiet
    expect:
      requests: false
      objects:
${shipIs('b', '{ isDocked: true }')}`

it('an operator with a coordinator decides anew at each run of a declarative test', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'muster-coordinators-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(path.join(folder, 'input-dir'))
  writeFileSync(path.join(folder, 'test.yaml'), test)
  const objects = [pier('one', 10), ship('a', { length: 6, priority: 1 }), ship('b', { length: 6 })]
  writeFileSync(path.join(folder, 'objects.yaml'), objects.map((each) => JSON.stringify(each)).join('\n---\n'))
  const result = await runTest(folder, { clock: systemClock, load: () => Promise.resolve(harbourOperator()) })
  expect(result).toMatchObject({ outcome: 'passed', discrepancies: [] })
})
