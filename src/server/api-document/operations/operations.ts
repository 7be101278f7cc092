import { ACCOUNTS } from './accounts.ts'
import { ADMIN } from './admin.ts'
import { AGENTS } from './agents.ts'
import { AI } from './ai.ts'
import { CONVERSATIONS } from './conversations.ts'
import type { Domain } from './domain.ts'
import { MONITORING } from './monitoring.ts'
import { PAYMENTS } from './payments.ts'
import { WEB_TOOLS } from './web-tools.ts'

/** The whole interface in plain words, by wing, in the order in which a newcomer reads it. */
export const DOMAINS: Readonly<Record<string, Domain>> = {
  Agents: AGENTS,
  Conversations: CONVERSATIONS,
  AI: AI,
  Accounts: ACCOUNTS,
  Payments: PAYMENTS,
  'Web tools': WEB_TOOLS,
  Monitoring: MONITORING,
  Installation: ADMIN,
}

const operations = new Map(
  Object.values(DOMAINS)
    .flatMap((domain) => Object.entries(domain))
    .flatMap(([tag, { routes }]) => Object.entries(routes).map(([route, summary]) => [route, { tag, summary }])),
)

/** The line of a route. @throws Error for one that has none. */
export function describeOperation(method: string, path: string, face: string): { tag: string; summary: string } {
  const route = `${method} ${path}`
  const operation = operations.get(`${route} ${face}`) ?? operations.get(route)
  if (!operation) throw new Error(`${route} (${face}) has no line in src/server/api-document/operations/`)
  return operation
}
