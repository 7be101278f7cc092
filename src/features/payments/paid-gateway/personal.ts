import { eq } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { gatewayPayments } from './tables.ts'

/** Work of the gateway that somebody paid for. */
export const personalGatewayPayments: PersonalList = {
  name: 'gatewayPayments',
  tables: [gatewayPayments],
  pages: (db, userId) =>
    inPages(db, {
      table: gatewayPayments,
      condition: eq(gatewayPayments.userId, userId),
      read: (isOnPage) =>
        db
          .select()
          .from(gatewayPayments)
          .where(isOnPage)
          .all()
          .map(({ userId: _, authorization: _signed, rawTransaction: _raw, ...payment }) => payment),
    }),
}
