import { beforeAll, expect, test } from 'bun:test'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../../harness/browser.ts'
import { createAgent, signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { openInstallation } from '../../harness/server.ts'
import { withProvider } from '../../integration/journeys/main-job.ts'

const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'the permissions page: shows permissions, limits messages, and allows commands without isolation',
  async () => {
    await using provider = await startProvider()
    const environment = { ...withProvider(provider), AGENT_ISOLATION: 'off' }
    await using installation = await openInstallation({ environment })
    const { web } = (await installation.start()).urls
    const owner = await signUp(web)
    const agentId = await createAgent(owner, { model: 'openai/gpt-4o-mini' })
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await signInBrowser(page, web, owner.email)

    await page.goto(`${web}/agents/${agentId}/settings`)
    await page.getByLabel('Messages sent per day').fill('5')
    await page.getByLabel('At the message limit').selectOption({ label: 'Pause until midnight' })
    await page.getByRole('button', { name: 'Save activity limits' }).click()
    await page.getByLabel('Tokens per day').fill('1')
    await page.getByLabel('At the token limit').selectOption({ label: 'Ask me' })
    await page.getByRole('button', { name: 'Save limits' }).click()
    await page.getByText('Limits saved.').waitFor()
    const shell = page.getByLabel('run_shell')
    expect(await shell.isDisabled()).toBe(true)
    await page.getByLabel('Allow commands although this agent is not isolated').click()
    await page.getByRole('checkbox', { name: 'run_shell', disabled: false }).click()
    await page.getByRole('checkbox', { name: 'run_shell', checked: true }).waitFor()

    await resizePage(page, PHONE)
    await page.goto(`${web}/agents/${agentId}/overview`)
    await page.getByText('The operating system does not separate this agent').waitFor()
    await page.getByText('0 of 5, then pauses until midnight').waitFor()
    await page.getByText('Every public host, not enforced').waitFor()
    await page.getByText('Change', { exact: false }).filter({ hasText: 'without asking' }).click()
    await page.getByText('Runs commands; asks you before every command').waitFor()
    await page.getByText('Reach', { exact: false }).filter({ hasText: 'without asking' }).click()
    await page.getByText('Can reach files and processes of the server: it is not isolated').waitFor()
    await page.getByText('Connects to every public host').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)

    await owner.post('/api/chat', { message: 'Hello', agentId })
    await owner.post('/api/chat', { message: 'Hello again', agentId })
    await page.goto(`${web}/approvals`)
    await page.getByText('has reached a daily limit').waitFor()
    await page.getByText(/^Allow 1 more tokens on \d{4}-\d\d-\d\d\.$/).waitFor()
    await page.getByRole('button', { name: 'Approve a higher daily limit of Ada' }).click()
    await page.getByText('Approved', { exact: true }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)
