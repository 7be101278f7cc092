import type { Domain } from './domain.ts'

/** What operators do. */
export const ADMIN: Domain = {
  Administration: {
    about: 'Accounts and the audit log, for administrators.',
    routes: {
      'GET /api/admin/users': 'Lists or searches accounts',
      'POST /api/admin/users': 'Creates an account and a link to set its password',
      'GET /api/admin/users/:id': 'Shows an account with what belongs to it',
      'PATCH /api/admin/users/:id': 'Changes plan, credits or access of an account',
      'DELETE /api/admin/users/:id/sessions': 'Signs an account out everywhere',
      'GET /api/admin/update': 'Shows the newest release of the feed',
      'GET /api/admin/logs': 'Lists the last lines of the server log',
      'GET /api/admin/audit': 'Lists who did what',
      'GET /api/admin/agents': 'Lists or searches the agents of everybody',
      'POST /api/admin/agents/:id/stop': 'Stops an agent of anybody',
      'GET /api/admin/jobs': 'Lists durable work by its state',
      'POST /api/admin/jobs/:id/retry': 'Tries work anew that was given up',
      'GET /api/admin/health': 'Tells how the whole house is',
      'POST /api/admin/mail/test': 'Sends a mail to yourself on trial',
      'GET /api/admin/settings': 'Lists the settings in effect without their secrets',
    },
  },
  Services: {
    about: 'Keys of model providers and the way of mail, for administrators.',
    routes: {
      'GET /api/admin/prices': 'Lists the prices that administrators set',
      'PUT /api/admin/prices/:model': 'Sets the price of a model',
      'DELETE /api/admin/prices/:model': 'Deletes the price of a model',
      'GET /api/admin/services': 'Lists services and who configured them',
      'PUT /api/admin/services/providers/:id': 'Tries the key of a provider and keeps it',
      'POST /api/admin/services/providers/:id/test': 'Tries a provider without keeping it',
      'DELETE /api/admin/services/providers/:id': 'Forgets the key of a provider',
      'PUT /api/admin/services/mail': 'Tries a mail server and keeps it',
      'DELETE /api/admin/services/mail': 'Forgets the mail server',
    },
  },
  Backups: {
    about: 'Backups of the whole installation, and trials that they come back.',
    routes: {
      'GET /api/admin/backups': 'Lists backups and how their trials went',
      'PUT /api/admin/backups': 'Sets schedule, place and number of backups',
      'POST /api/admin/backups': 'Makes a backup now',
      'GET /api/admin/backups/:name/download': 'Downloads a backup',
      'POST /api/admin/backups/:name/verify': 'Checks that a backup is whole',
      'POST /api/admin/backups/:name/drill': 'Restores a backup on trial and tells what came back',
      'POST /api/admin/backups/:name/restore': 'Restores one agent from a backup',
    },
  },
}
