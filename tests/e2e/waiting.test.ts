import { beforeAll, expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { z } from 'zod'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../harness/browser.ts'
import { listViolations } from '../harness/browsers/axe.ts'
import { openDashboard } from '../harness/browsers/dashboard.ts'
import { createAgent, PASSWORD, signUp } from '../harness/client.ts'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const REQUEST_ID = '0b8c7a1e-0000-4000-8000-00000000beef'

beforeAll(buildDashboard, LIMIT_MS)

async function boxOf(what: Locator) {
  const { x, y, width, height } = (await what.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
  return { left: x, top: y, right: x + width, bottom: y + height }
}

test.skipIf(!hasBrowser())(
  'waiting: a slow server is reported as slow, a lost one is retried, an error has its request id, and the layout stays',
  async () => {
    await using dashboard = await openDashboard()
    const { web, page } = dashboard
    const navigation = page.getByRole('navigation', { name: 'Main' })

    let isHeld = true
    await page.route('**/api/overview', (route) => (isHeld ? undefined : route.continue()))
    await page.goto(web)
    await page.getByText('The server is slow to respond.').waitFor()
    const again = page.getByRole('button', { name: 'Retry' })
    await again.waitFor()
    isHeld = false
    await again.click()
    await page.getByRole('heading', { name: 'Recent conversations' }).waitFor()

    // The width of a tablet is the breakpoint: exactly one of the two layouts must apply.
    await resizePage(page, { width: 768, height: 1024 })
    await page.context().setOffline(true)
    const lost = page.getByText('Connection lost. Reconnecting…')
    await lost.waitFor()
    const search = await boxOf(page.getByRole('button', { name: 'Go to' }))
    expect(search.bottom).toBeLessThan((await boxOf(navigation)).top)
    expect((await boxOf(lost)).right).toBeLessThanOrEqual((await boxOf(page.getByRole('main'))).left)
    await page.context().setOffline(false)
    await page.getByText('Connection lost. Reconnecting…').waitFor({ state: 'detached' })

    await page.route('**/api/fleet?*', (route) =>
      route.fulfill({ status: 500, headers: { 'x-request-id': REQUEST_ID }, json: { error: 'Internal error' } }),
    )
    await navigation.getByRole('link', { name: 'Agents' }).click()
    await page.getByText('Could not load agents').waitFor()
    await page.getByText(REQUEST_ID).waitFor()
    await page.unroute('**/api/fleet?*')
    await again.click()
    await page.getByRole('heading', { name: 'No agents yet' }).waitFor()

    await page.goto(`${web}/no/such/page`)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await navigation.getByRole('link', { name: 'Cost' }).waitFor()
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'ten tabs on a server without HTTP/2: load together; hidden ones hold no connection, and update when they are shown',
  async () => {
    await using installation = await openInstallation()
    const { web } = (await installation.start()).urls
    const ada = await signUp(web)
    const agentId = await createAgent(ada, { name: 'Lovelace' })
    await using browser = await openBrowser(web)
    await signInBrowser(browser.page, web)
    const tabs: Page[] = []
    for (const path of Array.from({ length: 10 }, (_, tab) => (tab % 2 ? '/agents' : `/agents/${agentId}/logs`))) {
      const tab = await browser.page.context().newPage()
      // Pages of a headless browser always count as visible, so the script overrides that.
      await tab.addInitScript("Object.defineProperty(document, 'hidden', { get: () => window.isOutOfSight === true })")
      await tab.goto(`${web}${path}`)
      await tab.getByText('Lovelace').first().waitFor()
      await setSight(tab, false)
      tabs.push(tab)
    }

    await ada.post(`/api/agents/${agentId}/stop`, {})
    const [logs, list] = tabs
    if (!logs || !list) throw new Error('There are no tabs')
    await setSight(list, true)
    await list.getByRole('list', { name: 'Your agents' }).getByText('Stopped').waitFor()
    const before = await countLines(logs)
    expect(before).toBeGreaterThan(0)
    await setSight(logs, true)
    await until('each line from the meantime, once', async () => {
      const count = await countLines(logs)
      return count > before && count === (await countStored(logs, agentId))
    })
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'sign-in: returns to the same page after the session has expired',
  async () => {
    await using dashboard = await openDashboard()
    const { web, page } = dashboard
    await page.goto(`${web}/agents?sort=cost`)
    await page.getByRole('heading', { name: 'No agents yet' }).waitFor()
    await page.context().clearCookies()
    // The page may detect the end of the session before a link can be clicked.
    await page.goto(`${web}/approvals`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(`${web}/approvals`)
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'dialogs, palette and account menu: pass axe-core, and accessible names match visible text',
  async () => {
    await using dashboard = await openDashboard()
    const { web, ada, page, complaints } = dashboard
    await createAgent(ada, { name: 'Lovelace' })
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await page.goto(`${web}/agents`)
    await page.getByRole('button', { name: 'Actions for Lovelace' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('alertdialog', { name: 'Delete Lovelace?' }).waitFor()
    expect(await violationsOf(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await page.locator('input:focus[placeholder="Page, agent or action"]').waitFor()
    await page
      .getByRole('option', { name: /^Lovelace/ })
      .first()
      .waitFor()
    expect(await violationsOf(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
    expect(await violationsOf(page)).toEqual([])
    await page.keyboard.press('Escape')
    await resizePage(page, { width: 360, height: 740 })
    expect(await violationsOf(page)).toEqual([])
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'an unknown path: has one main element; a page that loads slowly offers to retry',
  async () => {
    await using dashboard = await openDashboard()
    const { web, page, complaints } = dashboard
    for (const path of ['/no-such-page', '/agents/no/such/page', '/settings/no-such-page']) {
      await page.goto(`${web}${path}`)
      await page.getByRole('heading', { name: 'Page not found' }).waitFor()
      expect([path, await page.locator('main').count()]).toEqual([path, 1])
    }
    await page.goto(`${web}/agents`)
    await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor()
    const held = Promise.withResolvers<void>()
    await page.route('**/assets/cost-page-*.js', async (route) => {
      await held.promise
      await route.continue()
    })
    await page.getByRole('link', { name: 'Cost' }).click()
    await page.getByText('This is taking longer than usual.').waitFor()
    await page.getByRole('button', { name: 'Retry' }).waitFor()
    expect(await page.locator('main').count()).toBe(1)
    held.resolve()
    await page.getByRole('heading', { name: 'Cost' }).waitFor()
    // The three unknown URLs.
    expect(complaints.filter((complaint) => !complaint.includes('404'))).toEqual([])
  },
  LIMIT_MS,
)

/** Returns violations. The landmark rule is off, because a menu is outside of the landmarks. */
function violationsOf(page: Page): Promise<string[]> {
  return listViolations(page, { without: ['region'] })
}

/** Switches to another tab and back. */
async function setSight(tab: Page, isInSight: boolean): Promise<void> {
  await tab.evaluate(`window.isOutOfSight = ${!isInSight}; document.dispatchEvent(new Event('visibilitychange'))`)
}

async function countLines(tab: Page): Promise<number> {
  return tab.getByRole('log', { name: 'Log' }).locator('button[aria-expanded]').count()
}

async function countStored(tab: Page, agentId: string): Promise<number> {
  const lines = await tab.evaluate(`fetch('/api/logs/${agentId}/history').then((answer) => answer.json())`)
  return z.object({ lines: z.array(z.string()) }).parse(lines).lines.length
}
