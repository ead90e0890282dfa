import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startManagerWithFindings, type ManagerWithFindings } from '../../test/manager-with-findings.ts'
import { managerErrors } from '../manager/errors.ts'
import { isMusterError } from '../kube/muster-error.ts'
import { healthReport } from '../manager/observability/health.ts'
import { startStatusServer } from '../manager/observability/status-server.ts'
import { consolePage, pageFiles, pageText } from './page.ts'

const health = () => healthReport({ now: 0, informers: [], runs: [], turnAt: 0 })

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
  it('is served with all its resources and their media types', async () => {
    const url = await served()
    const html = await (await fetch(url)).text()
    const asked = [...html.matchAll(/(?:href|src)="([^"#]+)"/g)].map(([, path]) => path!)
    expect(new Set(asked)).toEqual(new Set(['icon.svg', 'console.css', 'console.js']))
    const types = { svg: 'image/svg+xml', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8' }
    for (const path of [...asked, 'report-text.js']) {
      const response = await fetch(`${url}/${path}`)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe(types[path.split('.')[1] as keyof typeof types])
    }
  })

  it('is JavaScript with imports of its own files only, and markup without inline code', () => {
    const scripts = pageFiles.filter((name) => name.endsWith('.js')).map(pageText)
    expect(scripts).toHaveLength(2)
    for (const script of scripts) {
      const imports = [...script.matchAll(/from '([^']+)'/g)].map(([, path]) => path)
      expect(imports.every((path) => path === './report-text.js')).toBe(true)
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

  it('serves no other path and no method but GET', async () => {
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

  it('keeps warnings of the process', () => {
    const before = Object.getOwnPropertyDescriptor(process, 'emitWarning')
    pageText('report-text.js')
    expect(Object.getOwnPropertyDescriptor(process, 'emitWarning')).toEqual(before)
  })
})

/** Another process may take the free port first: then the next one is tried. */
async function onFreePort(): Promise<readonly [port: number, ManagerWithFindings]> {
  for (;;) {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { readonly port: number }
    await new Promise((resolve) => taken.close(resolve))
    try {
      return [port, await startManagerWithFindings(0, { MUSTER__console__port: String(port) })]
    } catch (error) {
      if (!isMusterError(error, managerErrors.PortTaken)) throw error
    }
  }
}

describe('a service', () => {
  it('serves the console on the configured port, with the report beside it', async () => {
    const [port, { service, stop }] = await onFreePort()
    onTestFinished(stop)
    const url = `http://127.0.0.1:${port}`
    expect(await (await fetch(url)).text()).toContain('<title>Muster</title>')
    expect(await (await fetch(`${url}/report`)).json()).toMatchObject({ version: 1 })
    expect((await fetch(`${url}/metrics`)).status).toBe(404)
    // The status server needs no setting: the service reports its URL.
    expect((await fetch(service.statusUrl)).status).toBe(200)
  })
})
