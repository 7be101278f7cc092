/** The pages of somebody who is signed in and administers, one of each kind. */
export function listOwnPages(agentId: string): string[] {
  const agent = ['', '/overview', '/logs', '/files', '/schedule', '/metrics', '/activity', '/settings']
  const settings = ['', '/security', '/notices', '/keys', '/wallets', '/machines', '/account']
  const admin = ['users', 'invites', 'agents', 'health', 'jobs', 'dead-letters', 'backups', 'settings', 'audit']
  return [
    '/',
    ...agent.map((page) => `/agents/${agentId}${page}`),
    ...['/agents', '/agents/new', '/cost', '/models', '/skills', '/events', '/approvals', '/billing'],
    ...settings.map((page) => `/settings${page}`),
    ...admin.map((page) => `/admin/${page}`),
  ]
}
