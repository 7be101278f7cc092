import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { z } from 'zod'
import { buildDashboard, hasBrowser, ignoreTimeout, resizePage } from '../harness/browser.ts'
import { listViolations } from '../harness/browsers/axe.ts'
import { type Line, openLine } from '../harness/browsers/line.ts'
import { addPast } from '../harness/rows/past.ts'
import { watchPageTasks } from '../harness/speed/page-tasks.ts'
import { until } from '../harness/until.ts'
import { startTour, type Tour, untilLoaded, visit } from './tour.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
/** If true, checks each page with each fault and in each view; by default, one view represents those that are alike. */
const IS_EACH = process.env.EVERY_FAULT === '1'
const PHONE = { width: 360, height: 740 }
const DESK = { width: 1440, height: 900 }
const SIZES = [PHONE, DESK]
const VIEWS = [
  { colorScheme: 'light', size: PHONE },
  { colorScheme: 'dark', size: DESK },
  { colorScheme: 'dark', size: PHONE },
  { colorScheme: 'light', size: DESK },
] as const
const REQUEST_ID = '0b8c7a1e-0000-4000-8000-00000000beef'
/** The session requests that every page makes first. */
const SIGNED_IN = /^\/api\/auth\/(?:session|csrf)/
/** Pages share most components, so a sample detects layout shifts. */
const LOADED_EVERY = IS_EACH ? 1 : 3
/** A shared component handles errors and retries of all pages. */
const FAILS_EVERY = IS_EACH ? 1 : 6
/** Lost connections are retried before they are reported; one session guard covers all pages. */
const LOST_EVERY = IS_EACH ? 1 : 32
const EXPIRED_EVERY = IS_EACH ? 1 : 8
const CLICK_MS = 5000
const TABS = 3
const STRANGERS = ['/', '/login', '/signup', '/forgot-password', '/reset-password?token=none']
/** Limit of the layout shift: share of the screen times distance moved without input. */
const MAX_SHIFT = 0.05
const ANSWERS_APART_MS = 60
/** Limit of the page's CPU time until it can be used; elapsed time would include the load of the machine. */
const MAX_READY_MS = 1000
const MAX_FIGURES_MS = 1500
const TRIES = 3
/** Folder for screenshots of the pages. */
const PICTURES = process.env.PAGE_PICTURES
const SHIFTS = `window.shifts = []
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) {
    if (!one.hadRecentInput) window.shifts.push({ value: one.value, what: one.sources.map(({ node }) => node?.outerHTML?.slice(0, 120)).join(' | ') })
  }
}).observe({ type: 'layout-shift', buffered: true })`
const Shifts = z.array(z.object({ value: z.number(), what: z.string() }))

const stack = new AsyncDisposableStack()
let tour: Tour

beforeAll(async () => {
  await buildDashboard()
  if (!hasBrowser()) return
  tour = stack.use(await startTour())
  await tour.page.addInitScript(SHIFTS)
}, LIMIT_MS)
afterAll(() => stack.disposeAsync(), LIMIT_MS)

test.skipIf(!hasBrowser())(
  'every page: keeps its layout while it loads, violates no policy, calls no other origin and logs no error; tabs keep their place',
  async () => {
    const { page, line, web, paths, complaints } = tour
    const found: string[] = []
    const all = [...paths.own, '/docs', '/no/such/page'].filter((_path, index) => index % LOADED_EVERY === 0)
    for (const [index, path] of all.entries()) {
      for (const size of IS_EACH ? SIZES : SIZES.slice(index % 2, (index % 2) + 1)) {
        // On a slow network, responses arrive one by one; late ones must not move earlier content.
        if (size === PHONE) line.treat(() => ({ lateMs: ANSWERS_APART_MS }))
        await page.setViewportSize(size)
        await visit(page, `${web}${path}`)
        // Requests that the page does not wait for may still be pending.
        if (size === PHONE) await line.mend()
        found.push(...(await listShifts(page, `${path} ${size.width}`)))
      }
    }
    expect(found).toEqual([])
    await page.setViewportSize(DESK)
    for (const name of ['Settings', 'Admin']) expect(await placesOfTabs(page, name)).toHaveLength(1)
    // Headless browsers use overlay scrollbars; desktop ones take space.
    expect(await page.evaluate('getComputedStyle(document.documentElement).scrollbarGutter')).toBe('stable')
    // The browser also logs expected errors: radio and video are not configured, and one page does not exist.
    expect(complaints.filter((line) => !/status of (404|503)/.test(line))).toEqual([])
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'every page: is usable after a second of processor time, cost and metrics with a month of figures after one and a half',
  async () => {
    const { page, web, agentId, dataDir } = tour
    addPast(join(dataDir, 'stead.db'), new Date())
    const limits = [
      ['/', MAX_READY_MS],
      ['/agents', MAX_READY_MS],
      [`/agents/${agentId}`, MAX_READY_MS],
      ['/settings', MAX_READY_MS],
      ['/cost', MAX_FIGURES_MS],
      [`/agents/${agentId}/metrics`, MAX_FIGURES_MS],
    ] as const
    const measured: string[] = []
    for (const [path, limitMs] of limits) {
      const { readyMs, clockMs } = await measureReady(page, `${web}${path}`, limitMs)
      measured.push(
        `${path.replace(agentId, 'one')}: ${Math.round(readyMs)} ms, by the clock ${Math.round(clockMs)} ms`,
      )
      expect(`${path} ${readyMs < limitMs}, ${measured.at(-1)}`).toStartWith(`${path} true`)
    }
    console.log(measured.join('\n'))
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'every page: passes axe-core in both themes on phone and desktop, does not scroll sideways at 360 pixels, and recovers from errors',
  async () => {
    const { page, web, paths } = tour
    const pages = [...paths.own, ...paths.furnished, '/cost?period=30d']
    const found: string[] = []
    // Pages without a dialog, which may cover the failed part.
    const failing = paths.own.filter((_path, index) => index % FAILS_EVERY === 0)
    let failed = 0
    const left = pages.entries()
    const takePages = async (tab: Page) => {
      const line = await openLine(tab)
      for (const [index, path] of left) {
        if (index % LOST_EVERY === 0) await failsOnce(tab, line, `${web}${path}`, null)
        for (const view of IS_EACH ? VIEWS : VIEWS.slice(index % VIEWS.length, (index % VIEWS.length) + 1)) {
          await show(tab, view)
          if (!failing.includes(path)) await visit(tab, `${web}${path}`)
          else if (await failsOnce(tab, line, `${web}${path}`, REQUEST_ID)) failed++
          found.push(...(await look(tab, path, view)))
          await resizePage(tab, PHONE)
          found.push(...(await listTooWide(tab)).map((what) => `${path} is too wide for a phone: ${what}`))
        }
      }
      await tab.close()
    }
    // Pages report a failure after a delay, so several tabs wait in parallel.
    await Promise.all(Array.from({ length: TABS }, async () => takePages(await page.context().newPage())))
    expect(found).toEqual([])
    // Except for the few pages that make no requests.
    expect(failed).toBeGreaterThan(0.8 * failing.length)
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'every page: leads to the sign-in when the session has expired, and the sign-in leads back to it',
  async () => {
    const { page, line, web, paths } = tour
    line.treat((path) =>
      path.startsWith('/api/auth/session')
        ? { status: 200, json: { user: null } }
        : SIGNED_IN.test(path)
          ? null
          : { status: 401, json: { error: 'Unauthorized' } },
    )
    // Signed-out users have their own start page.
    const own = paths.own.filter((path) => path !== '/')
    for (const path of own.filter((_path, index) => index % EXPIRED_EVERY === 0)) {
      await page.goto(`${web}${path}`)
      await page.waitForURL(/\/login\?/)
      expect(new URL(page.url()).searchParams.get('redirect')).toStartWith(path)
    }
    await line.mend()
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'public pages: pass axe-core in both themes on phone and desktop without layout shifts or console errors',
  async () => {
    const { page, web, complaints } = tour
    // The open page would continue to send requests without its session.
    await page.goto('about:blank')
    await page.context().clearCookies()
    const before = complaints.length
    const found: string[] = []
    for (const [index, path] of STRANGERS.entries()) {
      const first = index % VIEWS.length
      for (const view of IS_EACH ? VIEWS : VIEWS.slice(first, first + 1)) {
        await show(page, view)
        await visit(page, `${web}${path}`)
        found.push(...(await listShifts(page, path)), ...(await look(page, path, view)))
      }
    }
    expect([...found, ...complaints.slice(before)]).toEqual([])
  },
  LIMIT_MS,
)

type View = (typeof VIEWS)[number]

/** Returns layout shifts since the page was opened when they exceed the limit. */
async function listShifts(page: Page, name: string): Promise<string[]> {
  const shifts = Shifts.parse(await page.evaluate('window.shifts'))
  const sum = shifts.reduce((total, { value }) => total + value, 0)
  return sum > MAX_SHIFT ? [`${name}: ${sum.toFixed(3)} ${JSON.stringify(shifts)}`] : []
}

/** Sets the view before the next page is opened, because an open page may keep a colour of the previous theme. */
async function show(page: Page, { colorScheme, size }: View): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
  await resizePage(page, size)
}

async function look(page: Page, path: string, { colorScheme, size }: View): Promise<string[]> {
  const name = `${path} ${colorScheme} ${size.width}`
  if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name.replaceAll(/[/ ]/g, '_')}.png`) })
  return (await listViolations(page)).map((violation) => `${name}: ${violation}`)
}

/** Returns elements beyond the right edge of a page that scrolls sideways. */
async function listTooWide(page: Page): Promise<string[]> {
  return z.array(z.string()).parse(
    await page.evaluate(`(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth ? [] : [...document.querySelectorAll('body *')]
      .filter((one) => one.getBoundingClientRect().right > clientWidth)
      .map((one) => one.outerHTML.slice(0, 160) + ' ' + one.getBoundingClientRect().right))(document.documentElement)`),
  )
}

/**
 * Opens a page whose requests fail with a status under `requestId`, or without a response. @returns whether it made
 * any.
 */
async function failsOnce(page: Page, line: Line, address: string, requestId: string | null): Promise<boolean> {
  let asked = 0
  line.treat((path) => {
    if (SIGNED_IN.test(path)) return null
    asked++
    if (requestId === null) return 'lost'
    return { status: 500, headers: { 'x-request-id': requestId }, json: { error: 'Internal error' } }
  })
  await page.goto(address)
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  const again = page.getByRole('button', { name: 'Retry' })
  if (asked > 0) {
    await again.first().waitFor()
    if (requestId !== null) await page.getByText(requestId).first().waitFor()
  }
  await line.mend()
  // Failures may appear late, and messages may disappear by themselves.
  await until(`${address} to have no problem left`, async () => {
    await untilLoaded(page)
    const left = await again.count()
    if (left > 0) await again.first().click({ timeout: CLICK_MS }).catch(ignoreTimeout)
    return left === 0
  })
  return asked > 0
}

/** Returns the positions of a row of tabs on all of its pages, without duplicates. */
async function placesOfTabs(page: Page, name: string): Promise<string[]> {
  const tabs = page.getByRole('navigation', { name, exact: true })
  await page.goto(new URL(name === 'Admin' ? '/admin/users' : '/settings', page.url()).href)
  await tabs.waitFor()
  const labels = await tabs.getByRole('link').allTextContents()
  const places = new Set<string>()
  for (const label of labels) {
    await tabs.getByRole('link', { name: label, exact: true }).click()
    await until(`${label} to be open`, async () => (await tabs.locator('[aria-current=page]').textContent()) === label)
    places.add(JSON.stringify(await tabs.boundingBox()))
  }
  expect(labels.length).toBeGreaterThan(5)
  return [...places]
}

type Ready = { readyMs: number; clockMs: number }

/** Returns the first load within the limit, or the fastest of a few, because of the load of the machine. */
async function measureReady(page: Page, url: string, limitMs: number): Promise<Ready> {
  const loads: Ready[] = []
  while (loads.length < TRIES && (loads.at(-1)?.readyMs ?? limitMs) >= limitMs) loads.push(await loadOnce(page, url))
  return loads.reduce((best, load) => (load.readyMs < best.readyMs ? load : best))
}

async function loadOnce(page: Page, url: string): Promise<Ready> {
  await page.goto('about:blank')
  const tasks = await watchPageTasks(page)
  const from = performance.now()
  await visit(page, url)
  const clockMs = performance.now() - from
  return { readyMs: (await tasks.stop()).sumMs, clockMs }
}
