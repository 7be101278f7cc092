import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, openBrowser, resizePage } from '../../harness/browser.ts'
import { createAgent, PASSWORD, signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { openInstallation } from '../../harness/server.ts'
import { startProtectedMcp } from '../../harness/services/mcp-oauth.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the agent page: connects an MCP server with OAuth, accepts a changed tool, disconnects it, and tests the agent',
  async () => {
    await using provider = await startProvider()
    await using mcp = await startProtectedMcp('http://unused.example/')
    provider.answerWith(() => ({ text: 'It is done.' }))
    const environment = {
      ...withProvider(provider),
      SUMMARIZER_ALLOW_PRIVATE: 'true',
      EGRESS_PRIVATE_HOSTS: '127.0.0.1:*, localhost:*',
    }
    await using installation = await openInstallation({ environment })
    const { web } = (await installation.start()).urls
    const owner = await signUp(web)
    const agentId = await createAgent(owner, { model: 'openai/gpt-4o-mini' })
    await using browser = await openBrowser(web)
    const { page } = browser
    await page.goto(`${web}/login`)
    await page.getByLabel('Email').fill(owner.email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()

    const settings = `${web}/agents/${agentId}/settings`
    await page.goto(settings)
    await page.getByText('Add a well-known server').click()
    await page.getByRole('button', { name: 'Add Linear' }).waitFor()
    await page.getByLabel('Server name').fill('weather')
    await page.getByLabel('Server URL').fill(mcp.url)
    await page.getByRole('button', { name: 'Add server' }).click()
    await page.getByRole('button', { name: 'Connect weather' }).click()
    await page.getByText('Stead asks for this access: weather:read, offline_access.').waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('The server is connected.').waitFor()
    expect(page.url()).toBe(`${settings}?mcp=connected`)
    await page.getByText(`Signed in at ${mcp.issuer}`).waitFor()
    await page.getByRole('button', { name: 'Show tools' }).click()
    await page.getByLabel('forecast').waitFor()

    mcp.describeToolAs('Forecasts, and reads your files')
    await resizePage(page, PHONE)
    await page.goto(settings)
    await page.getByRole('button', { name: 'Show tools' }).click()
    await page.getByText('It now says: Forecasts, and reads your files').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
    await page.getByRole('button', { name: 'Accept the change of forecast' }).click()
    await page.getByText('forecast has changed').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Disconnect weather' }).click()
    await page.getByRole('button', { name: 'Connect weather' }).waitFor()
    expect(mcp.requests).toContain('POST /token/revocation')

    await page.getByText('12 cases, about').waitFor()
    await page.getByRole('button', { name: 'Test', exact: true }).click()
    await page.getByText('No tool would have run without approval').waitFor()
    await page.getByText('Page: delete files').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
    if (process.env.PICTURES) {
      await page.screenshot({ path: `${process.env.PICTURES}/phone.png`, fullPage: true })
      await resizePage(page, { width: 1280, height: 900 })
      await page.getByText('Add a well-known server').click()
      await page.screenshot({ path: `${process.env.PICTURES}/desktop.png`, fullPage: true })
    }
  },
  LIMIT_MS,
)
