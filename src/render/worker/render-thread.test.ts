import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../clock/system-clock.ts'
import { renderErrors } from '../errors.ts'
import type { ChartRequest } from './chart-request.ts'
import { createRenderThread, type RenderThread, type RenderThreadOptions } from './render-thread.ts'

const request = (template: string): ChartRequest => ({
  files: new Map(
    Object.entries({ 'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n', 'templates/a.yaml': template }).map(
      ([name, text]) => [name, Buffer.from(text)],
    ),
  ),
  values: new Map([['count', 3n]]),
  release: { name: 'web', namespace: 'default' },
})

function thread(options: Partial<RenderThreadOptions> = {}): RenderThread {
  const created = createRenderThread({ clock: systemClock, ...options })
  onTestFinished(() => created.close())
  return created
}

describe('a render thread', () => {
  it('renders one request after the other, and passes errors on', async () => {
    const { render } = thread()
    const [one, two, three] = await Promise.allSettled([
      render(request('kind: A\ncount: {{ add .Values.count 1 }}\n')),
      render(request('{{ fail "no" }}')),
      render(request('kind: B\n')),
    ])
    expect(one).toMatchObject({ value: { manifests: [{ kind: 'A', object: { count: 4 } }] } })
    expect(two).toMatchObject({
      reason: { code: renderErrors.TemplateFailed.code, message: expect.stringContaining('no') },
    })
    expect(three).toMatchObject({ value: { manifests: [{ kind: 'B' }] } })
  })

  it('stops a render that takes too long, names it, and renders the next', async () => {
    let expire: (() => void) | undefined
    const { render } = thread({
      clock: { ...systemClock, after: (_ms, fire) => ((expire = fire), { cancel: () => undefined }) },
    })
    const endless = render({
      ...request('{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}'),
      budget: { steps: 1e15, text: 1e15 },
    })
    await Promise.resolve().then(() => expire?.())
    await expect(endless).rejects.toMatchObject({
      code: renderErrors.RenderStopped.code,
      message: expect.stringContaining('web'),
    })
    await expect(render(request('kind: A\n'))).resolves.toMatchObject({ manifests: [{ kind: 'A' }] })
  })

  it('stops a render that needs too much memory, names it, and renders the next', async () => {
    const { render } = thread({ memoryMiB: 48 })
    const growing = '{{ $all := list }}{{ range until 5000000 }}{{ $all = append $all (repeat 1000 "x") }}{{ end }}'
    await expect(render({ ...request(growing), budget: { steps: 1e15, text: 1e15 } })).rejects.toMatchObject({
      code: renderErrors.RenderStopped.code,
      message: expect.stringContaining('web: rendering was stopped: it needs more than 48 MiB'),
    })
    await expect(render(request('kind: A\n'))).resolves.toMatchObject({ manifests: [{ kind: 'A' }] })
  })
})
