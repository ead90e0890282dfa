/** An operator that renders its CRs with a task: a ConfigMap for each CR, with what the task returned. */
import { ConfigMap, Secret } from '../src/kube/kinds.ts'
import type { UntypedObject } from '../src/kube/object.ts'
import { defineController } from '../src/operator/controller.ts'
import { type Field, optional, string } from '../src/operator/kind/field.ts'
import { defineKind, type Kind } from '../src/operator/kind/kind.ts'
import { defineOperator, type Operator } from '../src/operator/operator.ts'
import { defineTask, type Task, type TaskContext } from '../src/operator/task/task.ts'

type SiteSpec = {
  readonly chart: Field<string, string, 'defaulted'>
  readonly login: Field<string, string, 'optional'>
}

export const Site: Kind<SiteSpec> = defineKind<SiteSpec>({
  group: 'tasks.example.com',
  version: 'v1',
  kind: 'Site',
  spec: { chart: string({ default: 'web' }), login: optional(string()) },
})

export interface RenderInput {
  readonly chart: string
}

/** Attempts end when the test says so. */
export interface ControlledRender {
  readonly render: Task<RenderInput, string>
  readonly attempts: (PromiseWithResolvers<string> & { readonly input: RenderInput; readonly context: TaskContext })[]
}

export function controlledRender(): ControlledRender {
  const attempts: ControlledRender['attempts'] = []
  const render = defineTask({
    name: 'example.com/render',
    run(input: RenderInput, context) {
      const attempt = { input, context, ...Promise.withResolvers<string>() }
      attempts.push(attempt)
      return attempt.promise
    },
  })
  return { render, attempts }
}

export function siteOperator(render: Task<RenderInput, string>, name = 'sites'): Operator {
  return defineOperator({
    name,
    controllers: [
      defineController({
        for: Site,
        tasks: [render],
        reads: [Secret],
        writes: [ConfigMap],
        async reconcile({ cr, view, result }) {
          const { chart, login } = cr.spec
          const { namespace } = cr.metadata
          const token = login === undefined ? undefined : view.get(Secret, { name: login, namespace })?.data?.['token']
          const secrets = token === undefined ? {} : { token: Buffer.from(token, 'base64').toString() }
          const text = await result(render, { chart }, { secrets })
          const config: UntypedObject = {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: `${cr.metadata.name}-${name}`, ...(namespace !== undefined && { namespace }) },
            data: { text },
          }
          return { objects: [config] }
        },
      }),
    ],
  })
}

export function site(name: string, chart = 'web', login?: string): UntypedObject {
  return {
    apiVersion: 'tasks.example.com/v1',
    kind: 'Site',
    metadata: { name, namespace: 'default' },
    spec: { chart, ...(login !== undefined && { login }) },
  }
}
