/** Alert rules, the queries of the dashboard and a scrape, as Prometheus itself reads them. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { realPromtool } from '../../scripts/real-promtool.ts'
import { isJsonObject, type Json } from '../../src/kube/json.ts'
import { writeYaml } from '../../src/kube/yaml/yaml.ts'
import { startManagerWithFindings } from '../manager-with-findings.ts'

const run = promisify(execFile)
const deploy = fileURLToPath(new URL('../../deploy/monitoring', import.meta.url))
let promtool: string
let folder: string
beforeAll(async () => {
  promtool = await realPromtool()
  folder = await mkdtemp(path.join(tmpdir(), 'muster-monitoring-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it('the alert rules are valid', async () => {
  const { stdout } = await run(promtool, ['check', 'rules', path.join(deploy, 'alerts.yaml')])
  expect(stdout).toMatch(/SUCCESS: \d{2} rules found/)
})

function queriesIn(value: Json | undefined): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => queriesIn(item))
  if (!isJsonObject(value)) return []
  const own = typeof value['expr'] === 'string' ? [value['expr']] : []
  return [...own, ...Object.values(value).flatMap((member) => queriesIn(member))]
}

it('the queries of the dashboard are valid, with its variables filled in', async () => {
  const dashboard = JSON.parse(await readFile(path.join(deploy, 'dashboard.json'), 'utf8')) as Json
  const queries = queriesIn(dashboard).map((query) =>
    query.replaceAll('$__rate_interval', '5m').replaceAll('$__range', '1h').replaceAll('$__interval', '1m'),
  )
  expect(queries.length).toBeGreaterThan(20)
  const rules = queries.map((expr, index) => ({ record: `dashboard:query:${index}`, expr }))
  const file = path.join(folder, 'dashboard.yaml')
  await writeFile(file, writeYaml({ groups: [{ name: 'dashboard', rules }] }))
  const { stdout } = await run(promtool, ['check', 'rules', file])
  expect(stdout).toContain(`SUCCESS: ${queries.length} rules found`)
})

it('a scrape has no fault that Prometheus names', async () => {
  const manager = await startManagerWithFindings(1)
  const scrape = await (await fetch(`${manager.service.statusUrl}/metrics`)).text()
  await manager.stop()
  expect(scrape).toContain('controller_runtime_reconcile_total')
  const check = spawn(promtool, ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [check.stdout, check.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()))
  check.stdin.end(scrape)
  const [code] = (await once(check, 'close')) as [number | null]
  expect({ code, said }).toEqual({ code: 0, said: '' })
})
