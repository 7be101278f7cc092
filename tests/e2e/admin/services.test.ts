import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../../harness/browser.ts'
import { signUp } from '../../harness/client.ts'
import { startMailServer } from '../../harness/doubles/mail-server.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { openInstallation } from '../../harness/server.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the services page: tests and saves a provider key and a mail server, which are kept over a restart',
  async () => {
    await using provider = await startProvider()
    await using mail = await startMailServer()
    await using installation = await openInstallation({
      environment: { OPENROUTER_BASE_URL: provider.baseUrl, GROQ_API_KEY: 'gsk_of-the-environment' },
    })
    const program = await installation.start()
    const { web } = program.urls
    await signUp(web, 'owner@example.com')
    await using browser = await openBrowser(web)
    const { page } = browser
    await signInBrowser(page, web, 'owner@example.com')
    await page.goto(`${web}/admin/users`)
    await page.getByRole('link', { name: 'Services' }).click()
    await page.getByText('Set by the environment variable GROQ_API_KEY. Change it there.').waitFor()

    provider.answerWith({ fault: { status: 401 } })
    await page.getByRole('button', { name: 'Add OpenRouter key' }).click()
    await page.getByLabel('OpenRouter API key').last().fill('sk-or-v1-0123456789abcdef')
    await page.getByRole('button', { name: 'Test and save' }).click()
    await page.getByText('Provider openrouter does not accept this key').waitFor()
    provider.answerWith({})
    await page.getByRole('button', { name: 'Test and save' }).click()
    await page.getByText('4 models').waitFor()

    await page.getByRole('button', { name: 'Add a mail server' }).click()
    await page.getByLabel('SMTP URL').fill(mail.url)
    await page.getByLabel('Sender').fill('Stead <stead@example.com>')
    await page.getByRole('button', { name: 'Test and save' }).click()
    await page.getByText(`Sends through ${new URL(mail.url).host} as Stead <stead@example.com>.`).waitFor()
    await resizePage(page, PHONE)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)

    await program.stop()
    const again = await installation.start()
    expect(again.lines.join('\n')).toMatch(/AI +openrouter, groq/)
    await page.reload()
    await page.getByText('4 models').waitFor()
    await page.getByRole('button', { name: 'Remove' }).first().click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Add OpenRouter key' }).waitFor()
    // The browser also logs the expected error response.
    expect(browser.complaints.filter((line) => !line.includes('400'))).toEqual([])
  },
  LIMIT_MS,
)
