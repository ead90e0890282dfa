/** Reference pages of the kinds of a module or its operator: fields, rules, an example, and the life cycle, if any. */
import type { Operator } from '../../operator/operator.ts'
import { describeKind } from '../../operator/kind/kind-docs.ts'
import { drawLifecycle } from '../../operator/lifecycle/draw.ts'
import { loadKinds, loadOperator } from '../module/module.ts'
import type { GeneratorOutput } from './generator-output.ts'

export async function docsFiles(module: string): Promise<readonly GeneratorOutput[]> {
  const kinds = await loadKinds(module)
  // A module may export kinds without an operator.
  const operator = await loadOperator(module).catch(() => undefined)
  return kinds.map((kind) => ({
    name: `${kind.plural}.${kind.group}.md`,
    text: `${describeKind(kind)}${lifeOf(operator, kind.kind)}`,
  }))
}

function lifeOf(operator: Operator | undefined, kind: string): string {
  const { application } = operator?.controllers.find((controller) => controller.kind.kind === kind)?.options ?? {}
  if (!application) return ''
  const { lifecycle } = application
  return [
    '## Life cycle',
    `\`\`\`mermaid\n${drawLifecycle(lifecycle).trimEnd()}\n\`\`\``,
    drawLifecycle(lifecycle, 'table'),
    '',
  ].join('\n\n')
}
