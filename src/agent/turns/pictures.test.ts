import { expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fails, says } from '../../../tests/harness/doubles/platform.ts'
import { startTestAgent } from '../../../tests/harness/test-agent.ts'

type Agent = Awaited<ReturnType<typeof startTestAgent>>

const PICTURE = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const URL_OF_PICTURE = `data:image/png;base64,${PICTURE.toString('base64')}`

const ask = async (agent: Agent, content: string, images?: string[]) => {
  const messages = [{ role: 'user', content, ...(images && { images }) }]
  const response = await agent.call('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-key': 's' },
    body: JSON.stringify({ model: 'default', messages }),
  })
  expect(response.status).toBe(200)
}

function keepPicture(agent: Agent, name: string) {
  const folder = join(agent.folder, 'workspace', 'attachments')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), PICTURE)
  return `attachments/${name}`
}

const lastCall = (agent: Agent) => JSON.stringify(agent.platform.asked.at(-1)?.messages)

test('POST /v1/chat/completions: 200 from a model that sees the images, also in the next turn of the session', async () => {
  await using agent = await startTestAgent()
  const path = keepPicture(agent, 'cat.png')
  agent.platform.next(says('A cat'))
  await ask(agent, 'What is it?', [path])
  expect(lastCall(agent)).toContain(URL_OF_PICTURE)
  await agent.restart()
  agent.platform.next(says('Grey'))
  await ask(agent, 'Which colour?')
  expect(lastCall(agent)).toContain(URL_OF_PICTURE)
})

test('a model gets a note about images, in the same turn and later, when it does not support them', async () => {
  await using agent = await startTestAgent()
  const path = keepPicture(agent, 'cat.png')
  agent.platform.next(fails(502, 'No endpoints found that support image input'))
  agent.platform.next(says('I cannot see it'))
  await ask(agent, 'What is it?', [path])
  expect(lastCall(agent)).toContain(`You cannot see ${path}`)
  expect(lastCall(agent)).not.toContain('base64')
  agent.platform.next(says('Still not'))
  await ask(agent, 'And now?')
  expect(agent.platform.asked).toHaveLength(3)
  expect(lastCall(agent)).not.toContain('base64')
})

test('an image is named and not shown when it is missing or outside the workspace', async () => {
  await using agent = await startTestAgent()
  agent.platform.next(says('Gone'))
  await ask(agent, 'What is it?', ['attachments/none.png', '../turns'])
  expect(lastCall(agent)).toContain('The picture attachments/none.png cannot be shown')
  expect(lastCall(agent)).toContain('The picture ../turns cannot be shown')
})
