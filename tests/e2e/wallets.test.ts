import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../harness/browser.ts'
import { hasAnvil } from '../harness/chain/anvil.ts'
import { signUp } from '../harness/client.ts'
import { fund, PAYEE, readToken, startTokenChain, USDC } from '../harness/paying-platform.ts'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser() || !hasAnvil)(
  'the wallets page: creates a wallet, shows its balance, sets limits, approves a payment and freezes it, also on a phone',
  async () => {
    await using chain = await startTokenChain(8453, USDC)
    await using installation = await openInstallation({
      environment: { BASE_RPC_URL: chain.rpcUrl, USDC_ADDRESS: USDC },
    })
    const program = await installation.start()
    const { web } = program.urls
    const ada = await signUp(web)
    await using browser = await openBrowser(web)
    const { page } = browser
    await signInBrowser(page, web)
    await page.goto(`${web}/settings/wallets`)
    await page.getByText('No payments yet').waitFor()
    await page.getByRole('button', { name: 'For yourself' }).click()
    await page.getByRole('heading', { name: 'Your wallet' }).waitFor()
    const address = (await page.locator('code').first().textContent()) ?? ''
    expect(address).toMatch(/^0x[0-9a-f]{40}$/)

    await fund(chain, USDC, address, 12_500_001n)
    await page.reload()
    await page.getByText('12.500001').waitFor()
    await page.getByLabel('Limit per payment, in dollars').fill('5.1234567')
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText('Enter an amount in dollars with up to six decimals, or leave empty').waitFor()
    await page.getByLabel('Limit per payment, in dollars').fill('5')
    await page.getByLabel('Ask for approval above, in dollars').fill('1')
    await page.getByRole('button', { name: 'Save limits' }).click()
    const isLimited = async () => (await ada.post('/api/wallet/send', { recipient: PAYEE, amount: 6 })).status === 403
    await until('the limit', isLimited)

    expect((await ada.post('/api/wallet/send', { recipient: PAYEE, amount: '1.5' })).status).toBe(202)
    await page.reload()
    await page.getByRole('button', { name: 'Approve 1.50 USDC' }).click()
    await page.getByText('Paid', { exact: true }).waitFor()
    expect(await readToken(chain, USDC, PAYEE)).toBe(1_500_000n)

    await page.getByRole('button', { name: 'Freeze Your wallet' }).click()
    await page.getByRole('button', { name: 'Unfreeze Your wallet' }).waitFor()
    expect((await ada.post('/api/wallet/send', { recipient: PAYEE, amount: 1 })).status).toBe(403)
    await resizePage(page, { width: 360, height: 740 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    expect(browser.complaints).toEqual([])
  },
  LIMIT_MS,
)
