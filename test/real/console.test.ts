/** The console in a real browser, showing a manager with problems. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { consolePage } from '../../src/console/page.ts'
import { healthReport } from '../../src/manager/observability/health.ts'
import type { ManagerReport } from '../../src/manager/observability/report.ts'
import { startStatusServer } from '../../src/manager/observability/status-server.ts'
import { hostile, startManagerWithFindings, type ManagerWithFindings } from '../manager-with-findings.ts'
import { type Browser, type Page, startBrowser } from './console/browser.ts'

let browser: Browser
let manager: ManagerWithFindings
let page: Page

beforeAll(async () => {
  browser = await startBrowser()
  manager = await startManagerWithFindings(45)
  page = await browser.open(manager.service.statusUrl)
})

afterAll(async () => {
  await manager.stop()
  await browser.close()
})

const inRow = (operator: string, selector = ''): string =>
  `[...document.querySelectorAll('#operator-rows tr')].find((row) => row.querySelector('th').innerText === '${operator}')${
    selector === '' ? '' : `?.querySelector('${selector}')`
  }`

describe('the console', () => {
  it('names a conflict with both field managers, the object and its fields, and a hot loop likewise', async () => {
    const finding = (words: string): string =>
      `[...document.querySelectorAll('#finding-list > li')].find((item) => item.innerText.includes('${words}'))`
    await page.until(finding('ConfigMap default/a-contested'))
    expect(await page.evaluate(`${finding('ConfigMap default/a-contested')}.querySelector('.line').innerText`)).toMatch(
      new RegExp(`^conflict\\s+contested\\s+against\\s+${RegExp.escape(hostile)}`),
    )
    expect(await page.evaluate(`${finding('a-contested')}.querySelector('code').innerText`)).toBe('data.size')
    await page.until(finding('ConfigMap default/a-echo'))
    expect(await page.evaluate(`${finding('default/a-echo')}.innerText`)).toMatch(/^hot loop\s+echo[^]*data\.size/)
  })

  it('puts problems first, with fifty operators', async () => {
    await page.until(`document.querySelectorAll('#operator-rows tr').length === 50`)
    await page.until(`document.querySelectorAll('#operator-rows tr[data-concern=wrong]').length === 4`)
    const first = await page.evaluate(
      `[...document.querySelectorAll('#operator-rows th')].slice(0, 4).map((cell) => cell.innerText)`,
    )
    expect(first).toEqual(['contested', 'echo', 'failing', 'sounder'])
    expect(await page.evaluate(`document.getElementById('verdict').innerText`)).toBe(
      'ready 4 of 50 operators with problems',
    )
  })

  it('updates in place and keeps the focus', async () => {
    await page.evaluate(`(window.kept = ${inRow('quiet-9', 'a')}).focus()`)
    await manager.calm('just-now')
    await page.until(`${inRow('calm', '.did')}.innerText.includes('default/just-now: created configMap')`)
    expect(await page.evaluate(`window.kept === document.activeElement && window.kept.isConnected`)).toBe(true)
  })

  it('navigates to an operator by link and keyboard, and back', async () => {
    await page.press('/')
    for (const letter of 'contes') await page.press(letter)
    await page.until(`document.querySelectorAll('#operator-rows tr').length === 1`)
    await page.press('ArrowDown')
    await page.press('Enter')
    await page.until(`location.hash === '#/contested' && !document.getElementById('detail').hidden`)
    const detail = (await page.evaluate(`document.getElementById('detail').innerText`)) as string
    expect(detail).toContain('throttle')
    expect(detail).toContain('corrected configMap (data.size)')
    expect(detail).toMatch(/\b[0-9a-f]{32}\b/)
    expect(detail).toContain(`corrected data.size of ConfigMap default/a-contested`)
    await page.press('Escape')
    await page.until(`document.getElementById('detail').hidden`)
    await page.press('/')
    await page.press('Escape')
    await page.until(`document.querySelectorAll('#operator-rows tr').length === 50`)
  })

  it('has links to operators, and reports an unknown operator', async () => {
    const linked = await browser.open(`${manager.service.statusUrl}#/failing`)
    await linked.until(`document.getElementById('detail').innerText.includes('nothing can be made of')`)
    expect(await linked.evaluate(`document.getElementById('detail').innerText`)).toContain(hostile)
    const gone = await browser.open(`${manager.service.statusUrl}#/%3Cb%3E`)
    await gone.until(`document.getElementById('detail').innerText.includes('no operator of that name')`)
    expect(await gone.evaluate(`document.getElementById('detail-name').textContent`)).toBe('<b>')
    expect([...linked.complaints, ...gone.complaints]).toEqual([])
  })

  it('escapes text in markup', async () => {
    expect(await page.text()).toContain(hostile)
    expect(await page.evaluate(`document.querySelectorAll('[onerror], main img').length`)).toBe(0)
    expect(await page.evaluate('document.title')).toBe('4 of 50 operators with problems · Muster')
    // Even if the page forgot to escape, the browser would reject the markup (trusted types).
    const refused = await browser.open(manager.service.statusUrl)
    await refused.until(`document.querySelector('#operator-rows tr')`)
    const forgot = `try { document.body.innerHTML = '<b>x</b>'; 'taken' } catch (error) { error.name }`
    expect(await refused.evaluate(forgot)).toBe('TypeError')
  })

  it('fits every screen, light and dark', async () => {
    await page.bringToFront()
    for (const [width, scheme] of [
      [360, 'light'],
      [400, 'dark'],
      [800, 'light'],
      [1400, 'dark'],
      [2000, 'light'],
    ] as const) {
      await page.resize(width, 900, scheme)
      for (const hash of ['#/contested', '#']) {
        await page.evaluate(`location.hash = '${hash}'`)
        await page.until(`document.getElementById('detail').hidden === ${hash === '#'}`)
        expect([width, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([width, width])
      }
      expect([scheme, await page.evaluate(faintest)]).toEqual([scheme, ''])
    }
  })

  it('reports that it is outdated when the report has a newer version', async () => {
    const server = await startStatusServer({
      port: 0,
      health: () => healthReport({ now: 0, informers: [], runs: [], turnAt: 0 }),
      page: consolePage(),
      report: () => ({ version: 2 }) as unknown as ManagerReport,
    })
    onTestFinished(() => server.close())
    const newer = await browser.open(server.url)
    await newer.until(`!document.getElementById('silence').hidden`)
    expect(await newer.text()).toContain('Reload the page.')
  })

  it('logs no errors, and reports when the manager no longer responds', async () => {
    expect(page.complaints).toEqual([])
    const { statusUrl } = manager.service
    await manager.stop()
    // Other pages were opened since: a hidden page sends no requests, and does not change.
    expect(await page.evaluate(`document.hidden && document.getElementById('silence').hidden`)).toBe(true)
    await page.bringToFront()
    await page.until(`!document.getElementById('silence').hidden`)
    expect(await page.evaluate(`document.getElementById('silence').innerText`)).toMatch(
      /^The manager has not responded since \d\d:\d\d:\d\d\./,
    )
    // The last report is still shown, marked as stale.
    expect(
      await page.evaluate(`document.body.dataset.stale + ' ' + document.querySelectorAll('#operator-rows tr').length`),
    ).toBe('yes 50')
    // The page recovers by itself as soon as a server answers on that port.
    const server = await startStatusServer({
      port: Number(new URL(statusUrl).port),
      health: () => healthReport({ now: 0, informers: [], runs: [], turnAt: 0 }),
      report: () => calmReport,
    })
    onTestFinished(() => server.close())
    await page.until(`document.getElementById('silence').hidden && document.getElementById('no-operators').innerText`)
    expect(await page.text()).toContain('This manager hosts no operator.')
  })
})

const calmReport: ManagerReport = {
  version: 1,
  at: 0,
  since: 0,
  isReady: true,
  problems: [],
  operators: [],
  informers: [],
  leases: [],
  process: { since: 0, cpuMs: 0, bytes: 0, peakBytes: 0, gbSeconds: 0, watches: 0, requests: 0, sampledAt: 0 },
}

/** What text has less contrast than WCAG AA asks for (4.5 : 1), in words; empty when none has. */
const faintest = `(() => {
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const rgba = (colour) => {
    context.clearRect(0, 0, 1, 1)
    context.fillStyle = colour
    context.fillRect(0, 0, 1, 1)
    return [...context.getImageData(0, 0, 1, 1).data]
  }
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0)
  const behind = (element) => {
    const colour = rgba(getComputedStyle(element).backgroundColor)
    return colour[3] > 0 ? colour : behind(element.parentElement)
  }
  const faint = new Set()
  for (const element of document.querySelectorAll('body *')) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue
    if (!element.checkVisibility()) continue
    const [one, other] = [light(rgba(getComputedStyle(element).color)), light(behind(element))]
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
    if (ratio < 4.5) faint.add((element.id || element.className || element.tagName) + ' ' + ratio.toFixed(2))
  }
  return [...faint].join(', ')
})()`
