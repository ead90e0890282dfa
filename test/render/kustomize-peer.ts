/** kustomize's own library, as a process that builds one kustomization after the other. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface PeerAnswer {
  readonly text: string
  readonly error?: string
}

export interface KustomizePeer {
  build(
    this: void,
    files: ReadonlyMap<string, Uint8Array | string>,
    folder: string,
    unsorted?: boolean,
  ): Promise<PeerAnswer>
  close(this: void): void
}

export function startKustomize(program: string): KustomizePeer {
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'ignore'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async build(files, folder, unsorted = false) {
      const contents = [...files].map(([name, content]) => [name, Buffer.from(content).toString('base64')])
      child.stdin.write(`${JSON.stringify({ files: Object.fromEntries(contents), folder, unsorted })}\n`)
      const { value } = (await lines.next()) as { readonly value: string }
      return JSON.parse(value) as PeerAnswer
    },
    close: () => child.kill(),
  }
}
