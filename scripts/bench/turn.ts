import { median } from './median.ts'
import { startModel } from './model.ts'
import { type Measurement, toFigure, toSecondsMeasured } from './report.ts'
import { createUser, deployAgent, preparePlatform, type Stead, signIn, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const WARM_UP = 5
const TURNS = 40
const FLOOR_S = 0.25

/** Measures a message to an agent from the request to the last word, minus the same call to the model alone. */
export async function measureTurn(bench: Workbench): Promise<Measurement[]> {
  const model = startModel(bench)
  const installation = await preparePlatform(bench, model.settings)
  const email = await createUser(bench, installation, 'network')
  const stead = await startStead(bench, installation)
  const cookie = await signIn(stead, email)
  const { id } = await deployAgent(stead, cookie, 'Ada')
  const beyond: number[] = []
  const calls: number[] = []
  // In turns, so that other load on the machine affects both.
  for (let turn = 0; turn < WARM_UP + TURNS; turn++) {
    const ofTurn = await timeOf(() => ask(stead, cookie, id))
    const ofCall = await timeOf(() => model.ask('Good morning'))
    if (turn < WARM_UP) continue
    beyond.push(ofTurn - ofCall)
    calls.push(ofCall)
  }
  const what = `the call alone ${toFigure(median(calls))} s`
  return [toSecondsMeasured('turn, beyond its model call', beyond, FLOOR_S, what)]
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return (performance.now() - startedAt) / 1000
}

async function ask(stead: Stead, cookie: string, agentId: string): Promise<void> {
  const response = await fetch(`${stead.web}/api/chat`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/json' },
    body: JSON.stringify({ agentId, message: 'Good morning' }),
  })
  const answer = await response.text()
  if (!response.ok || !answer.includes('Good morning.')) throw new Error(`The agent did not answer: ${answer}`)
}
