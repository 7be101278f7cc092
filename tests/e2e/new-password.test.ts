import { beforeAll, expect, test } from 'bun:test'
import { z } from 'zod'
import { buildDashboard, hasBrowser, openBrowser, signInBrowser } from '../harness/browser.ts'
import { PASSWORD, type Person, signIn, signUp } from '../harness/client.ts'
import { bearer, read } from '../harness/requests.ts'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const [SECOND, THIRD] = ['the second horse battery', 'the third horse battery']

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'a new password: offers to delete the API keys, in the settings and after a link, and deletes them only on request',
  async () => {
    await using installation = await openInstallation()
    const program = await installation.start()
    const { web } = program.urls
    const kept = await makeKey(await signUp(web))
    await using browser = await openBrowser(web)
    const { page } = browser
    await signInBrowser(page, web)

    const change = async (current: string, next: string, endsKeys: boolean) => {
      await page.goto(`${web}/settings/security`)
      await page.getByLabel('Current password').fill(current)
      await page.getByLabel('New password').fill(next)
      const tick = page.getByLabel('Revoke my API key')
      expect(await tick.isChecked()).toBe(false)
      if (endsKeys) await tick.check()
      await page.getByRole('button', { name: 'Change password' }).click()
      await page.getByText('Password changed.').waitFor()
    }
    await change(PASSWORD, SECOND, false)
    expect(await statusOf(web, kept)).toBe(200)
    await change(SECOND, THIRD, true)
    expect(await statusOf(web, kept)).toBe(401)

    const ended = await makeKey(await signIn(web, 'ada@example.com', THIRD))
    await (await signIn(web, 'ada@example.com', THIRD)).post('/api/auth/forgot-password', { email: 'ada@example.com' })
    const link = await until(
      'the link in the log',
      () => program.lines.join('\n').match(/\/reset-password\?token=\w+/)?.[0] ?? null,
    )
    await page.goto(`${web}${link}`)
    await page.getByLabel('New password').fill(PASSWORD)
    await page.getByLabel('Revoke my API keys').check()
    await page.getByRole('button', { name: 'Save password' }).click()
    await page.waitForURL(/\/login/)
    expect(await statusOf(web, ended)).toBe(401)
  },
  LIMIT_MS,
)

async function makeKey(person: Person): Promise<string> {
  const { key } = await read(z.object({ key: z.string() }), person.post('/api/keys', { name: 'laptop' }))
  expect(await statusOf(person.web, key)).toBe(200)
  return key
}

async function statusOf(web: string, key: string): Promise<number> {
  return (await fetch(`${web}/api/settings`, { headers: bearer(key) })).status
}
