import type { Wing } from './operations.ts'

/** What operators do. */
export const HOUSE: Wing = {
  Administration: {
    about: 'Accounts and the audit log, for administrators.',
    routes: {
      'GET /api/admin/users': 'Lists or searches accounts',
      'GET /api/admin/users/:id': 'Shows an account with what belongs to it',
      'PATCH /api/admin/users/:id': 'Changes plan, credits or access of an account',
      'DELETE /api/admin/users/:id/sessions': 'Signs an account out everywhere',
      'GET /api/admin/audit': 'Lists who did what',
    },
  },
}
