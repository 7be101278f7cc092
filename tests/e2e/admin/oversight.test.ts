import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Page } from 'playwright-core'
import { AdminUserList } from '../../../src/features/admin/accounts/schemas.ts'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../../harness/browser.ts'
import { createAgent, PASSWORD, signIn, signUp } from '../../harness/client.ts'
import { startMailServer } from '../../harness/doubles/mail-server.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { read } from '../../harness/requests.ts'
import { openInstallation } from '../../harness/server.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }
const REQUEST_ID = '0b8c7a1e-0000-4000-8000-00000000cafe'
const ROOT = 'root@example.com'

beforeAll(buildDashboard, LIMIT_MS)

/** Adds failed jobs: mails without recipients, so that a retry succeeds. */
function addDeadJobs(dataDir: string): void {
  const database = new Database(join(dataDir, 'stead.db'))
  const now = Date.now()
  const insert =
    database.prepare(`INSERT INTO jobs (id, kind, payload, status, attempts, run_at, last_error, created_at,
    finished_at) VALUES (?, ?, ?, 'dead', 24, ?, 'connection refused', ?, ?)`)
  insert.run('job_mail', 'accounts.mail', JSON.stringify({ mail: 'verify-email', userId: null }), now, now, now)
  insert.run('job_video', 'video.generate', JSON.stringify({ id: 'none' }), now, now, now)
  database.close()
}

const widthOf = (page: Page) => page.evaluate('document.documentElement.scrollWidth')

test.skipIf(!hasBrowser())(
  'the agents page of administrators: stops any agent, which the audit log shows, and shows an error when the server fails',
  async () => {
    await using provider = await startProvider()
    await using installation = await openInstallation({ environment: withProvider(provider) })
    const { web } = (await installation.start()).urls
    const root = await signUp(web, ROOT)
    await signUp(web, 'ada@example.com')
    const { users } = await read(AdminUserList, root.get('/api/admin/users?search=ada'))
    const plan = { method: 'PATCH', headers: { ...root.cookie, 'content-type': 'application/json' } }
    await fetch(`${web}/api/admin/users/${users[0]?.id}`, { ...plan, body: JSON.stringify({ plan: 'solo' }) })
    await createAgent(await signIn(web, 'ada@example.com'), { name: 'Lovelace' })
    await createAgent(root, { name: 'Warden' })
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await signInBrowser(page, web, ROOT)

    await page.goto(`${web}/admin`)
    await page.getByRole('navigation', { name: 'Admin' }).getByRole('link', { name: 'Agents' }).click()
    const rows = page.getByRole('list', { name: 'Agents' }).getByRole('listitem')
    await rows.nth(1).waitFor()
    await page.getByLabel('Search by agent or owner').fill('ada@')
    await rows.nth(1).waitFor({ state: 'detached' })
    expect(page.url()).toContain('search=ada')
    expect(await rows.first().textContent()).toMatch(/Lovelace.*Running.*ada@example\.com/)
    await page.reload()
    await page.getByRole('button', { name: 'Stop Lovelace' }).click()
    await page.getByText('This action is recorded in the audit log.').waitFor()
    await page.getByRole('button', { name: 'Stop agent' }).click()
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })
    await rows.first().getByText('Stopped').waitFor()
    expect(await page.getByRole('button', { name: 'Stop Lovelace' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: /^Stopped/ }).click()
    await page.getByRole('button', { name: 'Stopped 1', pressed: true }).waitFor()
    await resizePage(page, PHONE)
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    await page.getByLabel('Search by agent or owner').fill('nobody')
    await page.getByText('No agent with status stopped matching “nobody”').waitFor()

    await page.getByRole('link', { name: 'Audit log' }).click()
    await page.getByText(`${ROOT} stopped Lovelace`).waitFor()
    await page.getByText(`${ROOT} changed ada@example.com`).waitFor()
    expect(complaints).toEqual([])

    await page.route('**/api/admin/agents?*', (route) =>
      route.fulfill({ status: 500, headers: { 'x-request-id': REQUEST_ID }, json: { error: 'Internal error' } }),
    )
    await page.goto(`${web}/admin/agents`)
    await page.getByText('Could not load agents').waitFor()
    await page.getByText(REQUEST_ID).waitFor()
    await page.unroute('**/api/admin/agents?*')
    await page.getByRole('button', { name: 'Retry' }).click()
    await rows.nth(1).waitFor()
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the jobs page: shows why jobs failed and retries them, and reports a lost connection',
  async () => {
    await using installation = await openInstallation()
    const { web } = (await installation.start()).urls
    await signUp(web, ROOT)
    addDeadJobs(installation.dataDir)
    await using browser = await openBrowser(web)
    const { page } = browser
    await signInBrowser(page, web, ROOT)
    await page.goto(`${web}/admin/jobs`)
    const rows = page.getByRole('list', { name: 'Jobs' }).getByRole('listitem')
    await rows.nth(1).waitFor()
    await page.getByText('The caller was already notified').waitFor()
    await page.getByRole('button', { name: 'Failed 2', pressed: true }).waitFor()
    const again = page.getByRole('button', { name: 'Retry accounts.mail' })
    await page.context().setOffline(true)
    await again.click()
    await page.getByText('cannot be reached').first().waitFor()
    await page.context().setOffline(false)
    await again.click()
    await rows.nth(1).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^Completed/ }).click()
    await page.getByText('accounts.mail').first().waitFor()
    expect(page.url()).toEndWith('?state=done')
    await resizePage(page, PHONE)
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the health page: tests mail, shows the source of settings without secrets, and marks a frozen server as slow',
  async () => {
    await using mail = await startMailServer()
    await using installation = await openInstallation({
      environment: { SMTP_URL: mail.url, OPENROUTER_API_KEY: 'secret-canary' },
    })
    const { web } = (await installation.start()).urls
    await signUp(web, ROOT)
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await signInBrowser(page, web, ROOT)
    await page.goto(`${web}/admin/health`)
    await page.getByText('0 of 0 running').waitFor()
    await page.getByRole('button', { name: 'Send test email' }).click()
    await page.getByText(`Test email sent to ${ROOT}`).waitFor()
    expect(mail.received.some(({ subject }) => subject === 'Test email')).toBe(true)
    mail.refuse('greylisted')
    await page.getByRole('button', { name: 'Send test email' }).click()
    await page.getByText('Could not send the test email').waitFor()
    await page.getByText('greylisted').waitFor()

    await page.getByRole('navigation', { name: 'Admin' }).getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('heading', { name: 'Configuration' }).waitFor()
    await page.getByLabel('Search settings').fill('OPENROUTER')
    await page.getByText('set (hidden)').first().waitFor()
    expect(await page.content()).not.toContain('secret-canary')
    const row = page.getByRole('listitem').filter({ hasText: 'OPENROUTER_API_KEY' })
    expect(await row.textContent()).toContain('environment')
    await page.getByLabel('Search settings').fill('no such thing')
    await page.getByText('No settings match “no such thing”').waitFor()
    await resizePage(page, PHONE)
    await page.goto(`${web}/admin/settings?show=given`)
    await page.getByRole('button', { name: /^Changed/, pressed: true }).waitFor()
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    expect(complaints).toEqual([])

    let isHeld = true
    await page.route('**/api/admin/health', (route) => (isHeld ? undefined : route.continue()))
    await page.goto(`${web}/admin/health`)
    await page.getByText('The server is slow to respond.').waitFor()
    await page.getByRole('button', { name: 'Retry' }).waitFor()
    isHeld = false
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('heading', { name: /^Host/ }).waitFor()
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'an invitation link: creates one account and can be revoked; signing in again returns to the page',
  async () => {
    await using installation = await openInstallation({ environment: { SIGN_UP: 'invite' } })
    const first = await installation.start({ SIGN_UP: 'open' })
    await signUp(first.urls.web, ROOT)
    await first.stop()
    const { web } = (await installation.start()).urls
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await signInBrowser(page, web, ROOT)
    await page.goto(`${web}/admin/invites`)
    await page.getByText('No invitations yet').waitFor()
    await page.getByRole('button', { name: 'Create invitation' }).click()
    const link = await page.locator('code', { hasText: '/signup?invite=' }).textContent()
    await page.getByText('The link is shown only once').waitFor()
    const rows = page.getByRole('list', { name: 'Invitations' }).getByRole('listitem')
    await rows.getByText('Open').waitFor()
    await joinAndLeave(page, link ?? '')
    await signInBrowser(page, web, ROOT)
    await page.goto(`${web}/admin/invites`)
    await rows.getByText('Used', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Create invitation' }).click()
    await page.getByRole('button', { name: /^Revoke/ }).click()
    await page.getByRole('button', { name: 'Revoke', exact: true }).click()
    await rows.nth(1).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])

    await page.context().clearCookies()
    await page.getByRole('button', { name: 'Create invitation' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Email').fill(ROOT)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.waitForURL(`${web}/admin/invites`)
  },
  LIMIT_MS,
)

/** Creates an account by the setup link, deletes it, and expects the confirmation. */
async function joinAndLeave(page: Page, link: string): Promise<void> {
  await page.context().clearCookies()
  await page.goto(link)
  expect(await page.getByLabel('Invite code').inputValue()).toBe(new URL(link).searchParams.get('invite') ?? '')
  await page.getByLabel('Name').fill('Bo')
  await page.getByLabel('Email').fill('bo@example.com')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await page.goto(new URL('/settings/account', link).href)
  await page.getByRole('button', { name: 'Delete account' }).click()
  await page.getByLabel('Type your email to confirm').fill('bo@example.com')
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Permanently delete account' }).click()
  await page.getByText('Account deleted').waitFor()
}
