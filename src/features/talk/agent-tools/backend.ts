import { Hono } from 'hono'
import type { Db } from '../../../db/open.ts'
import { answers } from '../../../http/answers.ts'
import { getAgent } from '../../agents/registry/list.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../models/gateway/callers.ts'
import type { Catalogue } from '../../models/gateway/catalogue/catalogue.ts'
import { BackendToolsAnswer } from './answer-schemas.ts'
import { readToolSettings } from './settings.ts'

export type AgentToolsBackendDeps = { db: Db; callers: CallerFinder; catalogue: Pick<Catalogue, 'findPrice'> }

/** Which tools an agent may use, asked at the beginning of each turn with its own token. */
export function agentToolsBackend(deps: AgentToolsBackendDeps) {
  const app = new Hono<AgentCallerEnv>()

  app.get('/v1/tools', answers({ 200: BackendToolsAnswer }, 'not_found'), requireAgent(deps.callers), (c) =>
    c.json(readToolSettings(deps, getAgent(deps.db, { kind: 'operator' }, c.var.agentId))),
  )

  return app
}
