import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, openBrowser } from '../harness/browser.ts'
import { openInstallation } from '../harness/server.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const EMAIL = 'ada@example.com'
/** Each of these claims that an email was or will be sent. */
const CLAIMS = /email you|check your email|been sent|was sent|emailed|send link/i

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser()).each([
  ['development', 'The reset link is written to the server log'],
  ['production', 'stead user reset-password EMAIL --password-stdin'],
])(
  'without mail in %s: no page claims that a mail was sent, and each names the alternative',
  async (mode, wayOut) => {
    await using installation = await openInstallation({ environment: { NODE_ENV: mode } })
    const { web } = (await installation.start()).urls
    await using browser = await openBrowser(web)
    const { page } = browser
    const read = async () => (await page.locator('body').textContent()) ?? ''

    await page.goto(`${web}/signup`)
    await page.getByLabel('Email').fill(EMAIL)
    await page.getByLabel('Password').fill('correct horse battery staple')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await read()).not.toMatch(CLAIMS)

    await page.goto(`${web}/settings`)
    await page.getByRole('heading', { name: 'Email', exact: true }).waitFor()
    await page.waitForLoadState('networkidle')
    expect(await read()).not.toMatch(CLAIMS)
    const confirm = page.getByRole('button', { name: 'Create link' })
    expect(await confirm.count()).toBe(mode === 'production' ? 0 : 1)
    if (mode === 'development') {
      await confirm.click()
      await page.getByText('A verification link was written to its log').waitFor()
      expect(await read()).not.toMatch(CLAIMS)
    }

    await page.goto(`${web}/forgot-password`)
    await page.getByText(wayOut).waitFor()
    expect(await read()).not.toMatch(CLAIMS)
    if (mode === 'development') {
      await page.getByLabel('Email').fill(EMAIL)
      await page.getByRole('button', { name: 'Create link' }).click()
      await page.getByText('a reset link was written to its log').waitFor()
      expect(await read()).not.toMatch(CLAIMS)
    }
    for (const path of ['/verify-email', '/verify-email?token=unknown', '/reset-password', '/reset-password?token=x']) {
      await page.goto(`${web}${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForLoadState('networkidle')
      expect(await read()).not.toMatch(CLAIMS)
    }
  },
  LIMIT_MS,
)
