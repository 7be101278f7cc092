import { beforeAll, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../../harness/browser.ts'
import { createAgent, signUp } from '../../harness/client.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the backups page: creates, verifies, tests and configures backups, and restores a deleted agent; nothing is cut off on a phone',
  async () => {
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
    const { web } = (await installation.start()).urls
    const owner = await signUp(web, 'owner@example.com')
    const agentId = await createAgent(owner, { model: 'local/echo' })
    await using browser = await openBrowser(web)
    const { page } = browser
    await signInBrowser(page, web, 'owner@example.com')
    await page.goto(`${web}/admin/users`)
    await page.getByRole('link', { name: 'Backups' }).click()
    await page.getByText('No backups yet').waitFor()
    await page.getByText('Never verified').waitFor()

    const done = page.getByRole('list', { name: 'Activity' }).getByRole('listitem')
    const isDone = (what: string) =>
      until(`done: ${what}`, async () => {
        const text = await done.first().textContent()
        if (text?.includes('failed')) throw new Error(text)
        return text?.includes(what) && text.includes('succeeded')
      })
    await page.getByRole('button', { name: 'Back up now' }).click()
    await isDone('1 agent, found whole')
    await page.getByText('Last verified').waitFor()
    const row = page.getByRole('list', { name: 'Backups' }).getByRole('listitem').first()
    await row.getByRole('button', { name: 'Verify' }).click()
    await isDone('Verification')
    await row.getByRole('button', { name: 'Test restore' }).click()
    await isDone('1 agent came back')

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      row.getByRole('link', { name: 'Download' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/^stead-.*\.tar$/)
    expect(statSync(await download.path()).size).toBeGreaterThan(1000)

    expect((await owner.delete(`/api/agents/${agentId}`)).status).toBe(200)
    await row.getByRole('button', { name: 'Restore an agent' }).click()
    await page.getByLabel('Agent ID').fill(agentId)
    await page.getByRole('button', { name: 'Restore agent' }).click()
    await isDone(`${agentId} (Ada) is as it was`)
    expect((await owner.get(`/api/agents/${agentId}`)).status).toBe(200)
    await resizePage(page, PHONE)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
    expect(browser.complaints).toEqual([])
  },
  LIMIT_MS,
)
