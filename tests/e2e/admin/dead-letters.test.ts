import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../../harness/browser.ts'
import { signUp } from '../../harness/client.ts'
import { read } from '../../harness/requests.ts'
import { openInstallation } from '../../harness/server.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }
const Created = z.object({ agentId: z.string() })

beforeAll(buildDashboard, LIMIT_MS)

/** Adds undeliverable messages from an agent to itself. */
function addDeadLetters(dataDir: string, agentId: string, count: number): void {
  const database = new Database(join(dataDir, 'stead.db'))
  const insert =
    database.prepare(`INSERT INTO bus_messages (from_agent_id, to_agent_id, message_id, action, version, body,
    content_hash, status, attempts, last_error, created_at)
    VALUES (?, ?, ?, 'BOOKING_OFFER', '1.0', '{}', ?, 'dead', 24, 'the recipient has no webhook', ?)`)
  for (let at = 1; at <= count; at++) insert.run(agentId, agentId, `m-${at}`, `hash ${at}`, Date.now())
  database.close()
}

test.skipIf(!hasBrowser())(
  'the dead letters page: shows the reason and sends a message again; nothing is cut off on a phone',
  async () => {
    await using installation = await openInstallation()
    const { web } = (await installation.start()).urls
    const owner = await signUp(web, 'owner@example.com')
    await using browser = await openBrowser(web)
    const { page } = browser
    await signInBrowser(page, web, 'owner@example.com')
    await page.goto(`${web}/admin/users`)
    await page.getByRole('link', { name: 'Dead letters' }).click()
    await page.getByText('No undelivered messages').waitFor()

    const { agentId } = await read(Created, owner.post('/api/agents', { name: 'Lovelace' }))
    addDeadLetters(installation.dataDir, agentId, 2)
    await page.reload()
    const letters = page.getByRole('list', { name: 'Dead letters' }).getByRole('listitem')
    await letters.nth(1).waitFor()
    expect(await letters.first().textContent()).toMatch(/BOOKING_OFFER.*24 attempts.*the recipient has no webhook/)
    await resizePage(page, PHONE)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
    await letters.first().getByRole('button', { name: 'Resend' }).click()
    await letters.nth(1).waitFor({ state: 'detached' })
    expect(await letters.count()).toBe(1)
    expect(browser.complaints).toEqual([])
  },
  LIMIT_MS,
)
