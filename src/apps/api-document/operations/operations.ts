import { AGENTS } from './agents.ts'
import { HOUSE } from './house.ts'
import { MODELS } from './models.ts'
import { MONEY } from './money.ts'
import { PEOPLE } from './people.ts'
import { TALK } from './talk.ts'
import { VIEWS } from './views.ts'
import { WEB_TOOLS } from './web-tools.ts'
import type { Wing } from './wing.ts'

/** The whole interface in plain words, by wing, in the order in which a newcomer reads it. */
export const WINGS: Readonly<Record<string, Wing>> = {
  Agents: AGENTS,
  Talk: TALK,
  Models: MODELS,
  People: PEOPLE,
  Money: MONEY,
  'Web and files': WEB_TOOLS,
  Views: VIEWS,
  House: HOUSE,
}

const operations = new Map(
  Object.values(WINGS)
    .flatMap((wing) => Object.entries(wing))
    .flatMap(([tag, { routes }]) => Object.entries(routes).map(([route, summary]) => [route, { tag, summary }])),
)

/** The line of a route. @throws Error for one that has none. */
export function describeOperation(method: string, path: string, face: string): { tag: string; summary: string } {
  const route = `${method} ${path}`
  const operation = operations.get(`${route} ${face}`) ?? operations.get(route)
  if (!operation) throw new Error(`${route} (${face}) has no line in src/apps/api-document/operations/`)
  return operation
}
