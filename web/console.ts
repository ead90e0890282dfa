/**
 * The page of the console: fetches the report of the manager each second while the page is visible, and renders it.
 * Texts and their order are in `report-text.ts`; this file has the DOM code only.
 *
 * Names and messages are untrusted: they are set as text, never as markup. Existing elements are updated in place, so
 * that fifty operators neither flicker nor lose the scroll position.
 */
import type { RunSummary, InformerSummary, ManagerReport, OperatorReport } from '../src/manager/observability/report.ts'
import {
  agoText,
  bytesText,
  concernOf,
  countText,
  runText,
  informersInOrder,
  type Found,
  foundIn,
  gateText,
  hashOf,
  inOrder,
  matches,
  operatorIn,
  outcomeWord,
  pauseMs,
  perDay,
  queueText,
  readAnswer,
  spaced,
  spanText,
  sparkPath,
  timeText,
  verdictOf,
} from './report-text.ts'

const $ = (id: string): HTMLElement => document.getElementById(id)!

function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

function mark(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value)
}

/** A state is shown as a colour and a word, always both. */
function sayState(element: Element, state: string, word = state): void {
  mark(element, 'data-state', state)
  say(element, word)
}

/** A copy of a template, and its parts by name. */
interface Item {
  readonly root: HTMLElement
  readonly part: (name: string) => HTMLElement
}

function copyOf(template: string): Item {
  const fragment = ($(template) as HTMLTemplateElement).content.cloneNode(true) as DocumentFragment
  const root = fragment.firstElementChild as HTMLElement
  const parts = new Map<string, HTMLElement>()
  for (const element of root.querySelectorAll<HTMLElement>('[data-is]')) parts.set(element.dataset['is']!, element)
  return { root, part: (name) => parts.get(name)! }
}

/** Keeps one element for each value, in their order, without moving the focus. */
function listIn<Value>(
  container: HTMLElement,
  template: string,
  fill: (item: Item, value: Value) => void,
  keyOf: (value: Value, index: number) => string = (_, index) => String(index),
): (values: readonly Value[]) => void {
  const items = new Map<string, Item>()
  return (values) => {
    const keys = values.map(keyOf)
    const wanted = new Set(keys)
    for (const [key, { root }] of items) {
      if (wanted.has(key)) continue
      root.remove()
      items.delete(key)
    }
    values.forEach((value, index) => {
      const key = keys[index]!
      const item = items.get(key) ?? copyOf(template)
      items.set(key, item)
      fill(item, value)
      const there = container.children[index]
      if (there === item.root) return
      const focused = item.root.contains(document.activeElement) ? (document.activeElement as HTMLElement) : undefined
      container.insertBefore(item.root, there ?? null)
      focused?.focus({ preventScroll: true })
    })
  }
}

/** The latest report. */
let report: ManagerReport | undefined
/** When it arrived, by the clock of this page. */
let heardAt = 0
let filter = ''

/** The manager's time, so that a wrong clock of the browser does not matter. */
const now = (): number => (report ? report.at + (performance.now() - heardAt) : Date.now())

function sayWhen(element: Element, at: number): void {
  say(element, `${agoText(at, now())} · ${timeText(at)}`)
  mark(element, 'datetime', new Date(at).toISOString())
}

/** Runs of each operator between two reports, for its spark line. */
const pulses = new Map<string, { runs: number; readonly values: number[] }>()
const mostPulses = 60

function notePulses({ operators }: ManagerReport): void {
  for (const { name, cost } of operators) {
    const pulse = pulses.get(name) ?? { runs: cost.reconciles, values: [] }
    pulses.set(name, pulse)
    // A restarted manager counts from zero.
    pulse.values.push(Math.max(cost.reconciles - pulse.runs, 0))
    pulse.runs = cost.reconciles
    if (pulse.values.length > mostPulses) pulse.values.shift()
  }
}

function sayCount(element: Element, count: number): void {
  say(element, count === 0 ? '–' : countText(count))
  mark(element, 'data-some', count === 0 ? 'no' : 'yes')
}

const showOperators = listIn<OperatorReport>(
  $('operator-rows'),
  'operator-row',
  ({ root, part }, operator) => {
    const { name, state, recentRuns, heldBy, failing, findings, cost } = operator
    const [run] = recentRuns
    const isSelected = operatorIn(location.hash) === name
    mark(root, 'data-concern', concernOf(operator, now()))
    mark(root, 'data-selected', isSelected ? 'yes' : 'no')
    say(part('name'), name)
    mark(part('name'), 'href', hashOf(name))
    mark(part('name'), 'aria-current', String(isSelected))
    sayState(part('state'), state)
    say(part('run'), run ? `${run.key}: ${runText(run)}` : '–')
    mark(part('run'), 'data-state', run?.outcome ?? 'none')
    say(part('ago'), run ? `${run.times > 1 ? `× ${countText(run.times)}, ` : ''}${agoText(run.at, now())}` : '')
    say(part('queue'), queueText(operator))
    mark(part('queue').parentElement!, 'data-some', queueText(operator) === '–' ? 'no' : 'yes')
    say(part('gate'), heldBy === 'nothing' ? '' : `held by ${heldBy}`)
    mark(part('gate'), 'data-gate', heldBy)
    mark(part('gate'), 'title', gateText(heldBy))
    sayCount(part('failing'), failing)
    sayCount(part('findings'), findings.total)
    mark(part('spark'), 'd', sparkPath(pulses.get(name)?.values ?? [], mostPulses))
    say(part('runs'), countText(cost.reconciles))
    say(part('writes'), countText(cost.writes))
    say(part('cpu'), spanText(cost.cpuMs))
    say(part('cached'), bytesText(cost.bytes))
  },
  ({ name }) => name,
)

const showCaches = listIn<InformerSummary>($('cache-rows'), 'cache-row', ({ root, part }, informer) => {
  const { resource, state, since, reason, objects, bytes, watches, consumers } = informer
  const isBehind = state !== 'synced'
  mark(root, 'data-concern', isBehind ? 'wrong' : 'calm')
  say(part('resource'), resource)
  sayState(part('state'), state)
  say(part('reason'), isBehind ? `for ${spanText(now() - since)}${reason === undefined ? '' : `: ${reason}`}` : '')
  say(part('objects'), countText(objects))
  say(part('bytes'), bytesText(bytes))
  say(part('watches'), countText(watches))
  say(part('consumers'), countText(consumers))
  const most = Math.max(...(report?.informers ?? []).map((each) => each.bytes), 1)
  part('share').style.setProperty('--share', String(bytes / most))
})

function fillFinding({ root, part }: Item, finding: Found): void {
  const { operator, kind, message, at, times, object, fields, controller, key = '', with: others } = finding
  mark(root, 'data-evidence', object === undefined ? 'no' : 'yes')
  say(part('kind'), spaced(kind))
  say(part('times'), times > 1 ? `× ${countText(times)}` : '')
  say(part('operator'), operator)
  mark(part('operator'), 'href', hashOf(operator))
  part('against').hidden = others === undefined
  say(part('with'), others?.join(', ') || 'an unknown field manager')
  sayWhen(part('when'), at)
  part('object-line').hidden = object === undefined
  say(part('object'), object ?? '')
  part('fields-line').hidden = fields === undefined
  showFields(part('fields'), fields ?? [])
  part('for-line').hidden = key === ''
  say(part('for'), controller ? `${key}, controller ${controller}` : key)
  say(part('message'), message)
}

function showFields(container: HTMLElement, fields: readonly string[]): void {
  const shown = fields.length === 0 ? ['unknown'] : fields
  while (container.children.length > shown.length) container.lastElementChild!.remove()
  while (container.children.length < shown.length) container.append(document.createElement('code'))
  shown.forEach((field, index) => say(container.children[index]!, field))
}

const showFindings = listIn<Found>($('finding-list'), 'finding-item', fillFinding)
const showOwnFindings = listIn<Found>($('detail-finding-list'), 'finding-item', fillFinding)

const showRecentRuns = listIn<RunSummary>($('detail-run-list'), 'run-item', ({ part }, run) => {
  const { outcome, key, controller, at, tookMs, id, times } = run
  sayState(part('outcome'), outcome, outcomeWord(outcome))
  say(part('key'), key)
  say(part('controller'), `controller ${controller}`)
  sayWhen(part('when'), at)
  say(part('text'), runText(run))
  say(part('took'), `took ${spanText(tookMs)}${times > 1 ? `, ${countText(times)} times in a row` : ''}`)
  say(part('id'), id ?? '')
})

/** Pairs of a label and a value. */
function showFacts(list: HTMLElement, facts: readonly (readonly [string, string])[]): void {
  while (list.children.length > facts.length) list.lastElementChild!.remove()
  facts.forEach(([word, fact], index) => {
    let pair = list.children[index]
    if (!pair) {
      pair = document.createElement('div')
      pair.append(document.createElement('dt'), document.createElement('dd'))
      list.append(pair)
    }
    say(pair.children[0]!, word)
    say(pair.children[1]!, fact)
  })
}

/** Lines of text. */
function showLines(list: HTMLElement, lines: readonly string[]): void {
  while (list.children.length > lines.length) list.lastElementChild!.remove()
  while (list.children.length < lines.length) list.append(document.createElement('li'))
  lines.forEach((line, index) => say(list.children[index]!, line))
}

function showCost({ cost }: OperatorReport): void {
  const day = (value: number): number => perDay(value, cost.since, cost.sampledAt)
  const counts = [
    ['events', cost.events],
    ['runs', cost.reconciles],
    ['reads', cost.reads],
    ['writes', cost.writes],
    ['failures', cost.failures],
  ] as const
  const rows: readonly (readonly [string, string, string])[] = [
    ...counts.map(([word, count]) => [word, countText(count), countText(Math.round(day(count)))] as const),
    ['CPU', spanText(cost.cpuMs), spanText(day(cost.cpuMs))],
    ['cached, over time', `${cost.gbSeconds.toFixed(1)} GB·s`, `${day(cost.gbSeconds).toFixed(1)} GB·s`],
    ['cached now, its share', bytesText(cost.bytes), ''],
    ['cached now, if it ran alone', bytesText(cost.aloneBytes), ''],
  ]
  const body = $('detail-cost')
  rows.forEach((row, index) => {
    let line = body.children[index]
    if (!line) {
      line = document.createElement('tr')
      const head = document.createElement('th')
      head.scope = 'row'
      const cells = [document.createElement('td'), document.createElement('td')]
      for (const cell of cells) cell.className = 'number'
      line.append(head, ...cells)
      body.append(line)
    }
    row.forEach((text, place) => say(line.children[place]!, text))
  })
}

const mostFindings = 5

function showOverview({ operators, informers, problems, process, leases, since }: ManagerReport): void {
  $('problems').hidden = problems.length === 0
  showLines($('problem-list'), problems)

  const found = operators.reduce((sum, { findings }) => sum + findings.total, 0)
  const latest = foundIn(operators)
  $('findings').hidden = found === 0
  say($('finding-count'), countText(found))
  showFindings(latest.slice(0, mostFindings))
  $('more-findings').hidden = latest.length <= mostFindings
  say($('more-findings'), `${latest.length - mostFindings} more are shown with their operators.`)

  const chosen = inOrder(operators, now()).filter((operator) => matches(operator, filter))
  say(
    $('operator-count'),
    chosen.length === operators.length ? `${operators.length}` : `${chosen.length} of ${operators.length}`,
  )
  showOperators(chosen)
  $('no-operators').hidden = chosen.length > 0
  say(
    $('no-operators'),
    operators.length === 0 ? 'This manager hosts no operator.' : `No operator matches “${filter}”.`,
  )

  const bytes = informers.reduce((sum, informer) => sum + informer.bytes, 0)
  say($('cache-count'), `${informers.length}, ${bytesText(bytes)}`)
  showCaches(informersInOrder(informers))

  showFacts($('process-facts'), [
    ['memory', `${bytesText(process.bytes)} (peak ${bytesText(process.peakBytes)})`],
    ['memory over time', `${process.gbSeconds.toFixed(1)} GB·s`],
    ['CPU', spanText(process.cpuMs)],
    ['requests', countText(process.requests)],
    ['watches', countText(process.watches)],
    ['started', `${spanText(now() - since)} ago`],
  ])
  $('leases-title').hidden = leases.length === 0
  showLines(
    $('leases'),
    leases.map(({ name, isHeld }) => `${name}: ${isHeld ? 'held' : 'not held'}`),
  )
}

function showDetail({ operators }: ManagerReport): void {
  const name = operatorIn(location.hash)
  $('detail').hidden = name === undefined
  mark(document.body, 'data-view', name === undefined ? 'all' : 'one')
  if (name === undefined) return
  const operator = operators.find((each) => each.name === name)
  say($('detail-name'), name)
  $('detail-gone').hidden = operator !== undefined
  for (const part of $('detail').querySelectorAll<HTMLElement>('section, .facts')) part.hidden = operator === undefined
  $('detail-state').hidden = operator === undefined
  if (!operator) {
    say($('detail-gone'), 'This manager hosts no operator of that name.')
    return
  }
  const { state, heldBy, failing, runningMs, findings, recentRuns, cost } = operator
  sayState($('detail-state'), state)
  showFacts($('detail-facts'), [
    ['queue', queueText(operator) || '–'],
    ['held by', heldBy === 'nothing' ? 'nothing' : `${heldBy}: ${gateText(heldBy)}`],
    ['failing objects', countText(failing)],
    ['longest active run', runningMs.longest === 0 ? '–' : spanText(runningMs.longest)],
    ['runs', countText(cost.reconciles)],
    ['writes', countText(cost.writes)],
  ])
  $('detail-findings').hidden = findings.total === 0
  say($('detail-finding-count'), countText(findings.total))
  showOwnFindings(foundIn([operator]))
  showRecentRuns(recentRuns)
  $('no-runs').hidden = recentRuns.length > 0
  showCost(operator)
}

function showHeader(shown: ManagerReport): void {
  const { word, rest, concern } = verdictOf(shown)
  mark($('verdict'), 'data-concern', concern)
  say($('verdict-word'), unanswered > 0 ? `was ${word}` : word)
  say($('verdict-rest'), rest)
  // Announced to screen readers when it changes, not each second.
  say($('spoken'), rest === '' ? word : `${word}: ${rest}`)
  const { replica, coLocated, leases } = shown
  const held = leases.filter(({ isHeld }) => isHeld).length
  const who = [
    replica ?? '',
    leases.length > 0 ? `${held} of ${leases.length} ${leases.length === 1 ? 'lease' : 'leases'} held` : '',
    coLocated === undefined ? '' : `in one process with ${coLocated.name}`,
  ]
  say($('who'), who.filter((part) => part !== '').join(' · '))
  const title = concern === 'calm' ? 'Muster' : `${concern === 'wrong' ? word : rest} · Muster`
  if (document.title !== title) document.title = title
}

function show(): void {
  if (!report) return
  showHeader(report)
  showDetail(report)
  showOverview(report)
}

let unanswered = 0
let isAsking = false
/** When it last answered, by the clock of this page. */
let answeredAt: number | undefined
let isNewer = false
let timer: number | undefined

async function ask(): Promise<void> {
  if (isAsking || isNewer || document.hidden) return
  isAsking = true
  clearTimeout(timer)
  try {
    const response = await fetch('report', { signal: AbortSignal.timeout(5000), redirect: 'error' })
    const answer = readAnswer(await response.json())
    if (answer.kind === 'unreadable') throw new Error('not a report')
    isNewer = answer.kind === 'newer'
    unanswered = 0
    answeredAt = Date.now()
    if (answer.kind === 'report') {
      report = answer.report
      heardAt = performance.now()
      notePulses(report)
    }
  } catch {
    unanswered++
  }
  isAsking = false
  timer = window.setTimeout(() => void ask(), pauseMs(unanswered))
  show()
  showSilence()
}

function showSilence(): void {
  const isSilent = unanswered > 0
  $('silence').hidden = !isSilent && !isNewer
  mark(document.body, 'data-stale', isSilent || isNewer ? 'yes' : 'no')
  mark($('beat'), 'data-live', isSilent || isNewer ? 'no' : 'yes')
  say($('beat-word'), isNewer ? 'outdated' : isSilent ? 'no response' : 'live')
  $('again').hidden = isNewer
  if (isNewer) {
    say($('silence-what'), 'The manager was upgraded: its report is newer than this page.')
    say($('silence-more'), 'Reload the page.')
  } else if (isSilent) {
    const since = answeredAt === undefined ? '' : ` since ${timeText(answeredAt)}`
    say($('silence-what'), `The manager has not responded${since}.`)
    const old = answeredAt === undefined ? '' : `The data below is ${spanText(Date.now() - answeredAt)} old. `
    say($('silence-more'), `${old}Retrying.`)
    say($('spoken'), `The manager has not responded${since}.`)
    document.title = 'no response · Muster'
  }
}

const search = $('filter') as HTMLInputElement
search.addEventListener('input', () => {
  filter = search.value.trim()
  show()
})

/** The scroll position before an operator was opened. */
let opened: string | undefined
window.addEventListener('hashchange', () => {
  const name = operatorIn(location.hash)
  show()
  if (name !== undefined) {
    opened = name
    $('detail').focus({ preventScroll: true })
    $('detail').scrollTop = 0
    if (getComputedStyle($('overview')).display === 'none') window.scrollTo(0, 0)
  } else if (opened !== undefined) linkTo(opened)?.focus()
})

function linkTo(name: string): HTMLElement | undefined {
  return links().find((link) => link.getAttribute('href') === hashOf(name))
}

function links(): readonly HTMLElement[] {
  return [...$('operator-rows').querySelectorAll<HTMLElement>('th a')]
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const isTyping = event.target === search
  if (event.key === '/' && !isTyping) search.focus()
  else if (event.key === 'Escape' && isTyping && search.value !== '') {
    search.value = filter = ''
    show()
  } else if (event.key === 'Escape' && operatorIn(location.hash) !== undefined) location.hash = ''
  else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    const all = links()
    const at = all.indexOf(document.activeElement as HTMLElement)
    if (at < 0 && !isTyping) return
    all[event.key === 'ArrowDown' ? at + 1 : Math.max(at, 1) - 1]?.focus()
  } else return
  event.preventDefault()
})

$('again').addEventListener('click', () => void ask())
document.addEventListener('visibilitychange', () => void ask())
// Meanwhile the page shows how long there has been no answer.
setInterval(() => {
  if (unanswered > 0 && !document.hidden) showSilence()
}, 1000)
void ask()
