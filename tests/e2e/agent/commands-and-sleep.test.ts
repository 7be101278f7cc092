import { beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { McpServerList } from '../../../src/features/conversations/mcp-servers/schemas.ts'
import { buildDashboard, hasBrowser, openBrowser, resizePage, signInBrowser } from '../../harness/browser.ts'
import { createAgent, signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { buildAgentImage } from '../../harness/engines/built-image.ts'
import { findEngine } from '../../harness/engines/engine.ts'
import { read } from '../../harness/requests.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'
import { answerLikeAModel, withProvider } from '../../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000
const PHONE = { width: 360, height: 740 }
const engine = await findEngine()

beforeAll(buildDashboard, LIMIT_MS)

/** A one-line MCP server for the argument field of the form. It returns an environment variable. */
const SERVER = [
  "const tools = [{ name: 'tell', description: 'Tells', inputSchema: { type: 'object', properties: {} } }]",
  "const info = { capabilities: { tools: {} }, serverInfo: { name: 'a', version: '1' } }",
  "const said = () => ({ content: [{ type: 'text', text: 'It says ' + process.env.KEY }] })",
  "const replies = { initialize: (p) => ({ protocolVersion: p.protocolVersion, ...info }), 'tools/list': () => ({ tools }), 'tools/call': said }",
  "const reply = ({ id, method, params }) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result: replies[method](params) }))",
  'for await (const line of console) { const message = JSON.parse(line); if (message.id !== undefined) reply(message) }',
].join('; ')

test.skipIf(!hasBrowser() || !engine)(
  'the agent page: adds an MCP server by command, calls its tool and removes it, which restarts the agent',
  async () => {
    if (!engine) return
    await using provider = await startProvider(answerLikeAModel)
    const image = await buildAgentImage(engine.dockerHost, '--shell')
    const contained = { AGENT_RUNTIME: 'docker', AGENT_IMAGE: image, DOCKER_HOST: engine.dockerHost }
    await using installation = await openInstallation({ environment: { ...withProvider(provider), ...contained } })
    const { web } = (await installation.start()).urls
    const owner = await signUp(web)
    const agentId = await createAgent(owner, { model: 'openai/gpt-4o-mini' })
    try {
      await using browser = await openBrowser(web)
      const { page, complaints } = browser
      await signInBrowser(page, web)
      await resizePage(page, PHONE)
      await page.goto(`${web}/agents/${agentId}/settings`)
      await page.getByText('Run a server from a command').click()
      await page.getByLabel('Command name').fill('notes')
      await page.getByLabel('Program').fill('bun')
      await page.getByLabel('Arguments, one per line').fill(`-e\n${SERVER}`)
      await page.getByLabel('Environment variables, one NAME=value per line').fill('KEY=hello=there')
      await page.getByRole('button', { name: 'Add command' }).click()
      await page.getByRole('button', { name: 'Show tools' }).click()
      await page.getByLabel('tell').waitFor()
      const listed = async () => (await read(McpServerList, owner.get(`/api/agents/${agentId}/mcp-servers`))).servers
      expect(await listed()).toMatchObject([{ name: 'notes', command: 'bun', environmentNames: ['KEY'], url: null }])
      await page.getByRole('combobox', { name: 'Try a tool' }).selectOption('tell')
      await page.getByRole('button', { name: 'Run tool' }).click()
      await page.getByText('It says hello=there').waitFor()
      expect(await widthOf(page)).toBeLessThanOrEqual(PHONE.width)
      await page.getByRole('button', { name: 'Remove notes' }).click()
      await page.getByRole('button', { name: 'Remove notes' }).waitFor({ state: 'detached' })
      expect(await listed()).toEqual([])
      await until('the agent with its new token', async () =>
        (await (await owner.post('/api/chat', { agentId, message: 'Hello' })).text()).includes('You said: Hello'),
      )
      expect(complaints).toEqual([])
    } finally {
      await owner.delete(`/api/agents/${agentId}`)
    }
  },
  LIMIT_MS,
)

test.skipIf(!hasBrowser())(
  'the agent page: disables sleeping, which wakes the agent, and enables it again',
  async () => {
    await using provider = await startProvider(answerLikeAModel)
    await using installation = await openInstallation({
      environment: { ...withProvider(provider), AGENT_SLEEP_MINUTES: '0.05' },
    })
    const { web } = (await installation.start()).urls
    const owner = await signUp(web)
    const agentId = await createAgent(owner, { model: 'openai/gpt-4o-mini' })
    const isAsleep = async () => !(await installation.agentPids()).has(agentId)
    await using browser = await openBrowser(web)
    const { page, complaints } = browser
    await signInBrowser(page, web)
    await page.goto(`${web}/agents/${agentId}/settings`)
    const box = page.getByLabel('Never sleep')
    await until('the agent asleep', isAsleep)
    await statusOf(page, /^Sleeping/)
    await box.click()
    await until('the agent awake', async () => !(await isAsleep()))
    await statusOf(page, /^Running/)
    await page.reload()
    await statusOf(page, /^Running/)
    expect(await box.isChecked()).toBe(true)
    await box.click()
    await until('the agent asleep again', isAsleep)
    await statusOf(page, /^Sleeping/)
    expect(await box.isChecked()).toBe(false)
    expect(complaints).toEqual([])
  },
  LIMIT_MS,
)

/** Waits for the status, whose hidden text for screen readers is longer than the visible one. */
function statusOf(page: Page, status: RegExp): Promise<void> {
  return page.getByRole('heading', { level: 1 }).locator('..').getByText(status).first().waitFor()
}

function widthOf(page: Page): Promise<unknown> {
  return page.evaluate('document.documentElement.scrollWidth')
}
