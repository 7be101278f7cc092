import { beforeAll, expect, onTestFinished, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { concatHex, type Hex, padHex, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { buildDashboard, hasBrowser, openBrowser, resizePage } from '../harness/browser.ts'
import { openDashboard } from '../harness/browsers/dashboard.ts'
import { hasAnvil, startAnvil } from '../harness/chain/anvil.ts'
import { PASSWORD } from '../harness/client.ts'
import { startMuxDouble } from '../harness/doubles/mux.ts'
import { startVideoDouble } from '../harness/doubles/video.ts'
import { openInstallation } from '../harness/server.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }

beforeAll(buildDashboard, LIMIT_MS)

const widthOf = (page: Page) => page.evaluate('document.documentElement.scrollWidth')
/** The browser logs each expected error response. */
const unexpected = (complaints: string[]) => complaints.filter((line) => !/status of (403|502|503)/.test(line))

test.skipIf(!hasBrowser())(
  'feeds, radio and video without settings: each names the settings, and an expired session leads back to the page',
  async () => {
    await using dashboard = await openDashboard()
    const { web, page, complaints } = dashboard
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Media' }).click()
    await page.getByText('No feeds configured').waitFor()
    await page.getByText('FEEDS=').waitFor()
    await resizePage(page, PHONE)
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    await page.getByRole('link', { name: 'Radio' }).click()
    await page.getByText('Radio is not configured: set RADIO_API_ID and RADIO_API_TOKEN').waitFor()
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    await page.getByRole('link', { name: 'Video' }).click()
    await page.getByText('set VIDEO_BASE_URL and VIDEO_API_KEY').waitFor()
    expect(await page.getByRole('button', { name: 'Create video' }).isDisabled()).toBe(true)
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    expect(unexpected(complaints)).toEqual([])

    await page.context().clearCookies()
    await page.goto(`${web}/media/video?type=tutorial`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Email').fill('ada@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByLabel('Steps, one per line').waitFor()
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the feed page: keeps the feed in its URL, shows source errors, and reports a slow server',
  async () => {
    let isFailing = false
    const source = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => (isFailing ? new Response('no', { status: 503 }) : Response.json({ gas: { price: 7 } })),
    })
    onTestFinished(() => void source.stop(true))
    const feeds = ['gas', 'tvl'].map((id) => ({
      id,
      url: `http://127.0.0.1:${source.port}/${id}`,
      source: 'Gas Station',
    }))
    const environment = { FEEDS: JSON.stringify(feeds), SUMMARIZER_ALLOW_PRIVATE: 'true' }
    await using dashboard = await openDashboard({ environment })
    const { web, page, complaints } = dashboard
    await page.goto(`${web}/media/feeds`)
    await page.getByRole('link', { name: 'Preview gas' }).click()
    await page.getByText('"price": 7').waitFor()
    await page.getByText('From Gas Station').waitFor()
    expect(page.url()).toEndWith('?feed=gas')
    isFailing = true
    await page.getByRole('link', { name: 'Preview tvl' }).click()
    await page.getByText('Could not load the feed').waitFor()
    await page.getByText('Feed unavailable').waitFor()
    expect(unexpected(complaints)).toEqual([])

    let isHeld = true
    await page.route('**/api/feeds', (route) => (isHeld ? undefined : route.continue()))
    await page.goto(`${web}/media/feeds`)
    await page.getByText('The server is slow to respond.').waitFor()
    await page.getByRole('button', { name: 'Retry' }).waitFor()
    isHeld = false
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('link', { name: 'Preview gas' }).waitFor()
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the radio page: plays live streams, shows why a user may not broadcast, and reports a failing provider',
  async () => {
    const mux = startMuxDouble()
    onTestFinished(() => void mux.stop())
    await using dashboard = await openDashboard({ environment: mux.environment })
    const { web, page, complaints } = dashboard
    await page.goto(`${web}/media/radio`)
    await page.getByText('No live streams').waitFor()
    await page.getByText('No streams yet').waitFor()
    await page.getByRole('button', { name: 'Create stream' }).click()
    await page.getByText('This field is required.').waitFor()
    await page.getByLabel('Wallet').fill('0x12')
    await page.getByRole('button', { name: 'Create stream' }).click()
    await page.getByText('wallet must be 0x and 40 hex digits').waitFor()
    await page.getByLabel('Wallet').fill(`0x${'ab'.repeat(20)}`)
    await page.getByRole('button', { name: 'Create stream' }).click()
    await page.getByText('Could not create the stream').waitFor()
    await page.getByText('for DJ access').waitFor()
    expect(unexpected(complaints)).toEqual([])
    mux.failWith('status')
    await page.route('**/api/radio/live', (route) =>
      route.fulfill({ status: 502, json: { error: 'The provider failed' } }),
    )
    await page.reload()
    await page.getByText('Could not load radio').waitFor()
    const dj = { id: 's', name: 'DJ Ada', wallet: null, playbackId: 'p', status: 'active', startedAt: 1_790_000_000 }
    const urls = { hlsUrl: 'https://stream.example/p.m3u8', embedUrl: 'https://player.example/p' }
    await page.unroute('**/api/radio/live')
    await page.route('**/api/radio/live', (route) => route.fulfill({ json: { djs: [{ ...dj, ...urls }], count: 1 } }))
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByText('DJ Ada').waitFor()
    expect(await page.getByRole('link', { name: 'Listen' }).getAttribute('href')).toBe('https://player.example/p')
  },
  LIMIT_MS,
)

/**
 * Returns the bytecode of a token of which every address holds `balance`: PUSH32 balance, MSTORE at 0, RETURN(0, 32).
 */
function tokenOf(balance: bigint) {
  return concatHex(['0x7f', padHex(toHex(balance), { size: 32 }), '0x60005260206000f3'])
}

test.skipIf(!hasBrowser() || !hasAnvil)(
  'the radio page: a token holder signs in with a wallet, gets a stream with its key once, broadcasts, and ends it',
  async () => {
    const chain = await startAnvil(8453)
    onTestFinished(() => void chain.stop())
    const mux = startMuxDouble()
    onTestFinished(() => void mux.stop())
    const needed = 1_250_000n * 10n ** 18n
    const gate = { TOKEN_GATING_ADDRESS: await chain.deploy(tokenOf(needed)), TOKEN_GATING_MIN_BALANCE: `${needed}` }
    await using installation = await openInstallation({
      environment: { ...mux.environment, ...gate, BASE_RPC_URL: chain.rpcUrl },
    })
    const { web } = (await installation.start()).urls
    await using browser = await openBrowser(web)
    const { page } = browser
    const holder = privateKeyToAccount(generatePrivateKey())
    await page.exposeFunction('signText', (raw: Hex) => holder.signMessage({ message: { raw } }))
    await page.addInitScript(`window.ethereum = { request: ({ method, params }) =>
      method === 'eth_requestAccounts' ? Promise.resolve(['${holder.address}']) : window.signText(params[0]) }`)
    await page.goto(`${web}/login`)
    await page.getByRole('button', { name: 'Continue with wallet' }).click()
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.goto(`${web}/media/radio`)
    await page.getByLabel('Wallet').fill(holder.address)
    await page.getByLabel('Stream name').fill('DJ Ada')
    await page.getByRole('button', { name: 'Create stream' }).click()
    await page.getByText('The key is shown only once.').waitFor()
    const key = (await page.locator('code', { hasText: /^secret-key-/ }).textContent()) ?? ''
    expect(key).toStartWith('secret-key-')
    const streams = page.getByRole('list', { name: 'Streams' })
    await streams.getByText('DJ Ada').waitFor()
    await page.reload()
    await streams.getByText('DJ Ada').waitFor()
    expect(await page.content()).not.toContain(key)
    for (const id of mux.streams.keys()) mux.setStatus(id, 'active')
    await page.reload()
    await page.getByRole('list', { name: 'Live now' }).getByText('DJ Ada').waitFor()
    await page.getByRole('button', { name: /^Delete/ }).click()
    await page
      .getByRole('alertdialog')
      .getByRole('button', { name: /^(Delete|End)/ })
      .click()
    await page.getByText('No streams yet').waitFor()
    expect(mux.streams.size).toBe(0)
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the video page: orders a video and shows its progress and result, or why it failed; without a connection nothing is ordered',
  async () => {
    const provider = startVideoDouble({ status: 'queued' })
    onTestFinished(() => void provider.stop())
    await using dashboard = await openDashboard({ environment: provider.environment })
    const { web, page, complaints } = dashboard
    await page.goto(`${web}/media/video`)
    await page.getByText('No videos yet').waitFor()
    await page.getByRole('button', { name: 'Create video' }).click()
    await page.getByText('This field is required.').first().waitFor()
    await page.getByLabel('Agent name').fill('Ada')
    await page.getByLabel('Description').fill('Plans my day')
    await page.getByRole('button', { name: 'Create video' }).click()
    await page.getByText('Video requested').waitFor()
    const videos = page.getByRole('list', { name: 'Videos' }).getByRole('listitem')
    await videos.getByText(/^(Queued|Generating)$/).waitFor()
    provider.set({ status: 'completed' })
    await videos.getByText('Done').waitFor()
    expect(await page.locator('video').getAttribute('src')).toMatch(/^\/api\/videos\/vid_/)
    await videos.getByRole('link', { name: 'Download' }).waitFor()
    provider.set({ status: 'failed', error: { code: 'moderation_blocked', message: 'It shows a brand' } })
    await page.getByLabel('Type').selectOption('tutorial')
    expect(page.url()).toEndWith('?type=tutorial')
    await page.getByLabel('Topic').fill('Tea')
    await page.getByLabel('Steps, one per line').fill('Boil water\n\nWait')
    await page.getByRole('button', { name: 'Create video' }).click()
    await videos.first().getByText('Failed').waitFor()
    await videos.first().getByText('It shows a brand').waitFor()
    await resizePage(page, PHONE)
    expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
    expect(unexpected(complaints)).toEqual([])
    await page.context().setOffline(true)
    await page.getByRole('button', { name: 'Create video' }).click()
    await page.getByText('Could not create the video').waitFor()
    await page.context().setOffline(false)
    await page.getByText('Connection lost. Reconnecting…').waitFor({ state: 'detached' })
  },
  LIMIT_MS,
)
