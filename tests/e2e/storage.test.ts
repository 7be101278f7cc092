import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { buildDashboard, hasBrowser, openBrowser, signInBrowser } from '../harness/browser.ts'
import { createAgent, signUp } from '../harness/client.ts'
import { openInstallation } from '../harness/server.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the settings: show how much storage is used, and what happens when it is nearly full',
  async () => {
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
    const program = await installation.start()
    const { web } = program.urls
    await createAgent(await signUp(web))
    await using browser = await openBrowser(web)
    const { page } = browser
    await signInBrowser(page, web)
    await page.goto(`${web}/settings`)
    await page.getByText(/ of [\d.]+ [MG]B used/).waitFor()
    expect(await page.getByText('nothing new is saved until').count()).toBe(0)

    const sqlite = new Database(join(installation.dataDir, 'stead.db'))
    sqlite.pragma('busy_timeout = 5000')
    sqlite.exec('UPDATE agent_storage SET message_bytes = message_bytes + 200000000000')
    sqlite.close()
    await page.reload()
    await page.getByText('nothing new is saved until').waitFor()
    expect(browser.complaints).toEqual([])
  },
  LIMIT_MS,
)
