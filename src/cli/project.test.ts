/** Projects as people make them: through the command line, in a folder of their own. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { check, emptyFolder, install, muster } from '../../test/project.ts'

const manifest = `
apiVersion: v1
kind: Secret
metadata: { name: web, namespace: prod, uid: abc, labels: { tier: front } }
type: Opaque
data: { password: c2VjcmV0 }
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  resourceVersion: '12'
  annotations: { team: a, deployment.kubernetes.io/revision: '3' }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { creationTimestamp: null, labels: { app: web } }
    spec: { containers: [{ name: web, image: nginx, command: [sh, -c, 'echo \`date\` \${HOME} \\n'] }] }
status: { replicas: 2 }
`

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: tickets.example.org }
spec:
  group: example.org
  scope: Namespaced
  names: { kind: Ticket, plural: tickets }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          { type: object, properties: { spec: { type: object, properties: { host: { type: string } } } } }
`

describe('a new project', () => {
  it(
    'passes its test at once, and so it does with every dependent that is generated',
    { timeout: 120_000 },
    async () => {
      const folder = await emptyFolder()
      const begun = await muster(folder, 'init', 'web-shop-operator', '--group', 'shops.example.com')
      expect(begun).toMatchObject({ code: 0, stderr: '' })
      expect(begun.stdout).toContain('cd web-shop-operator && npm install && npm test && npm start')
      const project = path.join(folder, 'web-shop-operator')
      await install(project)
      await writeFile(path.join(project, 'all.yaml'), manifest)
      await writeFile(path.join(project, 'crd.yaml'), crd)

      const generate = async (...words: readonly string[]): Promise<string> => {
        const { code, stdout, stderr } = await muster(project, 'generate', 'dependent', ...words)
        expect({ words, code, stderr }).toMatchObject({ code: 0 })
        return await readFile(path.join(project, stdout.split('\n')[0]!), 'utf8')
      }
      const [, , , secret, deployment] = await Promise.all([
        generate('svc'),
        generate('StorageClass'),
        generate('Ticket', '--crd', 'crd.yaml', '--out', 'src/tickets/first-ticket.ts'),
        generate('secret', '--from', 'all.yaml'),
        generate('deploy', '--from', 'all.yaml', '--out', 'src/front-end.ts', '--for', 'src/kind.ts#WebShop'),
      ])
      // The generated code holds no field that the server sets, no namespace and no data of a Secret.
      expect(secret).toContain('tier: front')
      expect(secret).not.toMatch(/c2VjcmV0|prod|abc/)
      expect(deployment).toContain('team: a')
      expect(deployment).toContain(String.raw`echo \`date\` \${HOME} \\n`)
      expect(deployment).not.toMatch(/replicas: 2|revision|resourceVersion|creationTimestamp/)

      const { code, stdout } = await check(project)
      expect(stdout).toContain('pass 1')
      expect(code).toBe(0)
    },
  )

  it('never overwrites files', { timeout: 60_000 }, async () => {
    const folder = await emptyFolder()
    await muster(folder, 'init', 'shop')
    const again = await muster(folder, 'init', 'shop')
    expect(again).toMatchObject({ code: 2, stdout: '' })
    expect(again.stderr).toContain('MUS1506 AlreadyThere: shop exists and is not an empty folder.')

    const project = path.join(folder, 'shop')
    await install(project)
    const file = path.join(project, 'src', 'deployment.ts')
    const mine = await readFile(file, 'utf8')
    const refused = await muster(project, 'generate', 'dependent', 'Deployment')
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(refused.stderr).toContain('MUS1506 AlreadyThere: src/deployment.ts exists')
    expect(await readFile(file, 'utf8')).toBe(mine)
    const shown = await muster(project, 'generate', 'dependent', 'Deployment', '--stdout')
    expect(shown.stdout).toContain('export const deployment = defineDependent({')
    expect(await readFile(file, 'utf8')).toBe(mine)
  })
})
