import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, openBrowser, resizePage } from '../harness/browser.ts'
import { openInstallation } from '../harness/server.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }
const MINE = '---\nname: say-hello\ndescription: Says hello.\n---\n\n# Say hello\n\nSay hello.\n'

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the skills page: finds, installs, runs, removes and uploads skills, and shows events and splits, also on a phone',
  async () => {
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
    const { web } = (await installation.start()).urls
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await page.goto(`${web}/signup`)
    await page.getByLabel('Name').fill('Ada')
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password').fill('correct horse battery staple')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor()
    const made = await page.request.post(`${web}/api/agents`, { data: { name: 'Lovelace' } })
    const { agentId } = await made.json()

    await page.goto(`${web}/skills`)
    await page.getByText('0 of 100 skills of your plan installed.').waitFor()
    await page.getByLabel('Search').fill('tour route')
    const rows = page.getByRole('list', { name: 'Skills' }).getByRole('listitem')
    await page.getByText('1 skills').waitFor({ state: 'attached' })
    expect(await rows.count()).toBe(1)
    await page.getByLabel('Install on').selectOption({ label: 'Lovelace' })
    await page.getByText('1 of 100 skills of your plan installed.').waitFor()
    await page.getByRole('button', { name: 'Turn Tour planner off for Lovelace' }).click()
    await page.getByText('Off', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'Try Tour planner' }).click()
    await page.getByLabel('Input').fill('Berlin on Friday')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.locator('pre', { hasText: 'Berlin on Friday' }).waitFor()
    await page.getByRole('button', { name: 'Remove Tour planner from Lovelace' }).click()
    await page.getByText('0 of 100 skills of your plan installed.').waitFor()

    await page.getByLabel('Or paste the text').fill(MINE)
    await page.getByRole('button', { name: 'Add skill' }).click()
    await page.getByText('Say hello added, version 1.').waitFor()
    await page.getByLabel('Search').fill('say-hello')
    await page.getByRole('button', { name: 'Delete Say hello' }).click()
    await page.getByRole('button', { name: 'Delete skill' }).click()
    await page.getByText('No skills match your search.').waitFor()

    const night = {
      agentId,
      name: 'Long night',
      description: 'Long',
      venue: 'Cellar',
      eventDate: '2027-01-01T20:00:00Z',
      ticketPriceUsdc: '12.50',
      totalTickets: 100,
    }
    expect((await page.request.post(`${web}/api/underground/events`, { data: night })).status()).toBe(201)
    const wallet = await page.request.post(`${web}/api/wallet`, { data: { action: 'create', agentId } })
    const { address: fromAddress } = await wallet.json()
    const recipients = [{ address: `0x${'1'.repeat(40)}`, share: 100 }]
    const split = { agentId, fromAddress, name: 'May royalties', totalAmount: '80', recipients }
    expect((await page.request.post(`${web}/api/underground/splits`, { data: split })).status()).toBe(200)
    await resizePage(page, PHONE)
    await page.goto(`${web}/events`)
    await page.getByRole('cell', { name: 'Long night' }).waitFor()
    await page.getByText('Payment in USDC is not configured: set BASE_RPC_URL').waitFor()
    await page.getByRole('button', { name: 'Recipients of May royalties' }).click()
    await page.getByRole('cell', { name: '80.00' }).waitFor()
    for (const path of ['/events', '/skills']) {
      await page.goto(`${web}${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    }
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)
