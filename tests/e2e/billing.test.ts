import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../harness/browser.ts'
import { signUp } from '../harness/client.ts'
import { startStripeDouble } from '../harness/doubles/stripe.ts'
import { startServer } from '../harness/server.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }

beforeAll(buildDashboard, LIMIT_MS)

/** Signs in a second user, because the first account is the administrator. */
async function signInAsGuest(page: Page, web: string): Promise<void> {
  await signUp(web, 'owner@example.com')
  await signUp(web, 'ada@example.com')
  await signInBrowser(page, web)
}

async function expectNoSidewaysScrolling(page: Page): Promise<void> {
  await resizePage(page, PHONE)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
}

test.skipIf(!hasBrowser())(
  'the billing page without cards: says what the operator must set, and offers nothing to buy',
  async () => {
    // The guest has no plan.
    await using server = await startServer({ DEFAULT_PLAN: 'free' })
    const { web } = server.urls
    await using browser = await openBrowser(web)
    const { page } = browser
    await signInAsGuest(page, web)
    // The page offers only what the plan allows.
    const seePlans = page.getByRole('link', { name: 'View plans' })
    for (const path of ['/', '/agents', '/agents/new']) {
      await page.goto(`${web}${path}`)
      await seePlans.first().waitFor()
      await page.getByText('Agents require a plan').first().waitFor()
      expect(await page.getByRole('link', { name: /^Create (your first )?agent/ }).count()).toBe(0)
    }
    expect(await page.getByRole('button', { name: 'Create agent' }).isDisabled()).toBe(true)
    await seePlans.click()
    await page.waitForURL(/billing$/)
    for (const path of ['/billing', '/pricing?error=stripe_not_configured', '/checkout/success?session_id=cs_1']) {
      await page.goto(`${web}${path}`)
      await page.getByText(/Card payments require STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET/).waitFor()
      await page.getByText('No payments yet').waitFor()
      await page.getByText('No transactions yet').waitFor()
      expect(await page.getByRole('button', { name: /^Choose|for \$|Manage billing/ }).count()).toBe(0)
      expect(await page.getByText('Thank you').count()).toBe(0)
    }
    await expectNoSidewaysScrolling(page)
    expect(browser.complaints).toEqual([])
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the billing page with cards: links a pack to its payment; the signed event shows credits and a receipt that prints',
  async () => {
    await using stripe = startStripeDouble()
    await using server = await startServer(stripe.environment)
    const { web } = server.urls
    await using browser = await openBrowser(web)
    const { page } = browser
    await signInAsGuest(page, web)
    await page.route(`${stripe.environment.STRIPE_API_BASE}/**`, (route) => route.fulfill({ body: 'Pay here' }))
    await page.goto(`${web}/billing`)
    stripe.fail('refuses')
    await page.getByRole('button', { name: '500 for $5', exact: true }).click()
    await page.getByText('The card service refused').waitFor()
    expect(browser.complaints.splice(0)).toEqual([expect.stringContaining('502')])

    stripe.fail(null)
    await page.getByRole('button', { name: '500 for $5', exact: true }).click()
    await page.getByText('Pay here').waitFor()
    expect(page.url()).toStartWith(`${stripe.environment.STRIPE_API_BASE}/pay/cs_`)
    expect(browser.complaints.splice(0)).toEqual([`request to ${page.url()}`])
    const form = stripe.calls.at(-1)?.form ?? {}

    const back = new URL(form.success_url ?? '')
    await page.goto(`${web}${back.pathname}${back.search}`)
    await page.getByText('Thank you').waitFor()
    await page.getByText('0 credits', { exact: true }).waitFor()
    const event = {
      id: 'evt_1',
      object: 'event',
      type: 'checkout.session.completed',
      created: Math.floor(Date.now() / 1000),
      data: {
        object: {
          id: 'cs_1',
          mode: form.mode,
          payment_status: 'paid',
          amount_total: Number(form['line_items[0][price_data][unit_amount]']),
          currency: form['line_items[0][price_data][currency]'],
          payment_intent: 'pi_1',
          customer: 'cus_1',
          metadata: {
            userId: form['metadata[userId]'],
            purpose: form['metadata[purpose]'],
            pack: form['metadata[pack]'],
          },
        },
      },
    }
    const delivered = await fetch(`${web}/api/webhooks/stripe`, await stripe.deliver(event))
    expect(delivered.status).toBe(200)
    // The page updates without a reload.
    await page.getByText('500 credits', { exact: true }).first().waitFor()
    await page.getByText('+5.00 USD').waitFor()
    await page.getByRole('button', { name: 'Manage billing' }).waitFor()

    const opened = page.context().waitForEvent('page')
    await page.getByRole('link', { name: '500 credits' }).click()
    const receipt = await opened
    await receipt.getByRole('heading', { name: 'Receipt' }).waitFor()
    expect(await receipt.locator('dl').textContent()).toMatch(/500 credits[\s\S]*5\.00 USD[\s\S]*Card[\s\S]*pi_1/)
    const paper = (await receipt.pdf()).toString('latin1')
    expect(paper).toStartWith('%PDF')
    expect(paper.match(/\/Type\s*\/Page\b/g)).toHaveLength(1)
    await expectNoSidewaysScrolling(receipt)
    await receipt.close()
    await expectNoSidewaysScrolling(page)
    expect(browser.complaints).toEqual([])
  },
  LIMIT_MS,
)
