import { beforeAll, expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildDashboard, hasBrowser } from '../../harness/browser.ts'
import { openDashboard } from '../../harness/browsers/dashboard.ts'
import { createAgent } from '../../harness/client.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the log page: keeps its search in the URL and over a reload, and shows the UTC time of a line on hover',
  async () => {
    await using dashboard = await openDashboard()
    const { web, ada, page, complaints } = dashboard
    const agentId = await createAgent(ada, { name: 'Lovelace' })
    await page.goto(`${web}/agents/${agentId}/logs`)
    const search = page.getByRole('searchbox', { name: 'Search lines' })
    const log = page.getByRole('log', { name: 'Log' })
    await search.fill('is listening')
    await log.locator('mark').first().waitFor()
    await page.waitForURL(/[?&]q=is/)
    await page.reload()
    await log.locator('mark').first().waitFor()
    expect(await search.inputValue()).toBe('is listening')
    expect(new Set(await log.locator('mark').allTextContents())).toEqual(new Set(['is listening']))
    const time = log.locator('button[aria-expanded] time').first()
    const utc = new Date((await time.getAttribute('datetime')) ?? '').toISOString()
    expect(await time.getAttribute('title')).toContain(`${utc.slice(11, 19)} UTC`)
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the agent page: shows why the agent could not start, also after a reload; the list asks for its name before deleting it',
  async () => {
    await using dashboard = await openDashboard()
    const { installation, web, ada, page } = dashboard
    const agentId = await createAgent(ada, { name: 'Lovelace' })
    await ada.post(`/api/agents/${agentId}/stop`, {})
    const state = join(installation.dataDir, 'agents', agentId, 'state')
    rmSync(state, { recursive: true })
    writeFileSync(state, 'no folder')
    await page.goto(`${web}/agents/${agentId}/overview`)
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    const notice = page.getByRole('alert').filter({ hasText: 'Could not start Lovelace' })
    await notice.waitFor()
    const reason = await notice.textContent()
    expect(reason).toMatch(/Could not start.{10}/s)
    await page.reload()
    await notice.waitFor()
    expect(await notice.textContent()).toBe(reason)

    await page.goto(`${web}/agents`)
    await page.getByRole('button', { name: 'Actions for Lovelace' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Delete Lovelace?' })
    await dialog.getByRole('button', { name: 'Delete agent' }).click()
    await dialog.getByText('Enter the exact name: Lovelace').waitFor()
    expect((await ada.get(`/api/agents/${agentId}`)).status).toBe(200)
    await dialog.getByLabel('Type Lovelace to confirm').fill('Lovelace')
    await dialog.getByRole('button', { name: 'Delete agent' }).click()
    await page.getByRole('heading', { name: 'No agents yet' }).waitFor()
    expect((await ada.get(`/api/agents/${agentId}`)).status).toBe(404)
  },
  LIMIT_MS,
)
