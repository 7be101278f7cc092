import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { buildDashboard, hasBrowser } from '../harness/browser.ts'
import { openDashboard } from '../harness/browsers/dashboard.ts'
import { createAgent } from '../harness/client.ts'
import { until } from '../harness/until.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the palette: opens pages and agents and sets the theme by keyboard, and returns the focus',
  async () => {
    await using dashboard = await openDashboard()
    const { web, ada, page, complaints } = dashboard
    const agentId = await createAgent(ada, { name: 'Lovelace' })
    await page.goto(`${web}/agents`)
    await page.getByRole('link', { name: 'Lovelace' }).focus()

    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Go to' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await until('the focus to come back', async () => (await focusedText(page)) === 'Lovelace')

    await choose(page, 'lovel')
    await page.waitForURL(`${web}/agents/${agentId}`)
    await page.getByRole('heading', { name: 'Lovelace', exact: true }).focus()
    await page.keyboard.press('g')
    await page.keyboard.press('c')
    await page.waitForURL(`${web}/cost?period=7d`)
    await choose(page, 'api keys')
    await page.waitForURL(`${web}/settings/keys`)
    await choose(page, 'logs lovelace')
    await page.waitForURL(`${web}/agents/${agentId}/logs`)
    await choose(page, 'dark')
    await until('the dark theme', async () => (await page.locator('html').getAttribute('data-theme')) === 'dark')

    await page.getByRole('heading', { level: 1 }).focus()
    await page.keyboard.press('?')
    const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await sheet.getByText('Open the command palette').waitFor()
    await sheet.getByLabel('Enable single-key shortcuts').uncheck()
    await sheet.getByRole('button', { name: 'Close' }).click()
    await sheet.waitFor({ state: 'detached' })
    await page.getByRole('heading', { level: 1 }).focus()
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    // Single-key shortcuts are off; the palette's shortcut has a modifier.
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Go to' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/agents/${agentId}/logs`)
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the theme: follows the system until one is selected in the account menu, and stays over a reload',
  async () => {
    await using dashboard = await openDashboard()
    const { page, complaints } = dashboard
    await page.emulateMedia({ colorScheme: 'light' })
    const groundOf = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    const light = await groundOf()
    await page.emulateMedia({ colorScheme: 'dark' })
    await until('the dark theme', async () => (await groundOf()) !== light)
    const dark = await groundOf()
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('menuitemradio', { name: 'Light' }).click()
    await until('the light theme', async () => (await groundOf()) === light)
    await page.reload()
    await page.getByRole('button', { name: /^Account/ }).click()
    expect(await page.getByRole('menuitemradio', { name: 'Light' }).getAttribute('aria-checked')).toBe('true')
    await until('the light theme', async () => (await groundOf()) === light)
    await page.getByRole('menuitemradio', { name: 'System' }).click()
    await until('the dark theme', async () => (await groundOf()) === dark)
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

async function choose(page: Page, words: string): Promise<void> {
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Go to' }).fill(words)
  const first = page.getByRole('dialog').getByRole('option').first()
  await first.waitFor()
  await until('the first item to be selected', async () => (await first.getAttribute('aria-selected')) === 'true')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

function focusedText(page: Page): Promise<string | null> {
  return page.evaluate('document.activeElement.textContent')
}
