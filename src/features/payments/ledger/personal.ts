import type { PersonalList } from '../../../db/personal-data.ts'
import { linesInPages } from './list.ts'
import { ledgerAccounts, ledgerEntries, ledgerLines } from './tables.ts'

/** What moved on the accounts of somebody. */
export const personalLedger: PersonalList = {
  name: 'ledger',
  tables: [ledgerAccounts, ledgerEntries, ledgerLines],
  pages: linesInPages,
}
