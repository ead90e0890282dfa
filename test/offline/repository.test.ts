/** What hosts of repositories read: workflow and templates. They are tried only when it is too late, so their form is checked here. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readYaml } from '../../src/kube/yaml/yaml.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')

interface Workflow {
  readonly permissions: unknown
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly run?: string; readonly uses?: string }[] }>
  >
}

interface Form {
  readonly name: string
  readonly description: string
  readonly body: readonly {
    readonly type: string
    readonly id: string
    readonly attributes: { readonly label: string }
  }[]
}

describe('the workflow', () => {
  const workflow = readYaml(read('.github/workflows/ci.yml')) as unknown as Workflow

  it('runs what a change must pass, and may write nothing', () => {
    const steps = Object.values(workflow.jobs).flatMap((job) => job.steps)
    expect(steps.at(-1)?.run).toBe('.ci/run')
    expect(statSync(path.join(root, '.ci/run')).mode & 0o111).not.toBe(0)
    expect(workflow.permissions).toEqual({ contents: 'read' })
  })

  it('pins every action', () => {
    const actions = Object.values(workflow.jobs).flatMap((job) => job.steps.flatMap(({ uses }) => uses ?? []))
    expect(actions.length).toBeGreaterThan(0)
    for (const action of actions) expect(action).toMatch(/^[\w-]+\/[\w-]+@v\d+$/)
  })
})

describe('issue templates', () => {
  const forms = globSync('.github/ISSUE_TEMPLATE/!(config).yml', { cwd: root })

  it.each(forms)('%s has questions, each with a unique id', (file) => {
    const { name, description, body } = readYaml(read(file)) as unknown as Form
    expect([name, description].every(Boolean)).toBe(true)
    expect(new Set(body.map(({ id }) => id)).size).toBe(body.length)
    for (const { type, attributes } of body) {
      expect(['textarea', 'dropdown', 'input', 'checkboxes']).toContain(type)
      expect(attributes.label).not.toBe('')
    }
  })

  it('have absolute links: GitHub ignores others', () => {
    const { contact_links: links = [] } = readYaml(read('.github/ISSUE_TEMPLATE/config.yml')) as unknown as {
      readonly contact_links?: readonly { readonly url: string }[]
    }
    for (const { url } of links) expect(url).toMatch(/^https:\/\//)
  })

  it('lead vulnerabilities elsewhere', () => {
    expect(forms.map((file) => read(file)).join('')).toContain('SECURITY.md')
    expect(existsSync(path.join(root, 'SECURITY.md'))).toBe(true)
  })
})

it('the pull-request template names commands that exist', () => {
  const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
  const text = read('.github/PULL_REQUEST_TEMPLATE.md')
  for (const [, script = ''] of text.matchAll(/npm run ([\w:]+)/g)) expect(scripts).toHaveProperty([script])
})
