import { expect, test } from 'bun:test'
import { ChannelList } from '../../src/features/agents/channels/schemas.ts'
import { createAgent, type Person, signIn, signUp } from '../harness/client.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { startTelegramDouble } from '../harness/doubles/telegram.ts'
import { json, read } from '../harness/requests.ts'
import { openHouse } from '../harness/server.ts'
import { until } from '../harness/until.ts'
import { answerLikeAModel, withProvider } from './main-job.ts'

const TOKEN = '42:secret-of-the-bot'
const ADA = { id: 7, first_name: 'Ada' }

test('an owner saves a bot’s token, lets herself in, talks, and talks on through a restart and a kill of the platform', async () => {
  const telegram = startTelegramDouble()
  const bot = telegram.addBot(TOKEN)
  const held = Promise.withResolvers<void>()
  await using provider = await startProvider(async (request) => {
    const { messages } = request.body
    if (String(messages.findLast(({ role }) => role === 'user')?.content).includes('slowly')) await held.promise
    return answerLikeAModel(request)
  })
  const environment = { ...withProvider(provider), TELEGRAM_API_URL: telegram.url }
  await using house = await openHouse({ environment })
  const program = await house.start()
  const ada = await signUp(program.urls.web)
  const agentId = await createAgent(ada, { model: 'openai/gpt-4o-mini' })
  const saved = await fetch(
    `${ada.web}/api/agents/${agentId}/config`,
    json('PUT', { telegramToken: TOKEN }, ada.cookie),
  )
  expect(saved.status).toBe(200)
  const channelOf = async (person: Person) => (await listChannels(person, agentId)).channels[0]
  await until('the connection', async () => (await channelOf(ada))?.connected)

  bot.say(ADA, { text: 'Hello' })
  await until('a code', () => bot.textsIn(ADA.id).length > 0)
  const code = (await channelOf(ada))?.pairings[0]?.code ?? ''
  expect(bot.textsIn(ADA.id)[0]).toContain(code)
  const path = `/api/agents/${agentId}/channels/telegram/pairings/${code}`
  expect((await ada.post(path, { approve: true })).status).toBe(200)
  bot.say(ADA, { text: 'Hello again' })
  await until('an answer', () => bot.textsIn(ADA.id).includes('You said: Hello again'))

  await program.stop()
  const again = await house.start()
  bot.say(ADA, { text: 'Still there?' })
  await until('an answer after a restart', () => bot.textsIn(ADA.id).includes('You said: Still there?'))

  bot.say(ADA, { text: 'Answer slowly' })
  await until('the question to the model', () =>
    provider.chats.some(({ body }) => JSON.stringify(body).includes('slowly')),
  )
  await again.kill()
  held.resolve()
  const last = await house.start()
  const isTold = (text: string) => text === 'You said: Answer slowly' || text.startsWith('I could not answer: ')
  await until('the answer, or why there is none', () => bot.textsIn(ADA.id).some(isTold))
  bot.say(ADA, { text: 'And now?' })
  await until('the next answer', () => bot.textsIn(ADA.id).includes('You said: And now?'))
  expect(bot.textsIn(ADA.id).filter(isTold)).toHaveLength(1)
  expect((await channelOf(await signIn(last.urls.web)))?.connected).toBeTrue()
  await telegram.stop()
}, 600_000)

async function listChannels(person: Person, agentId: string) {
  return read(ChannelList, person.get(`/api/agents/${agentId}/channels`))
}
