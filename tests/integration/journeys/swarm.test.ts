import { expect, test } from 'bun:test'
import { Swarm, SwarmRun } from '../../../src/features/conversations/swarms/schemas.ts'
import { FleetGraph, Trace } from '../../../src/features/monitoring/mission-control/schemas.ts'
import { createAgent, signUp } from '../../harness/client.ts'
import { startProvider } from '../../harness/doubles/provider.ts'
import { read } from '../../harness/requests.ts'
import { startServer } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const MODEL = 'openai/gpt-4o-mini'

test('a swarm of two real agents runs a task, one summarizes, and mission control shows it', async () => {
  await using provider = await startProvider({ text: ['Tea', ' at four.'] })
  await using server = await startServer({ OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: provider.baseUrl })
  const person = await signUp(server.urls.web)
  const agents = [
    await createAgent(person, { name: 'One', model: MODEL }),
    await createAgent(person, { name: 'Two', model: MODEL }),
  ]
  const swarm = await read(Swarm, person.post('/api/swarms', { name: 'Pair', agents, summarizer: agents[1] }))
  const started = await read(SwarmRun, person.post(`/api/swarms/${swarm.id}/run`, { task: 'When is tea?' }))
  const run = await until('the end of the run', async () => {
    const now = await read(SwarmRun, person.get(`/api/swarms/${swarm.id}/runs/${started.id}`))
    return now.state === 'running' ? null : now
  })
  expect(run).toMatchObject({ state: 'completed', summary: 'Tea at four.', summaryError: null })
  expect(run.agents.map(({ name, result }) => [name, result])).toEqual([
    ['One', 'Tea at four.'],
    ['Two', 'Tea at four.'],
  ])
  for (const { durationMs } of run.agents) expect(durationMs).toBeGreaterThan(0)

  const traces = await read(Trace.array(), person.get('/api/mission-control/fleet/traces'))
  expect(traces).toHaveLength(3)
  for (const trace of traces) expect(trace).toMatchObject({ status: 'completed', model: MODEL })
  const graph = await read(FleetGraph, person.get('/api/mission-control/fleet/graph'))
  expect(graph.nodes.map(({ name, role, status }) => [name, role, status])).toEqual([
    ['One', 'specialist', 'active'],
    ['Two', 'orchestrator', 'active'],
  ])
  expect(graph.edges).toMatchObject([{ from: agents[0], to: agents[1], strength: 1 }])
}, 300_000)
