import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, openBrowser, signInOnPage } from '../harness/browser.ts'
import { createAgent, signUp } from '../harness/client.ts'
import { startReceiver } from '../harness/doubles/receivers.ts'
import { openHouse } from '../harness/server.ts'

/** A guard against waiting for ever, nothing else. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'a channel of notices is tried before it is kept, wishes are saved, and agents are limited and paused',
  async () => {
    await using receiver = await startReceiver()
    await using house = await openHouse({ environment: { SUMMARIZER_ALLOW_PRIVATE: 'true' } })
    const { web } = (await house.start()).urls
    const id = await createAgent(await signUp(web))
    await using browser = await openBrowser(web)
    const { page } = browser
    await signInOnPage(page, web)

    await page.goto(`${web}/settings/notices`)
    await page.getByText('No channel yet beside mail.').waitFor()
    await page.getByLabel('Where').selectOption('discord')
    await page.getByLabel('Webhook address').fill(`${receiver.url}/api/webhooks/1/secret`)
    receiver.failWith(404)
    await page.getByRole('button', { name: 'Try and add' }).click()
    await page.getByText('Discord answered 404: nothing was saved').waitFor()
    await page.getByRole('button', { name: 'Try and add' }).click()
    await page.getByText('A first message got through').waitFor()
    await page.getByRole('button', { name: 'Test discord' }).click()
    await page.getByText('The test got through.').waitFor()

    await page.getByLabel('From').fill('22:00')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Quiet hours are two times such as 22:00').waitFor()
    await page.getByLabel('To', { exact: true }).fill('07:00')
    await page.getByLabel('Time zone').fill('Europe/Berlin')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Your wishes are saved.').waitFor()
    await page.reload()
    expect(await page.getByLabel('From').inputValue()).toBe('22:00')
    await page.getByRole('button', { name: 'Pause all' }).click()
    await page.getByRole('button', { name: 'Resume all' }).waitFor()
    await page.setViewportSize({ width: 1440, height: 1600 })
    await page.screenshot({ path: '/tmp/notices.png', fullPage: true })
    await page.setViewportSize(PHONE)
    await page.screenshot({ path: '/tmp/notices-phone.png', fullPage: true })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)

    await page.goto(`${web}/agents/${id}/settings`)
    await page.getByText('All your agents are paused').waitFor()
    await page.getByLabel('Tokens a day').fill('a lot')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText('tokensPerDay must be a whole number').waitFor()
    await page.getByLabel('Tokens a day').fill('20000')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText('The limits are saved.').waitFor()
    await page.screenshot({ path: '/tmp/limits-phone.png', fullPage: true })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
    await page.reload()
    expect(await page.getByLabel('Tokens a day').inputValue()).toBe('20000')

    await page.goto(`${web}/settings/notices`)
    await page.getByRole('button', { name: 'Remove discord' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('No channel yet beside mail.').waitFor()
    // Two refusals were asked for; the browser tells of each.
    expect(browser.complaints.filter((line) => !line.includes('status of 400'))).toEqual([])
  },
  LIMIT_MS,
)
