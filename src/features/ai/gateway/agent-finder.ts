import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { memoize } from '../../../db/changes/memo.ts'
import type { Db } from '../../../db/open.ts'
import { parameter } from '../../../db/parameters.ts'
import { users } from '../../accounts/users/tables.ts'
import { identityColumns } from '../../accounts/users/users.ts'
import { agents } from '../../agents/registry/tables.ts'

/** How long a replaced token may serve what its agent still ends, should nobody end that sooner. */
const RETIRING_MS = 5 * 60_000

/** Finds the agent of a token by its hash, also by the one before, while the agent is being told of its new token. */
export function createAgentFinder({ db, clock }: { db: Db; clock: Clock }) {
  const findPresent = createHashFinder(db, agents.accessTokenHash)
  const findRetiring = createHashFinder(db, agents.retiringTokenHash)
  return (hash: string) => {
    const present = findPresent(hash)
    if (present) return present
    const retiring = findRetiring(hash)
    const since = retiring?.tokensChangedAt?.getTime() ?? 0
    return retiring && clock.now().getTime() - since < RETIRING_MS ? retiring : null
  }
}

/** Finds the agent whose `column` holds a hash, with its owner. */
function createHashFinder(db: Db, column: typeof agents.accessTokenHash | typeof agents.retiringTokenHash) {
  const { aiProvider, tokensChangedAt } = agents
  const byHash = db
    .select({ agentId: agents.id, aiProvider, tokensChangedAt, user: identityColumns })
    .from(agents)
    .leftJoin(users, eq(users.id, agents.ownerId))
    .where(eq(column, parameter('hash')))
    .prepare()
  return memoize(db, (hash) => byHash.get({ hash }) ?? null)
}
