import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startTroubled, type Troubled } from '../../test/troubled.ts'
import { isMusterError } from '../kube/errors.ts'
import { healthReport } from '../manager/observability/health.ts'
import { startStatusServer } from '../manager/observability/status-server.ts'
import { consolePage, pageFiles, pageText } from './page.ts'

const health = () => healthReport({ now: 0, feeds: [], runs: [], turnAt: 0 })

async function served(): Promise<string> {
  const server = await startStatusServer({ port: 0, health, page: consolePage() })
  onTestFinished(() => server.close())
  return server.url
}

/** As it is written, unlike `fetch`, which tidies up. */
function ask(
  url: string,
  path: string,
  options: { readonly method?: string; readonly host?: string } = {},
): Promise<number> {
  const { port } = new URL(url)
  const { method = 'GET', host = `localhost:${port}` } = options
  return new Promise((resolve, reject) => {
    request({ port, path, method, host: '127.0.0.1', headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .on('error', reject)
      .end()
  })
}

describe('the page of the console', () => {
  it('is served with all that it asks for, as what it is', async () => {
    const url = await served()
    const html = await (await fetch(url)).text()
    const asked = [...html.matchAll(/(?:href|src)="([^"#]+)"/g)].map(([, path]) => path!)
    expect(new Set(asked)).toEqual(new Set(['icon.svg', 'console.css', 'console.js']))
    const types = { svg: 'image/svg+xml', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' }
    for (const path of [...asked, 'telling.js']) {
      const response = await fetch(`${url}/${path}`)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe(types[path.split('.')[1] as keyof typeof types])
    }
  })

  it('is JavaScript that imports nothing but itself, and markup without anything inline', () => {
    const scripts = pageFiles.filter((name) => name.endsWith('.js')).map(pageText)
    expect(scripts).toHaveLength(2)
    for (const script of scripts) {
      const imports = [...script.matchAll(/from '([^']+)'/g)].map(([, path]) => path)
      expect(imports.every((path) => path === './telling.js')).toBe(true)
      expect(script).not.toMatch(/innerHTML|insertAdjacentHTML|\beval\b|interface /)
    }
    expect(pageText('index.html')).not.toMatch(/\son\w+=|\sstyle=|<style|<script(?![^>]* src=)/)
  })

  it('forbids foreign origins and framing by its policy', async () => {
    const url = await served()
    for (const path of ['/', '/console.js']) {
      const { headers } = await fetch(`${url}${path}`)
      const policy = headers.get('content-security-policy')?.split('; ')
      expect(policy).toEqual(
        expect.arrayContaining([
          "default-src 'none'",
          "script-src 'self'",
          "style-src 'self'",
          "connect-src 'self'",
          "frame-ancestors 'none'",
          "base-uri 'none'",
          "require-trusted-types-for 'script'",
        ]),
      )
      expect(policy?.join(' ')).not.toMatch(/unsafe|\*|http/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  it('is all there is: no other path leads to a file, and nothing but GET is answered', async () => {
    const url = await served()
    expect(await ask(url, '/?x')).toBe(200)
    for (const path of [
      '/console.ts',
      '/index.html/',
      '/../package.json',
      '/..%2fpackage.json',
      '/%2e%2e/package.json',
      '//console.js',
      '/console.js%00',
      '/__proto__',
      '/constructor',
    ])
      expect([path, await ask(url, path)]).toEqual([path, 404])
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD'])
      expect([method, await ask(url, '/', { method })]).toEqual([method, 405])
    expect(await ask(url, '/', { host: 'evil.example.com' })).toBe(403)
  })

  it('leaves warnings of the process as they were', () => {
    const before = Object.getOwnPropertyDescriptor(process, 'emitWarning')
    pageText('telling.js')
    expect(Object.getOwnPropertyDescriptor(process, 'emitWarning')).toEqual(before)
  })
})

/** Somebody else may be quicker to take it. */
async function onFreePort(): Promise<readonly [port: number, Troubled]> {
  for (;;) {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { readonly port: number }
    await new Promise((resolve) => taken.close(resolve))
    try {
      return [port, await startTroubled(0, { MUSTER__console__port: String(port) })]
    } catch (error) {
      if (!isMusterError(error, 'PortTaken')) throw error
    }
  }
}

describe('a service', () => {
  it('serves the console where the settings say, with the report beside it', async () => {
    const [port, { service, stop }] = await onFreePort()
    onTestFinished(stop)
    const url = `http://127.0.0.1:${port}`
    expect(await (await fetch(url)).text()).toContain('<title>Muster</title>')
    expect(await (await fetch(`${url}/report`)).json()).toMatchObject({ version: 1 })
    expect((await fetch(`${url}/metrics`)).status).toBe(404)
    // Whoever started it finds it without a setting.
    expect((await fetch(service.statusUrl)).status).toBe(200)
  })
})
