import { randomBytes } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../clock/system-clock.ts'
import { renderErrors } from '../errors.ts'
import { type ChartRequest, renderRequest } from './chart-request.ts'
import type { FolderRequest } from './folder-request.ts'
import {
  createRenderThread,
  type RenderThread,
  type RenderThreadOptions,
  type WorkerAnswer,
  type WorkerRequest,
} from './render-thread.ts'

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

/** One turn of the event loop. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

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

  it('has the stack for a thousand includes in many blocks, as Helm has, and not for more', async () => {
    const { render } = thread()
    const blocks = 20
    const deep = (levels: number): ChartRequest =>
      request(
        `{{ define "x" }}{{ if gt . 0 }}${'{{ range list . }}'.repeat(blocks)}{{ include "x" (int (sub . 1)) }}` +
          `${'{{ end }}'.repeat(blocks)}{{ end }}{{ end }}kind: A\nname: x{{ include "x" ${levels} }}\n`,
      )
    await expect(render(deep(1000))).resolves.toMatchObject({ manifests: [{ kind: 'A' }] })
    await expect(render(deep(1001))).rejects.toThrow('rendering template has a nested reference name: x')
  })

  it('renders manifests and kustomizations, too', async () => {
    const { renderFolder } = thread()
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n'
    const files = new Map([
      ['base/a.yaml', Buffer.from(text)],
      ['base/kustomization.yaml', Buffer.from('namePrefix: my-\nresources: [a.yaml]\n')],
    ])
    const names = async (content: FolderRequest['content']): Promise<readonly unknown[]> =>
      (await renderFolder({ name: 'web', content })).map(({ metadata }) => metadata)
    expect(await names({ manifests: [{ name: 'a.yaml', text }] })).toEqual([{ name: 'a' }])
    expect(await names({ kustomization: files, folder: 'base' })).toEqual([{ name: 'my-a' }])
    expect(await names({ artifact: files, folder: 'base/a.yaml', kind: 'Manifests' })).toEqual([{ name: 'a' }])
    await expect(names({ manifests: [{ name: 'a.yaml', text: 'a: b: c' }] })).rejects.toThrow('a.yaml')
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

  it('gives an answer only to its own request, and an error only to a request of its thread', async () => {
    let expire: (() => void) | undefined
    const sent: { readonly worker: Worker; readonly id: number }[] = []
    const post = vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, message) {
      sent.push({ worker: this, id: (message as WorkerRequest).id })
    })
    onTestFinished(() => post.mockRestore())
    const { render } = thread({
      clock: { ...systemClock, after: (_ms, fire) => ((expire = fire), { cancel: () => undefined }) },
    })
    const settled = vi.fn<() => void>()
    const one = render(request('kind: One\n'))
    const two = render(request('kind: Two\n'))
    two.then(settled, settled)
    await turn()
    expire?.()
    await expect(one).rejects.toMatchObject({ code: renderErrors.RenderStopped.code })
    await turn()
    expect(sent).toHaveLength(2)

    // The first thread answers, fails and ends while the second request is pending.
    const [first, second] = sent
    const answer = (kind: string): Pick<WorkerAnswer, 'result'> => ({
      result: renderRequest(request(`kind: ${kind}\n`), { randomBytes, clock: systemClock }),
    })
    first!.worker.emit('message', { id: first!.id, ...answer('One') })
    first!.worker.emit('error', new Error('stopped'))
    first!.worker.emit('exit', 1)
    await turn()
    expect(settled).not.toHaveBeenCalled()
    second!.worker.emit('message', { id: second!.id, ...answer('Two') })
    await expect(two).resolves.toMatchObject({ manifests: [{ kind: 'Two' }] })
  })

  it('replaces a thread that ended between two renders', async () => {
    const { render } = thread()
    const post = vi.spyOn(Worker.prototype, 'postMessage')
    onTestFinished(() => post.mockRestore())
    await render(request('kind: A\n'))
    await (post.mock.contexts[0] as Worker).terminate()
    await expect(render(request('kind: B\n'))).resolves.toMatchObject({ manifests: [{ kind: 'B' }] })
  })

  it('fails renders at once when it is closed: the one in progress, those that wait, and later ones', async () => {
    const rendering = thread()
    const { render } = rendering
    const endless = '{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}'
    const first = render({ ...request(endless), budget: { steps: 1e15, text: 1e15 } })
    const renders = [first, render(request('kind: B\n'))].map((each) => each.catch((error: unknown) => error))
    await turn()
    await rendering.close()
    const stopped = { code: renderErrors.RenderStopped.code, message: expect.stringContaining('its thread is closed') }
    for (const each of renders) expect(await each).toMatchObject(stopped)
    await expect(render(request('kind: C\n'))).rejects.toMatchObject(stopped)
  })
})
