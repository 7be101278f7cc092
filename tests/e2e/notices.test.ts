import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../harness/browser.ts'
import { createAgent, signUp } from '../harness/client.ts'
import { startMailServer } from '../harness/doubles/mail-server.ts'
import { startReceiver } from '../harness/doubles/receivers.ts'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the notifications page: tests a channel before it is saved, saves preferences, and limits and pauses agents',
  async () => {
    await using receiver = await startReceiver()
    await using mail = await startMailServer()
    await using installation = await openInstallation({
      environment: { SUMMARIZER_ALLOW_PRIVATE: 'true', SMTP_URL: mail.url },
    })
    const { web } = (await installation.start()).urls
    const id = await createAgent(await signUp(web))
    await using browser = await openBrowser(web)
    const { page } = browser
    await signInBrowser(page, web)

    await page.goto(`${web}/settings/notices`)
    await page.getByText('No channels besides email').waitFor()
    await page.getByLabel('Type').selectOption('discord')
    await page.getByLabel('Webhook URL').fill(`${receiver.url}/api/webhooks/1/secret`)
    receiver.failWith({ status: 404, body: { message: 'Unknown Webhook', code: 10015 } })
    await page.getByRole('button', { name: 'Test and add' }).click()
    await page.getByText('Discord answered 404 (Unknown Webhook): nothing was saved').waitFor()
    await page.getByRole('button', { name: 'Test and add' }).click()
    await page.getByText('Channel added').waitFor()
    await page.getByRole('button', { name: 'Test discord' }).click()
    await page.getByText('Test message delivered.').waitFor()
    receiver.failWith({ status: 401, body: { message: 'Invalid Webhook Token' } })
    await page.getByRole('button', { name: 'Test discord' }).click()
    await page.getByText('Test failed: the channel answered 401 (Invalid Webhook Token).').waitFor()

    await page.getByRole('button', { name: 'Send test email' }).click()
    await page.getByText('Confirm your address first').waitFor()
    await until('the mail that confirms the address', () => mail.received.length > 0)
    await page.goto(mail.linkTo('ada@example.com').href)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.goto(`${web}/settings/notices`)
    mail.refuse('The disk of the mail server is full')
    await page.getByRole('button', { name: 'Send test email' }).click()
    await page.getByText('The disk of the mail server is full').waitFor()
    mail.refuse(null)
    await page.getByRole('button', { name: 'Send test email' }).click()
    await page.getByText('Check your inbox').waitFor()
    expect(mail.received.at(-1)?.subject).toBe('Test notification')

    await page.getByLabel('From').fill('22:00')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Quiet hours are two times such as 22:00').waitFor()
    await page.getByLabel('To', { exact: true }).fill('07:00')
    await page.getByLabel('Time zone').fill('Europe/Berlin')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Preferences saved.').waitFor()
    await page.reload()
    expect(await page.getByLabel('From').inputValue()).toBe('22:00')
    await page.getByRole('button', { name: 'Pause all' }).click()
    await page.getByRole('button', { name: 'Resume all' }).waitFor()
    await resizePage(page, PHONE)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)

    await page.goto(`${web}/agents/${id}/settings`)
    await page.getByText('All your agents are paused').waitFor()
    await page.getByLabel('Tokens per day').fill('a lot')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText('tokensPerDay must be a whole number').waitFor()
    await page.getByLabel('Tokens per day').fill('20000')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText('Limits saved.').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
    await page.reload()
    expect(await page.getByLabel('Tokens per day').inputValue()).toBe('20000')

    await page.goto(`${web}/settings/notices`)
    await page.getByRole('button', { name: 'Remove discord' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('No channels besides email').waitFor()
    // The browser logs the two expected error responses.
    expect(browser.complaints.filter((line) => !line.includes('status of 400'))).toEqual([])
  },
  LIMIT_MS,
)
