import { beforeAll, expect, test } from 'bun:test'
import { chownSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { agentFolder } from '../../src/adapters/runtimes/process/files.ts'
import { buildDashboard, hasBrowser, openBrowser, resizePage } from '../harness/browser.ts'
import { createAgent, PASSWORD, signUp } from '../harness/client.ts'
import { startMcpServer } from '../harness/doubles/mcp-server.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'
import { withProvider } from '../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasBrowser())(
  'approvals: an agent waits before it deletes, and its owner decides on a phone; its tools and MCP servers are set on its page',
  async () => {
    await using provider = await startProvider()
    await using mcp = startMcpServer()
    provider.answerWith(({ body }) => {
      const isReported = JSON.stringify(body).includes('"role":"tool"')
      return isReported
        ? { text: 'It is done.' }
        : { toolCalls: [{ name: 'delete_file', arguments: { path: 'notes.md' } }] }
    })
    const environment = { ...withProvider(provider), EGRESS_PRIVATE_HOSTS: '127.0.0.1:*' }
    await using installation = await openInstallation({ environment })
    const { web } = (await installation.start()).urls
    const owner = await signUp(web)
    const agentId = await createAgent(owner, { model: 'openai/gpt-4o-mini' })
    const workspace = join(agentFolder(join(installation.dataDir, 'agents'), agentId).state, 'workspace')
    mkdirSync(workspace, { recursive: true })
    writeFileSync(join(workspace, 'notes.md'), 'precious')
    const agent = statSync(workspace)
    chownSync(join(workspace, 'notes.md'), agent.uid, agent.gid)
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await page.goto(`${web}/login`)
    await page.getByLabel('Email').fill(owner.email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()

    await resizePage(page, PHONE)
    await page.goto(`${web}/approvals`)
    await page.getByText('No approvals yet').waitFor()
    const reply = owner.post('/api/chat', { message: 'Delete my notes', agentId })
    await page.getByText('{"path":"notes.md"}').waitFor()
    const account = page.getByRole('button', { name: /^Account/ })
    await account.getByText('1 waiting').waitFor()
    expect(existsSync(join(workspace, 'notes.md'))).toBe(true)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
    await page.getByRole('button', { name: 'Approve delete_file of Ada' }).click()
    await page.getByText('Approved and completed').waitFor()
    await account.getByText('waiting').waitFor({ state: 'detached' })
    expect(JSON.stringify(await (await reply).json())).toContain('It is done.')
    expect(existsSync(join(workspace, 'notes.md'))).toBe(false)

    await decideInChat(page, `${web}/agents/${agentId}`)

    await page.goto(`${web}/agents/${agentId}/settings`)
    await page.getByLabel('Profile').selectOption('minimal')
    const listFiles = page.getByLabel('list_files')
    await until('the tools of the profile', async () => !(await listFiles.isChecked()))
    await listFiles.click()
    const tools = async () => JSON.stringify(await (await owner.get(`/api/agents/${agentId}/tools`)).json())
    await until('the choice of tools', async () => (await tools()).includes('"name":"list_files","isOn":true'))
    const shell = page.getByLabel('run_shell')
    await until('the shell of an isolated agent', () => shell.isEnabled())
    expect(await page.getByText('needs a container').count()).toBe(0)
    await page.getByText('Run a server from a command').click()
    await page.getByLabel('Command name').fill('notes')
    await page.getByLabel('Program').fill('bun')
    await page.getByLabel('Environment variables, one NAME=value per line').fill('no equals sign')
    await page.getByRole('button', { name: 'Add command' }).click()
    await page.getByText('Enter one NAME=value per line').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
    await page.getByLabel('Server name').fill('weather')
    await page.getByLabel('Server URL').fill(mcp.url)
    await page.getByLabel('Bearer token').fill('very-secret')
    await page.getByRole('button', { name: 'Add server' }).click()
    await page.getByRole('button', { name: 'Show tools' }).click()
    const servers = async () => JSON.stringify(await (await owner.get(`/api/agents/${agentId}/mcp-servers`)).json())
    // The server marks the tool as read-only, so it starts without approval.
    await until('the read-only tool is trusted', () => page.getByLabel('forecast').isChecked())
    await page.getByLabel('forecast').click()
    await until('no trusted tool', async () => (await servers()).includes('"trustedTools":[]'))
    await page.getByLabel('forecast').click()
    await until('the trusted tool', async () => (await servers()).includes('"trustedTools":["forecast"]'))
    expect(mcp.shown).toContain('Bearer very-secret')
    await tryTool(page)
    expect(mcp.calls).toEqual([{ tool: 'forecast', input: { city: 'Berlin' } }])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
    await page.getByRole('button', { name: 'Remove weather' }).click()
    await until('the removal of the server', async () => (await servers()).includes('"servers":[]'))
    expect(complaints.filter((complaint) => !complaint.includes('ERR_FAILED'))).toEqual([])
  },
  LIMIT_MS,
)

/** Checks that the chat shows a pending approval, and decides it there. */
async function decideInChat(page: Page, chat: string): Promise<void> {
  await page.goto(chat)
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Delete them again')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  const asked = page.getByRole('list', { name: 'Waiting for your approval' })
  await asked.getByText('{"path":"notes.md"}').waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
  await asked.getByRole('button', { name: 'Deny delete_file of Ada' }).click()
  await asked.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
}

/** Tests a tool with arguments; a missing argument and an unreachable server show errors next to the form. */
async function tryTool(page: Page): Promise<void> {
  await page.getByRole('combobox', { name: 'Try a tool' }).selectOption('forecast')
  const use = page.getByRole('button', { name: 'Run tool' })
  await use.click()
  await page.getByText('This field is required.').waitFor()
  await page.getByRole('textbox', { name: 'city' }).fill('Berlin')
  await page.route('**/try', (route) => route.abort())
  await use.click()
  await page.getByText('Could not run the tool').waitFor()
  await page.unroute('**/try')
  await use.click()
  await page.getByText('It is sunny').waitFor()
}
