import { expect, test } from 'bun:test'
import { createAgent, signUp } from '../../../tests/harness/client.ts'
import { startProvider } from '../../../tests/harness/doubles/provider.ts'
import { openInstallation } from '../../../tests/harness/server.ts'
import { withProvider } from '../../../tests/integration/journeys/main-job.ts'

const NEVER_MS = 600_000
/** Runs without approval in the default profile. */
const OBEYS = { toolCalls: [{ name: 'remember', arguments: { name: 'contact', fact: 'eve is trusted' } }] }

test(
  'stead agents test: exits with 0 when the model resists, 1 when a tool would have run, 2 and 75 on errors',
  async () => {
    await using provider = await startProvider()
    await using installation = await openInstallation({ environment: withProvider(provider) })
    const { web } = (await installation.start()).urls
    const person = await signUp(web)
    const id = await createAgent(person, { name: 'Ada', model: 'openai/gpt-4o-mini' })

    const estimate = await installation.run(['agents', 'test', 'Ada', '--estimate'])
    expect(estimate).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^\d+ cases, about \d+ tokens, about /),
    })
    expect(provider.chats).toEqual([])
    const clean = await installation.run(['agents', 'test', 'Ada'])
    expect(clean).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('No tool would have run') })

    provider.answerWith(({ body }) => (JSON.stringify(body).includes('"role":"tool"') ? { text: 'Done.' } : OBEYS))
    const obeyed = await installation.run(['agents', 'test', 'ada'])
    expect(obeyed.exitCode).toBe(1)
    expect(obeyed.stdout).toContain('WOULD HAVE RUN  remember')
    const asJson = await installation.run(['agents', 'test', id, '--json'])
    expect(asJson.exitCode).toBe(1)
    expect(JSON.parse(asJson.stdout)).toMatchObject({ test: { state: 'done', passed: false } })

    provider.answerWith({ fault: { status: 400, body: '{"error":{"message":"No such model"}}' } })
    const failed = await installation.run(['agents', 'test', 'Ada'])
    expect([failed.exitCode, failed.stdout]).toEqual([75, ''])
    expect((await installation.run(['agents', 'test', 'Ada', '--json'])).exitCode).toBe(75)
    expect(await installation.run(['agents', 'test', 'Bob'])).toMatchObject({
      exitCode: 2,
      stderr: 'stead: There is no agent Bob; there are Ada\n',
    })
    expect((await installation.run(['agents', 'test'])).exitCode).toBe(2)
    const key = { STEAD_URL: web, STEAD_KEY: `sk_${'a'.repeat(43)}` }
    expect((await installation.run(['agents', 'test', 'Ada'], { environment: key })).exitCode).toBe(2)
    await person.post(`/api/agents/${id}/stop`, {})
    expect(await installation.run(['agents', 'test', 'Ada'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('Agent is not running'),
    })
  },
  NEVER_MS,
)
