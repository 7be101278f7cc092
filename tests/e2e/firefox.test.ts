import { beforeAll, test } from 'bun:test'
import { buildDashboard } from '../harness/browser.ts'
import { hasFirefox, openFirefox } from '../harness/browsers/firefox.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { openInstallation } from '../harness/server.ts'
import { answerLikeAModel, withProvider } from '../integration/journeys/main-job.ts'

/** Ends a hanging test; a passing one takes far less. */
const LIMIT_MS = 600_000

const field = (label: string) =>
  `[...document.querySelectorAll('label')].find((each) => each.textContent.trim() === '${label}')?.control`
const button = (name: string) =>
  `[...document.querySelectorAll('main button, main a')].find((each) => each.textContent.trim() === '${name}')`

beforeAll(buildDashboard, LIMIT_MS)

test.skipIf(!hasFirefox())(
  'Firefox: signs up, creates an agent, chats with it and sees the cost',
  async () => {
    await using provider = await startProvider(answerLikeAModel)
    await using installation = await openInstallation({ environment: withProvider(provider) })
    const { web } = (await installation.start()).urls
    await using page = await openFirefox()
    await page.goto(`${web}/signup`)
    await page.type(field('Name'), 'Ada')
    await page.type(field('Email'), 'ada@example.com')
    await page.type(field('Password'), 'correct horse battery staple')
    await page.press(button('Create account'))
    await page.see('Get started')
    await page.press(button('Create agent'))
    await page.see('Each agent has its own gateway, memory and files.')
    await page.type(field('Name'), 'Lovelace')
    await page.see('tokens of context')
    await page.press(`document.querySelector('main form button[type=submit]')`)
    await page.type(`document.querySelector('textarea[aria-label=Message]')`, 'Good morning')
    await page.press(button('Send'))
    await page.see('You said: Good morning')
    await page.goto(`${web}/cost`)
    await page.see('Lovelace')
  },
  LIMIT_MS,
)
