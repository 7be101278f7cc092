import { median } from './median.ts'
import { type Measurement, toFigure } from './report.ts'
import { createUser, deleteAgent, deployAgent, prepareHouse, signIn, startStead } from './stead.ts'
import type { Workbench } from './workbench.ts'

const DEPLOYMENTS = 5

/** From `POST /api/agents/provision` of an agent that is a process to `running`. */
export async function measureDeploy(bench: Workbench): Promise<Measurement[]> {
  const house = await prepareHouse(bench, { AI_ECHO: 'true' })
  const email = await createUser(bench, house, 'network')
  const stead = await startStead(bench, house)
  const cookie = await signIn(stead, email)
  const seconds: number[] = []
  for (let deployment = 0; deployment < DEPLOYMENTS; deployment++) {
    const agent = await deployAgent(stead, cookie, `Agent ${deployment}`)
    seconds.push(agent.seconds)
    await deleteAgent(stead, cookie, agent.id)
  }
  const typical = median(seconds)
  return [
    {
      name: 'deploy a process',
      ours: typical,
      bare: null,
      unit: 's',
      value: typical,
      bound: 'at most',
      floor: 2,
      aim: null,
      notes: [`fastest ${toFigure(Math.min(...seconds))} s, slowest ${toFigure(Math.max(...seconds))} s`],
    },
  ]
}
