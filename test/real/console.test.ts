/** The console in a real browser, on a manager in trouble. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { consolePage } from '../../src/console/page.ts'
import { healthReport } from '../../src/manager/observability/health.ts'
import type { ManagerReport } from '../../src/manager/observability/report.ts'
import { startStatusServer } from '../../src/manager/observability/status-server.ts'
import { hostile, startTroubled, type Troubled } from '../troubled.ts'
import { type Browser, type Page, startBrowser } from './console/browser.ts'

let browser: Browser
let troubled: Troubled
let page: Page

beforeAll(async () => {
  browser = await startBrowser()
  troubled = await startTroubled(45)
  page = await browser.open(troubled.service.statusUrl)
})

afterAll(async () => {
  await troubled.stop()
  await browser.close()
})

const inRow = (operator: string, selector = ''): string =>
  `[...document.querySelectorAll('#operator-rows tr')].find((row) => row.querySelector('th').innerText === '${operator}')${
    selector === '' ? '' : `?.querySelector('${selector}')`
  }`

describe('the console', () => {
  it('names a conflict with both parties, the object and its fields, and a hot loop likewise', async () => {
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

  it('puts what is wrong first, of fifty', async () => {
    await page.until(`document.querySelectorAll('#operator-rows tr').length === 50`)
    await page.until(`document.querySelectorAll('#operator-rows tr[data-concern=wrong]').length === 4`)
    const first = await page.evaluate(
      `[...document.querySelectorAll('#operator-rows th')].slice(0, 4).map((cell) => cell.innerText)`,
    )
    expect(first).toEqual(['contested', 'echo', 'failing', 'sounder'])
    expect(await page.evaluate(`document.getElementById('verdict').innerText`)).toBe(
      'ready 4 of 50 operators in trouble',
    )
  })

  it('shows what happens as it happens, in place: whoever has the focus keeps it', async () => {
    await page.evaluate(`(window.kept = ${inRow('quiet-9', 'a')}).focus()`)
    await troubled.calm('just-now')
    await page.until(`${inRow('calm', '.did')}.innerText.includes('default/just-now: created configMap')`)
    expect(await page.evaluate(`window.kept === document.activeElement && window.kept.isConnected`)).toBe(true)
  })

  it('leads to an operator by its link, with the keyboard alone, and back', async () => {
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

  it('can be linked to, and says so when there is no such operator', async () => {
    const linked = await browser.open(`${troubled.service.statusUrl}#/failing`)
    await linked.until(`document.getElementById('detail').innerText.includes('nothing can be made of')`)
    expect(await linked.evaluate(`document.getElementById('detail').innerText`)).toContain(hostile)
    const gone = await browser.open(`${troubled.service.statusUrl}#/%3Cb%3E`)
    await gone.until(`document.getElementById('detail').innerText.includes('no operator of that name')`)
    expect(await gone.evaluate(`document.getElementById('detail-name').textContent`)).toBe('<b>')
    expect([...linked.complaints, ...gone.complaints]).toEqual([])
  })

  it('takes nobody’s words for markup', async () => {
    expect(await page.text()).toContain(hostile)
    expect(await page.evaluate(`document.querySelectorAll('[onerror], main img').length`)).toBe(0)
    expect(await page.evaluate('document.title')).toBe('4 of 50 operators in trouble · Muster')
    // And could not, if somebody forgot: the browser refuses.
    const refused = await browser.open(troubled.service.statusUrl)
    await refused.until(`document.querySelector('#operator-rows tr')`)
    const forgot = `try { document.body.innerHTML = '<b>x</b>'; 'taken' } catch (error) { error.name }`
    expect(await refused.evaluate(forgot)).toBe('TypeError')
  })

  it('has room on every screen, light and dark', async () => {
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

  it('says that it is outdated when the manager tells more than it understands', async () => {
    const server = await startStatusServer({
      port: 0,
      health: () => healthReport({ now: 0, feeds: [], runs: [], turnAt: 0 }),
      page: consolePage(),
      report: () => ({ version: 2 }) as unknown as ManagerReport,
    })
    onTestFinished(() => server.close())
    const newer = await browser.open(server.url)
    await newer.until(`!document.getElementById('silence').hidden`)
    expect(await newer.text()).toContain('Load the page again.')
  })

  it('has had nothing to complain about, and says when the manager does not answer any more', async () => {
    expect(page.complaints).toEqual([])
    const { statusUrl } = troubled.service
    await troubled.stop()
    // Other pages were opened since: while nobody looks at it, it asks nobody, and tells nothing new.
    expect(await page.evaluate(`document.hidden && document.getElementById('silence').hidden`)).toBe(true)
    await page.bringToFront()
    await page.until(`!document.getElementById('silence').hidden`)
    expect(await page.evaluate(`document.getElementById('silence').innerText`)).toMatch(
      /^The manager does not answer since \d\d:\d\d:\d\d\./,
    )
    // What it said last is still there to be read, and marked as old.
    expect(
      await page.evaluate(`document.body.dataset.stale + ' ' + document.querySelectorAll('#operator-rows tr').length`),
    ).toBe('yes 50')
    // It comes back by itself as soon as somebody answers there.
    const server = await startStatusServer({
      port: Number(new URL(statusUrl).port),
      health: () => healthReport({ now: 0, feeds: [], runs: [], turnAt: 0 }),
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
  feeds: [],
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
