import type { KeptFigures } from '../../../db/kept-figures.ts'
import { MICRO_USD_PER_CREDIT } from './accounts.ts'

const refuse = (table: string, event: 'UPDATE' | 'DELETE') => ({
  name: `${table}_no_${event.toLowerCase()}`,
  event: `BEFORE ${event} ON ${table}`,
  body: `SELECT RAISE(ABORT, 'What is posted stays: post what undoes it');`,
})

/** Keeps what users are shown as credits in step with the ledger, and the ledger from being changed but by posting. */
export const LEDGER_FIGURES: KeptFigures = {
  triggers: [
    {
      name: 'ledger_credits',
      event: 'AFTER UPDATE OF balance ON ledger_accounts',
      when: `NEW.kind = 'credits' AND NEW.currency = 'USD'`,
      body: `UPDATE users SET credits = NEW.balance / ${MICRO_USD_PER_CREDIT} WHERE id = NEW.owner_id;`,
    },
    refuse('ledger_entries', 'UPDATE'),
    refuse('ledger_entries', 'DELETE'),
    refuse('ledger_lines', 'UPDATE'),
    refuse('ledger_lines', 'DELETE'),
    refuse('ledger_accounts', 'DELETE'),
  ],
  recount: [
    `UPDATE users SET credits = (SELECT a.balance / ${MICRO_USD_PER_CREDIT} FROM ledger_accounts AS a
      WHERE a.kind = 'credits' AND a.currency = 'USD' AND a.owner_id = users.id)
      WHERE id IN (SELECT owner_id FROM ledger_accounts WHERE kind = 'credits' AND currency = 'USD')`,
  ],
}
