/** Returns one page of each kind that an administrator can open. */
export function listOwnPages(agentId: string): string[] {
  const agent = ['', '/overview', '/logs', '/files', '/schedule', '/metrics', '/activity', '/settings']
  const settings = ['', '/security', '/notices', '/keys', '/wallets', '/machines', '/account']
  const admin = [
    'users',
    'invites',
    'plans',
    'logs',
    'agents',
    'health',
    'jobs',
    'dead-letters',
    'backups',
    'settings',
    'services',
    'logs',
    'audit',
  ]
  return [
    '/',
    ...agent.map((page) => `/agents/${agentId}${page}`),
    ...['/agents', '/agents/new', '/cost', '/requests', '/models', '/skills', '/events', '/approvals', '/billing'],
    ...['/team/swarms', '/team/swarms/new', '/team/map', '/team/inbox', '/media/feeds', '/media/radio', '/media/video'],
    ...settings.map((page) => `/settings${page}`),
    ...admin.map((page) => `/admin/${page}`),
  ]
}
